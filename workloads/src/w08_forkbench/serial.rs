//! serial: the same tree by plain calls.
use super::{halves, node};
use crate::tally::Tally;

pub(super) fn tree(pairs: u64) -> Tally {
    if pairs == 0 {
        return Tally::default();
    }
    let (left, right) = halves(std::hint::black_box(pairs));
    node(tree(left), tree(right))
}
