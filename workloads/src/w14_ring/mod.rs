//! W14 (b) ring: one runnable task that wanders through many.
//!
//! N tasks in a ring, each with a channel to the next. A number goes round and loses one at each hop;
//! whoever receives 0 is the answer: hops mod N. The hops are counted by the tasks that made them.
use crate::cell::{Params, Size};
use crate::drive::Body;
use crate::fields::{Field, Want, fill};
use crate::registry::{Support, Workload};

mod async_std;
mod gosteal;
mod smol;
mod tokio;

/// The registry's entry.
pub(crate) struct Ring;

/// What a run needs.
#[derive(Clone, Copy)]
struct Input {
    tasks: usize,
    hops: u64,
}

/// What one task of the ring returns: whether the number ended here, and the hops it made.
type Link = (bool, u64);

/// The holder's index and all hops, from the tasks in order.
fn outcome(links: impl Iterator<Item = Link>) -> crate::drive::Outcome {
    let (mut holder, mut hops) = (u64::MAX, 0);
    for (i, (ended, made)) in links.enumerate() {
        hops += made;
        if ended {
            holder = i as u64;
        }
    }
    crate::drive::Outcome::new(holder, hops)
}

impl Workload for Ring {
    fn id(&self) -> &'static str {
        "W14b"
    }
    fn name(&self) -> &'static str {
        "ring"
    }
    fn group(&self) -> &'static str {
        "message"
    }
    fn about(&self) -> &'static str {
        "a token hops round a ring of tasks: one runnable task at a time, never the same"
    }
    fn unit(&self) -> &'static str {
        "hop"
    }
    fn variants(&self, size: Size) -> Vec<Params> {
        let sets: &[(&str, &str)] = match size {
            Size::Smoke => &[("100", "10000"), ("503", "10000")],
            Size::Std => &[("100", "100000"), ("503", "500000")],
            Size::Large => &[("100", "5000000"), ("503", "5000000")],
        };
        sets.iter().map(|(tasks, hops)| Params::of(&[("tasks", tasks), ("hops", hops)])).collect()
    }
    fn check(&self, given: &Params) -> Result<Params, String> {
        fill(
            given,
            &[
                Field("tasks", "100", Want::Number(1, 1_000_000)),
                Field("hops", "10000", Want::Number(0, 1_000_000_000_000)),
            ],
        )
    }
    fn expected(&self, p: &Params, _workers: usize) -> (u64, u64) {
        (p.num("hops") % p.num("tasks"), p.num("hops"))
    }
    fn support(&self, runtime: &str) -> Support {
        match runtime {
            "gosteal" | "tokio" | "smol" | "async-std" => Support::Idiomatic,
            "rayon" => Support::NotExpressible(
                "a job cannot wait for a message without blocking its worker",
            ),
            "serial" => Support::NotExpressible("one thread has nobody to pass to"),
            "threads" => Support::NotExpressible("a thread per task has no worker count"),
            _ => Support::Absent("no adapter".into()),
        }
    }
    fn ceiling(&self, _p: &Params, _workers: usize) -> Option<f64> {
        None
    }
    fn body(&self, runtime: &str, p: &Params, _workers: usize) -> Option<Body> {
        let input = Input { tasks: p.num("tasks") as usize, hops: p.num("hops") };
        Some(match runtime {
            "gosteal" => Body::call(move || gosteal::run(input)),
            "tokio" => Body::future(move || tokio::run(input)),
            "smol" => Body::future(move || smol::run(input)),
            "async-std" => Body::future(move || async_std::run(input)),
            _ => return None,
        })
    }
}
