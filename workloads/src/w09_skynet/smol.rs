//! smol: `channel` is a channel of capacity 1 for each parent (docs.rs/smol, `channel`);
//! `join` awaits the tasks.
use super::{FAN, Node};
use crate::drive::BoxFuture;
use crate::runtimes::smol::EXECUTOR;
use crate::tally::Tally;
use smol::channel;

pub(super) async fn channel(root: Node) -> Tally {
    let (up, answer) = channel::bounded(1);
    EXECUTOR.spawn(sender(root, up)).detach();
    answer.recv().await.expect("the root sends")
}

fn sender(node: Node, up: channel::Sender<Tally>) -> BoxFuture<()> {
    Box::pin(async move {
        let tally = match node.leaf() {
            Some(leaf) => leaf,
            None => {
                let (tx, rx) = channel::bounded(1);
                for child in node.children() {
                    EXECUTOR.spawn(sender(child, tx.clone())).detach();
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
    EXECUTOR.spawn(subtree(root)).await
}

fn subtree(node: Node) -> BoxFuture<Tally> {
    Box::pin(async move {
        if let Some(leaf) = node.leaf() {
            return leaf.one_more();
        }
        let children: Vec<_> =
            node.children().map(|child| EXECUTOR.spawn(subtree(child))).collect();
        let mut sum = Tally::default();
        for child in children {
            sum = sum + child.await;
        }
        sum.one_more()
    })
}
