//! serial: plain recursion; each call stands for a task.
use super::Node;
use crate::tally::Tally;

pub(super) fn tree(node: Node) -> Tally {
    let tally = node.leaf().unwrap_or_else(|| node.children().map(tree).sum());
    tally.one_more()
}
