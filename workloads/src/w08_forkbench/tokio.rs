//! tokio: a task per fork (tokio.rs/tokio/tutorial/spawning); recursion needs a boxed future a level.
use super::{halves, node};
use crate::drive::BoxFuture;
use crate::tally::Tally;

pub(super) fn tree(pairs: u64) -> BoxFuture<Tally> {
    Box::pin(async move {
        if pairs == 0 {
            return Tally::default();
        }
        let (left, right) = halves(pairs);
        let left = tokio::spawn(tree(left));
        let right = tree(right).await;
        node(left.await.expect("a fork panicked"), right)
    })
}
