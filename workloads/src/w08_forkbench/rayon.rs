//! rayon: `join` (docs.rs/rayon, `join`); the second closure is the one that may be stolen.
use super::{halves, node};
use crate::tally::Tally;

pub(super) fn tree(pairs: u64) -> Tally {
    if pairs == 0 {
        return Tally::default();
    }
    let (left, right) = halves(pairs);
    let (right, left) = rayon::join(|| tree(right), || tree(left));
    node(left, right)
}
