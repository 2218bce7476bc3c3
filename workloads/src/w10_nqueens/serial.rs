//! serial: plain recursion; each call stands for a placement.
use super::Board;
use crate::tally::Tally;

pub(super) fn place(board: Board) -> Tally {
    board.full().unwrap_or_else(|| board.placements().map(|next| place(next).one_more()).sum())
}
