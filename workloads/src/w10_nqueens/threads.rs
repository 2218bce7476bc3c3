//! threads: the columns of the first row dealt out to the threads, each subtree run in place.
use super::{Board, serial};
use crate::drive::Outcome;
use crate::runtimes::threads::split;
use crate::tally::Tally;

pub(super) fn run(board: Board, workers: usize) -> Outcome {
    let share = |t: usize| {
        let mine = board.placements().skip(t).step_by(workers);
        mine.map(|next| serial::place(next).one_more()).sum::<Tally>()
    };
    split(workers, share).into_iter().sum::<Tally>().inline()
}
