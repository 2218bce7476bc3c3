//! tokio: a task per fork. Recursion in async needs a boxed future a level, and that is its cost
//! (tokio.rs/tokio/tutorial/spawning; the Rust reference on recursive async functions).
use super::Input;
use crate::drive::BoxFuture;
use crate::tally::Tally;

pub(super) fn fib(input: Input) -> BoxFuture<Tally> {
    Box::pin(async move {
        if let Some(leaf) = input.leaf() {
            return leaf;
        }
        let forked = tokio::spawn(fib(input.less(1)));
        let here = fib(input.less(2)).await;
        (here + forked.await.expect("a fork panicked")).one_more()
    })
}
