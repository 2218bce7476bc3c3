//! gosteal: `channel` is the Go program, an unbuffered channel for each parent and `go` for each
//! child; `join` is a scope, fork-join with borrowed slots.
use super::{FAN, Node};
use crate::tally::Tally;
use gosteal::Sender;

pub(super) fn channel(root: Node) -> Tally {
    let (up, answer) = gosteal::chan(0);
    gosteal::go(move || sender(root, &up));
    answer.recv().expect("the root sends")
}

fn sender(node: Node, up: &Sender<Tally>) {
    let tally = node.leaf().unwrap_or_else(|| {
        let (tx, rx) = gosteal::chan(0);
        for child in node.children() {
            let tx = tx.clone();
            gosteal::go(move || sender(child, &tx));
        }
        (0..FAN).map(|_| rx.recv().expect("each child sends")).sum()
    });
    up.send(tally.one_more());
}

pub(super) fn join(root: Node) -> Tally {
    let mut answer = Tally::default();
    gosteal::scope(|scope| scope.spawn(|_| answer = subtree(root)));
    answer
}

fn subtree(node: Node) -> Tally {
    let tally = node.leaf().unwrap_or_else(|| {
        let mut slots = [Tally::default(); FAN as usize];
        gosteal::scope(|scope| {
            for (child, slot) in node.children().zip(&mut slots) {
                scope.spawn(move |_| *slot = subtree(child));
            }
        });
        slots.into_iter().sum()
    });
    tally.one_more()
}
