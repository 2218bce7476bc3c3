//! async-std: a task per fork (docs.rs/async-std, `task::spawn`); recursion needs a boxed future a
//! level.
use super::Input;
use crate::drive::BoxFuture;
use crate::tally::Tally;
use async_std::task;

pub(super) fn fib(input: Input) -> BoxFuture<Tally> {
    Box::pin(async move {
        if let Some(leaf) = input.leaf() {
            return leaf;
        }
        let forked = task::spawn(fib(input.less(1)));
        let here = fib(input.less(2)).await;
        (here + forked.await).one_more()
    })
}
