//! rayon: a scope with ten jobs at each node (docs.rs/rayon, `scope`: for more than two branches).
use super::{FAN, Node};
use crate::tally::Tally;

pub(super) fn join(root: Node) -> Tally {
    let mut answer = Tally::default();
    rayon::scope(|scope| scope.spawn(|_| answer = subtree(root)));
    answer
}

fn subtree(node: Node) -> Tally {
    let tally = node.leaf().unwrap_or_else(|| {
        let mut slots = [Tally::default(); FAN as usize];
        rayon::scope(|scope| {
            for (child, slot) in node.children().zip(&mut slots) {
                scope.spawn(move |_| *slot = subtree(child));
            }
        });
        slots.into_iter().sum()
    });
    tally.one_more()
}
