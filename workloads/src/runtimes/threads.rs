//! threads: plain std threads, a static split, no queue. The caller takes the first share itself.
//!
//! The threads are started and joined in the timed region, as a program without a pool does.
use super::{Occupant, Running};
use crate::drive::Job;

/// Only the number; threads live as long as a split.
pub(crate) struct Threads {
    workers: usize,
}

impl Threads {
    /// `workers` threads per split, the caller among them.
    pub(crate) fn start(workers: usize) -> Threads {
        Threads { workers }
    }
}

impl Running for Threads {
    fn enter(&self, job: Job) {
        match job {
            Job::Call(call) => call(),
            Job::Future(_) => unreachable!("bodies of plain threads are calls"),
        }
    }
    fn occupy(&self, n: usize, occupant: Occupant) {
        split(n, |_| occupant());
    }
    fn declared(&self) -> usize {
        self.workers
    }
}

/// Calls `share` with 0 to `parts` - 1, each on a thread of its own, the caller's first; the results
/// in order. Panics if a share does.
pub(crate) fn split<T: Send>(parts: usize, share: impl Fn(usize) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let share = &share;
        let others: Vec<_> = (1..parts).map(|i| scope.spawn(move || share(i))).collect();
        let mut results = vec![share(0)];
        results.extend(others.into_iter().map(|t| t.join().expect("a share panicked")));
        results
    })
}
