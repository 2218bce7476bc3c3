//! gosteal: `join`, which runs the second closure as an offer to the other workers.
use super::{halves, node};
use crate::tally::Tally;

pub(super) fn tree(pairs: u64) -> Tally {
    if pairs == 0 {
        return Tally::default();
    }
    let (left, right) = halves(pairs);
    let (right, left) = gosteal::join(|| tree(right), || tree(left));
    node(left, right)
}
