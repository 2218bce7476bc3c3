//! tokio: `channel` is an mpsc channel for each parent (tokio.rs/tokio/tutorial/channels); tokio has no
//! rendezvous channel, so its capacity is 1. `join` awaits the handles.
use super::{FAN, Node};
use crate::drive::BoxFuture;
use crate::tally::Tally;
use tokio::sync::mpsc;

pub(super) async fn channel(root: Node) -> Tally {
    let (up, mut answer) = mpsc::channel(1);
    tokio::spawn(sender(root, up));
    answer.recv().await.expect("the root sends")
}

fn sender(node: Node, up: mpsc::Sender<Tally>) -> BoxFuture<()> {
    Box::pin(async move {
        let tally = match node.leaf() {
            Some(leaf) => leaf,
            None => {
                let (tx, mut rx) = mpsc::channel(1);
                for child in node.children() {
                    tokio::spawn(sender(child, tx.clone()));
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
    tokio::spawn(subtree(root)).await.expect("the root panicked")
}

fn subtree(node: Node) -> BoxFuture<Tally> {
    Box::pin(async move {
        if let Some(leaf) = node.leaf() {
            return leaf.one_more();
        }
        let children: Vec<_> = node.children().map(|child| tokio::spawn(subtree(child))).collect();
        let mut sum = Tally::default();
        for child in children {
            sum = sum + child.await.expect("a child panicked");
        }
        sum.one_more()
    })
}
