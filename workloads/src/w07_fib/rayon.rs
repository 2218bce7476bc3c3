//! rayon: `join`, its primitive for two branches (docs.rs/rayon, `join`). It runs the first closure
//! in place and offers the second, so the branch to fork comes second.
use super::Input;
use crate::tally::Tally;

pub(super) fn fib(input: Input) -> Tally {
    if let Some(leaf) = input.leaf() {
        return leaf;
    }
    let (here, forked) = rayon::join(|| fib(input.less(2)), || fib(input.less(1)));
    (here + forked).one_more()
}
