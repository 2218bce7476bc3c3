//! W09 skynet: how fast do a million tiny tasks start, answer and end?
//!
//! A 10-ary tree of tasks of depth d; leaf i returns i, every other task the sum of its ten children.
//! Lanes: `channel`, where children send their sum up a channel of their parent, as the actor program
//! of that name does; `join`, where the parent waits for a result.
use crate::cell::{Params, Size};
use crate::drive::Body;
use crate::fields::{Field, Want, fill};
use crate::registry::{Support, Workload};
use crate::tally::Tally;

mod async_std;
mod gosteal;
mod rayon;
mod serial;
mod smol;
mod threads;
mod tokio;

/// Children of each inner task.
const FAN: u64 = 10;

/// The registry's entry.
pub(crate) struct Skynet;

/// A subtree: its first leaf and how many leaves it has.
#[derive(Clone, Copy)]
struct Node {
    first: u64,
    leaves: u64,
}

impl Node {
    fn root(p: &Params) -> Node {
        Node { first: 0, leaves: FAN.pow(p.num("depth") as u32) }
    }
    /// The leaf code: the ordinal, if this is a leaf.
    fn leaf(self) -> Option<Tally> {
        (self.leaves == 1).then(|| Tally::leaf(self.first))
    }
    fn children(self) -> impl Iterator<Item = Node> + use<> {
        let leaves = self.leaves / FAN;
        (0..FAN).map(move |i| Node { first: self.first + i * leaves, leaves })
    }
}

impl Workload for Skynet {
    fn id(&self) -> &'static str {
        "W09"
    }
    fn name(&self) -> &'static str {
        "skynet"
    }
    fn group(&self) -> &'static str {
        "tree"
    }
    fn about(&self) -> &'static str {
        "a 10-ary tree of tasks that return their ordinals: start, answer and end of tiny tasks"
    }
    fn unit(&self) -> &'static str {
        "task"
    }
    fn variants(&self, size: Size) -> Vec<Params> {
        let depth = match size {
            Size::Smoke => "4",
            Size::Std => "6",
            Size::Large => "8",
        };
        let lane = |lane: &str| Params::of(&[("depth", depth), ("lane", lane)]);
        vec![lane("channel"), lane("join")]
    }
    fn check(&self, given: &Params) -> Result<Params, String> {
        let lanes = Want::Word(&["channel", "join"]);
        fill(given, &[Field("depth", "4", Want::Number(0, 9)), Field("lane", "channel", lanes)])
    }
    fn expected(&self, p: &Params, _workers: usize) -> (u64, u64) {
        let leaves = FAN.pow(p.num("depth") as u32);
        (leaves * (leaves - 1) / 2, (leaves * FAN - 1) / (FAN - 1))
    }
    fn support(&self, runtime: &str) -> Support {
        match runtime {
            "gosteal" | "tokio" | "smol" | "async-std" | "rayon" | "serial" => Support::Idiomatic,
            "threads" => Support::Literal,
            _ => Support::Absent("no adapter".into()),
        }
    }
    fn support_for(&self, runtime: &str, p: &Params) -> Support {
        match (runtime, p.text("lane")) {
            ("tokio" | "smol" | "async-std", Some("join")) => Support::Literal,
            ("rayon", Some("channel")) => Support::NotExpressible(
                "a job cannot wait for a channel without blocking its worker",
            ),
            ("threads", Some("channel")) => {
                Support::NotExpressible("a static split has no task per node to send from")
            }
            _ => self.support(runtime),
        }
    }
    fn ceiling(&self, _p: &Params, _workers: usize) -> Option<f64> {
        None
    }
    fn body(&self, runtime: &str, p: &Params, workers: usize) -> Option<Body> {
        let root = Node::root(p);
        Some(match (runtime, p.text("lane")) {
            ("gosteal", Some("channel")) => Body::call(move || gosteal::channel(root).created()),
            ("gosteal", _) => Body::call(move || gosteal::join(root).created()),
            ("tokio", Some("channel")) => {
                Body::future(move || async move { tokio::channel(root).await.created() })
            }
            ("tokio", _) => Body::future(move || async move { tokio::join(root).await.created() }),
            ("smol", Some("channel")) => {
                Body::future(move || async move { smol::channel(root).await.created() })
            }
            ("smol", _) => Body::future(move || async move { smol::join(root).await.created() }),
            ("async-std", Some("channel")) => {
                Body::future(move || async move { async_std::channel(root).await.created() })
            }
            ("async-std", _) => {
                Body::future(move || async move { async_std::join(root).await.created() })
            }
            ("rayon" | "threads", Some("channel")) => return None,
            ("rayon", _) => Body::call(move || rayon::join(root).created()),
            ("serial", _) => Body::call(move || serial::tree(root).inline()),
            ("threads", _) => Body::call(move || threads::run(root, workers)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers and unit counts of the catalogue; a small tree by walking it.
    #[test]
    fn w09_answers_and_units_are_those_of_the_catalogue() {
        let params = |depth: &str| Skynet.check(&Params::of(&[("depth", depth)])).unwrap();
        let expected = |depth: &str| Skynet.expected(&params(depth), 1);
        assert_eq!(expected("4"), (49_995_000, 11_111));
        assert_eq!(expected("6"), (499_999_500_000, 1_111_111));
        assert_eq!(expected("8"), (4_999_999_950_000_000, 111_111_111));
        let walked = serial::tree(Node::root(&params("3")));
        assert_eq!((walked.answer, walked.units), expected("3"));
    }
}
