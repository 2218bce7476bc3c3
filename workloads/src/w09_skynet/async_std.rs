//! async-std: `channel` is a channel of capacity 1 for each parent (the async-channel crate, which its `channel` is);
//! `join` awaits the tasks.
use super::{FAN, Node};
use crate::drive::BoxFuture;
use crate::tally::Tally;
use async_std::task;

pub(super) async fn channel(root: Node) -> Tally {
    let (up, answer) = async_channel::bounded(1);
    task::spawn(sender(root, up));
    answer.recv().await.expect("the root sends")
}

fn sender(node: Node, up: async_channel::Sender<Tally>) -> BoxFuture<()> {
    Box::pin(async move {
        let tally = match node.leaf() {
            Some(leaf) => leaf,
            None => {
                let (tx, rx) = async_channel::bounded(1);
                for child in node.children() {
                    task::spawn(sender(child, tx.clone()));
                }
                let mut sum = Tally::default();
                for _ in 0..FAN {
                    sum = sum + rx.recv().await.expect("each child sends");
                }
                sum
            }
        };
        up.send(tally.one_more()).await.expect("the parent receives");
    })
}

pub(super) async fn join(root: Node) -> Tally {
    task::spawn(subtree(root)).await
}

fn subtree(node: Node) -> BoxFuture<Tally> {
    Box::pin(async move {
        if let Some(leaf) = node.leaf() {
            return leaf.one_more();
        }
        let children: Vec<_> = node.children().map(|child| task::spawn(subtree(child))).collect();
        let mut sum = Tally::default();
        for child in children {
            sum = sum + child.await;
        }
        sum.one_more()
    })
}
