//! threads: forks a thread at the top of the tree until there are as many as workers, then runs in
//! place: a static split by branch.
use super::{halves, node, serial};
use crate::drive::Outcome;
use crate::tally::Tally;

pub(super) fn run(pairs: u64, workers: usize) -> Outcome {
    let (tally, created) = branch(pairs, workers);
    tally.partly(created)
}

/// The tree and how many threads were created for it.
fn branch(pairs: u64, workers: usize) -> (Tally, u64) {
    if workers < 2 || pairs == 0 {
        return (serial::tree(pairs), 0);
    }
    let (left, right) = halves(pairs);
    std::thread::scope(|scope| {
        let left = scope.spawn(|| branch(left, workers / 2));
        let (right, created_right) = branch(right, workers.div_ceil(2));
        let (left, created_left) = left.join().expect("a branch panicked");
        (node(left, right), created_left + created_right + 1)
    })
}
