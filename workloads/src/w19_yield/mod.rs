//! W19 yield storm: what does going to the back of the queue cost?
//!
//! T tasks yield Y times each and do nothing else. Each counts its yields; the answer is their sum.
use crate::cell::{Params, Size};
use crate::drive::Body;
use crate::fields::{Field, Want, fill};
use crate::registry::{Support, Workload};

mod async_std;
mod gosteal;
mod smol;
mod tokio;

/// The registry's entry.
pub(crate) struct Yields;

/// What a run needs.
#[derive(Clone, Copy)]
struct Input {
    tasks: u64,
    yields: u64,
}

impl Workload for Yields {
    fn id(&self) -> &'static str {
        "W19"
    }
    fn name(&self) -> &'static str {
        "yield-storm"
    }
    fn group(&self) -> &'static str {
        "spawn"
    }
    fn about(&self) -> &'static str {
        "tasks that do nothing but yield: the cost of a switch through the queue"
    }
    fn unit(&self) -> &'static str {
        "yield"
    }
    fn variants(&self, size: Size) -> Vec<Params> {
        let sets: &[(&str, &str)] = match size {
            Size::Smoke => &[("200", "1000"), ("300", "300")],
            Size::Std => &[("200", "50000"), ("300", "30000")],
            Size::Large => &[("200", "500000"), ("300", "300000")],
        };
        let set =
            |(tasks, yields): &(&str, &str)| Params::of(&[("tasks", tasks), ("yields", yields)]);
        sets.iter().map(set).collect()
    }
    fn check(&self, given: &Params) -> Result<Params, String> {
        fill(
            given,
            &[
                Field("tasks", "200", Want::Number(1, 1_000_000)),
                Field("yields", "1000", Want::Number(1, 1_000_000_000)),
            ],
        )
    }
    fn expected(&self, p: &Params, _workers: usize) -> (u64, u64) {
        let yields = p.num("tasks") * p.num("yields");
        (yields, yields)
    }
    fn support(&self, runtime: &str) -> Support {
        match runtime {
            "gosteal" | "tokio" | "smol" | "async-std" => Support::Idiomatic,
            "rayon" => Support::NotExpressible(
                "yield_now runs another job on top of the caller; it does not queue the caller",
            ),
            "serial" => Support::NotExpressible("one thread has nobody to yield to"),
            "threads" => Support::NotExpressible("a thread per task has no worker count"),
            _ => Support::Absent("no adapter".into()),
        }
    }
    fn ceiling(&self, _p: &Params, _workers: usize) -> Option<f64> {
        None
    }
    fn body(&self, runtime: &str, p: &Params, _workers: usize) -> Option<Body> {
        let input = Input { tasks: p.num("tasks"), yields: p.num("yields") };
        Some(match runtime {
            "gosteal" => Body::call(move || gosteal::run(input)),
            "tokio" => Body::future(move || tokio::run(input)),
            "smol" => Body::future(move || smol::run(input)),
            "async-std" => Body::future(move || async_std::run(input)),
            _ => return None,
        })
    }
}
