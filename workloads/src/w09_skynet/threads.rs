//! threads: the ten subtrees of the root dealt out to the threads, each run in place.
use super::{Node, serial};
use crate::drive::Outcome;
use crate::runtimes::threads::split;
use crate::tally::Tally;

pub(super) fn run(root: Node, workers: usize) -> Outcome {
    if root.leaf().is_some() {
        return serial::tree(root).inline();
    }
    let share =
        |t: usize| root.children().skip(t).step_by(workers).map(serial::tree).sum::<Tally>();
    split(workers, share).into_iter().sum::<Tally>().one_more().inline()
}
