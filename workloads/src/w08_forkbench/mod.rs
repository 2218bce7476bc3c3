//! W08 forkbench-N: what does a spawn-join pair cost, as a slope over N?
//!
//! A balanced binary tree with exactly N inner nodes; each forks its left half, runs its right half in
//! place and waits. Leaves are empty. The answer counts the joins that came back: N.
use crate::cell::{Params, Size};
use crate::drive::Body;
use crate::fields::{Field, Want, each, fill};
use crate::registry::{Support, Workload};
use crate::tally::Tally;

mod async_std;
mod gosteal;
mod rayon;
mod serial;
mod smol;
mod threads;
mod tokio;

/// The registry's entry.
pub(crate) struct Forkbench;

/// Left and right half of a tree of `pairs` pairs, less the one at its root.
fn halves(pairs: u64) -> (u64, u64) {
    let left = (pairs - 1) / 2;
    (left, pairs - 1 - left)
}

/// What a node gives: its two halves and itself.
fn node(left: Tally, right: Tally) -> Tally {
    (left + right + Tally::leaf(1)).one_more()
}

impl Workload for Forkbench {
    fn id(&self) -> &'static str {
        "W08"
    }
    fn name(&self) -> &'static str {
        "forkbench"
    }
    fn group(&self) -> &'static str {
        "tree"
    }
    fn about(&self) -> &'static str {
        "a balanced tree of exactly N spawn-join pairs with empty leaves: the slope is their cost"
    }
    fn unit(&self) -> &'static str {
        "fork"
    }
    fn variants(&self, size: Size) -> Vec<Params> {
        let pairs: &[&str] = match size {
            Size::Smoke => &["10000", "1000", "3000", "30000", "100000"],
            Size::Std => &["1000000", "1000", "10000", "100000"],
            Size::Large => &["10000000", "1000", "10000", "100000", "1000000"],
        };
        each("pairs", pairs, &[])
    }
    fn check(&self, given: &Params) -> Result<Params, String> {
        fill(given, &[Field("pairs", "10000", Want::Number(1, 1_000_000_000))])
    }
    fn expected(&self, p: &Params, _workers: usize) -> (u64, u64) {
        (p.num("pairs"), p.num("pairs"))
    }
    fn support(&self, runtime: &str) -> Support {
        match runtime {
            "gosteal" | "rayon" | "serial" => Support::Idiomatic,
            "tokio" | "smol" | "async-std" | "threads" => Support::Literal,
            _ => Support::Absent("no adapter".into()),
        }
    }
    fn ceiling(&self, _p: &Params, _workers: usize) -> Option<f64> {
        None
    }
    fn body(&self, runtime: &str, p: &Params, workers: usize) -> Option<Body> {
        let pairs = p.num("pairs");
        Some(match runtime {
            "gosteal" => Body::call(move || gosteal::tree(pairs).created()),
            "tokio" => Body::future(move || async move { tokio::tree(pairs).await.created() }),
            "rayon" => Body::call(move || rayon::tree(pairs).created()),
            "smol" => Body::future(move || async move { smol::tree(pairs).await.created() }),
            "async-std" => {
                Body::future(move || async move { async_std::tree(pairs).await.created() })
            }
            "serial" => Body::call(move || serial::tree(pairs).inline()),
            "threads" => Body::call(move || threads::run(pairs, workers)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w08_the_tree_has_exactly_n_pairs() {
        for pairs in [1, 2, 3, 10, 1_000, 12_345] {
            assert_eq!(serial::tree(pairs), Tally { answer: pairs, units: pairs });
        }
    }
}
