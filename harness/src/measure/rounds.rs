//! harness/src/measure/rounds.rs: which epochs come next. Question: which cells need more, and in which
//! order are their epochs run, so that a bad minute hits all cells a little?
//!
//! # Invariants
//! - A round depends on the plan, the seed and the epochs before it alone: a resumed session walks
//!   through the same rounds and skips what is done.
//! - Whether a cell needs more is asked of its precision only.

use super::order::{Orders, Purpose};
use crate::plan::Plan;

/// Looks come after this many further epochs.
const STEP: u32 = 2;

/// The first and one-past-last epoch number of a round.
pub(super) fn span(plan: &Plan, round: u32) -> (u32, u32) {
    let (min, max) = (plan.effort.epochs_min, plan.effort.epochs_max);
    if round == 0 { (0, min) } else { (min + STEP * (round - 1), (min + STEP * round).min(max)) }
}

/// The (cell, epoch) pairs of `round`, shuffled. `needs`: whether a cell needs more, judged by its
/// epochs numbered below the given one. Empty when the session is done.
pub(super) fn pairs(
    plan: &Plan,
    round: u32,
    needs: impl Fn(usize, u32) -> bool,
) -> Vec<(usize, u32)> {
    let (from, to) = span(plan, round);
    let cells = (0..plan.cells.len()).filter(|c| from == 0 || needs(*c, from));
    let all: Vec<_> = cells.flat_map(|c| (from..to).map(move |e| (c, e))).collect();
    Orders::new(plan.seed).shuffle(&all, Purpose::Round, [u64::from(round), 0, 0])
}
