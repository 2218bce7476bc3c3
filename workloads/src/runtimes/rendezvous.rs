//! How many workers are there really? As many as tasks that all run at once.
//!
//! P tasks each block their worker until all P have arrived. Fewer workers than P never bring that
//! about, so it ends in an error after a time limit, not in a hang. More workers than P show in what
//! the runtime declares and in the list of threads, which a rendezvous cannot see.
use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Occupant, Running};
use crate::system;

/// What the rendezvous saw.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Workers that ran at once.
    pub(crate) workers: usize,
    /// The kernel's numbers of their threads.
    pub(crate) threads: BTreeSet<u64>,
    /// Every CPU that at least one of them may run on; empty where that is not known.
    pub(crate) cpus: BTreeSet<usize>,
}

#[derive(Default)]
struct Hall {
    inside: usize,
    most: usize,
    left: usize,
    met: bool,
    threads: BTreeSet<u64>,
    cpus: BTreeSet<usize>,
}

/// Makes `want` tasks meet within `limit`, from outside the runtime.
///
/// # Errors
/// How many workers were seen instead, or that the runtime declares another number.
pub(crate) fn rendezvous(
    running: &dyn Running,
    want: usize,
    limit: Duration,
) -> Result<Seen, String> {
    let declared = running.declared();
    if declared != want {
        return Err(format!("asked for {want} workers, the runtime says it has {declared}"));
    }
    let hall = Arc::new((Mutex::new(Hall::default()), Condvar::new()));
    running.occupy(want, occupant(Arc::clone(&hall), want, Instant::now() + limit));
    let (state, door) = &*hall;
    let guard = state.lock().unwrap_or_else(PoisonError::into_inner);
    // Each task leaves by itself at the limit; twice that means that some were never started.
    let (guard, _) = door
        .wait_timeout_while(guard, 2 * limit, |hall| hall.left < want)
        .unwrap_or_else(PoisonError::into_inner);
    if !guard.met {
        let most = guard.most;
        return Err(format!("asked for {want} workers, only {most} ran at once within {limit:?}"));
    }
    if guard.threads.len() != want {
        let threads = guard.threads.len();
        return Err(format!("asked for {want} workers, they ran on {threads} threads"));
    }
    Ok(Seen { workers: guard.most, threads: guard.threads.clone(), cpus: guard.cpus.clone() })
}

fn occupant(hall: Arc<(Mutex<Hall>, Condvar)>, want: usize, deadline: Instant) -> Occupant {
    Arc::new(move || {
        let (state, door) = &*hall;
        let (thread, cpus) = (system::thread_id(), system::allowed_cpus().unwrap_or_default());
        let mut guard = state.lock().unwrap_or_else(PoisonError::into_inner);
        guard.inside += 1;
        guard.most = guard.most.max(guard.inside);
        guard.met |= guard.inside == want;
        guard.threads.insert(thread);
        guard.cpus.extend(cpus);
        // A wait in the kernel, so that P tasks meet also where there are fewer than P CPUs.
        while !guard.met {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            door.notify_all();
            guard = door.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        guard.inside -= 1;
        guard.left += 1;
        drop(guard);
        door.notify_all();
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::Job;

    /// A pool that says one number of workers and has another.
    struct Fake {
        says: usize,
        has: usize,
    }

    impl Running for Fake {
        fn enter(&self, _: Job) {}
        fn declared(&self) -> usize {
            self.says
        }
        fn occupy(&self, n: usize, occupant: Occupant) {
            let queue = Arc::new(Mutex::new(n));
            for _ in 0..self.has {
                let (queue, occupant) = (Arc::clone(&queue), Arc::clone(&occupant));
                std::thread::spawn(move || {
                    while take(&queue) {
                        occupant();
                    }
                });
            }
        }
    }

    fn take(queue: &Mutex<usize>) -> bool {
        let mut left = queue.lock().unwrap();
        let some = *left > 0;
        *left -= usize::from(some);
        some
    }

    #[test]
    fn rendezvous_sees_the_right_number() {
        for n in [1, 2, 5] {
            let seen = rendezvous(&Fake { says: n, has: n }, n, Duration::from_secs(10)).unwrap();
            assert_eq!((seen.workers, seen.threads.len()), (n, n));
        }
    }

    #[test]
    fn rendezvous_refuses_too_few_workers_and_does_not_hang() {
        let fake = Fake { says: 3, has: 2 };
        let error = rendezvous(&fake, 3, Duration::from_millis(100)).unwrap_err();
        assert!(error.contains("asked for 3 workers, only 2 ran at once"), "{error}");
    }

    #[test]
    fn rendezvous_refuses_a_runtime_that_says_another_number() {
        let fake = Fake { says: 4, has: 4 };
        let error = rendezvous(&fake, 2, Duration::from_secs(1)).unwrap_err();
        assert!(error.contains("asked for 2 workers, the runtime says it has 4"), "{error}");
    }
}
