//! gosteal: `join` for fork-join; or a goroutine per fork with a join handle, as Go would.
use super::Input;
use crate::runtimes::gosteal::joined;
use crate::tally::Tally;

/// Runs the second branch in place and offers the first.
pub(super) fn join(input: Input) -> Tally {
    if let Some(leaf) = input.leaf() {
        return leaf;
    }
    let (here, forked) = gosteal::join(|| join(input.less(2)), || join(input.less(1)));
    (here + forked).one_more()
}

/// Starts a goroutine for the first branch.
pub(super) fn goroutine(input: Input) -> Tally {
    if let Some(leaf) = input.leaf() {
        return leaf;
    }
    let forked = gosteal::spawn(move || goroutine(input.less(1)));
    let here = goroutine(input.less(2));
    (here + joined(forked)).one_more()
}
