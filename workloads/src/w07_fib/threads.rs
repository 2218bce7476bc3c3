//! threads: forks a thread at the top of the tree until there are as many as workers, then runs in
//! place: a static split by branch.
use super::Input;
use crate::drive::Outcome;
use crate::tally::Tally;

pub(super) fn fib(input: Input, workers: usize) -> Outcome {
    let created = std::sync::atomic::AtomicU64::new(0);
    let tally = branch(input, workers, &created);
    tally.partly(created.into_inner())
}

/// The larger branch gets the larger half of the workers.
fn branch(input: Input, workers: usize, created: &std::sync::atomic::AtomicU64) -> Tally {
    if let Some(leaf) = input.leaf() {
        return leaf;
    }
    if workers < 2 {
        return (branch(input.less(1), 1, created) + branch(input.less(2), 1, created)).one_more();
    }
    // Ordering: read only after the scope has joined all threads.
    created.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    std::thread::scope(|scope| {
        let forked = scope.spawn(|| branch(input.less(1), workers.div_ceil(2), created));
        let here = branch(input.less(2), workers / 2, created);
        (forked.join().expect("a branch panicked") + here).one_more()
    })
}
