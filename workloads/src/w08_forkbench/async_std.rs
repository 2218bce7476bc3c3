//! async-std: a task per fork (docs.rs/async-std, `task::spawn`); recursion needs a boxed future a level.
use super::{halves, node};
use crate::drive::BoxFuture;
use crate::tally::Tally;
use async_std::task;

pub(super) fn tree(pairs: u64) -> BoxFuture<Tally> {
    Box::pin(async move {
        if pairs == 0 {
            return Tally::default();
        }
        let (left, right) = halves(pairs);
        let left = task::spawn(tree(left));
        let right = tree(right).await;
        node(left.await, right)
    })
}
