//! rayon: a scope at each board (docs.rs/rayon, `scope`: for more than two branches).
use super::{Board, MAX};
use crate::tally::Tally;

pub(super) fn place(board: Board) -> Tally {
    if let Some(full) = board.full() {
        return full;
    }
    let mut slots = [Tally::default(); MAX];
    rayon::scope(|scope| {
        for (next, slot) in board.placements().zip(&mut slots) {
            scope.spawn(move |_| *slot = place(next).one_more());
        }
    });
    slots.into_iter().sum()
}
