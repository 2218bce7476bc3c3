//! W18 spawn flood: how fast can tasks be started that do nothing?
//!
//! `from=local`: one task starts them all, which overflows a local queue of 256. `from=outside`: a
//! thread that is no worker injects them. `from=chain`: each starts the next, so at most one is
//! runnable. Each task adds one to a shared counter; the answer is the counter.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::cell::{Params, Size};
use crate::drive::{Body, Outcome};
use crate::fields::{Field, Want, fill};
use crate::latch::Latch;
use crate::registry::{Support, Workload};

mod async_std;
mod gosteal;
mod rayon;
mod smol;
mod tokio;

/// The registry's entry.
pub(crate) struct Flood;

/// The counter that each task adds to.
#[derive(Clone, Default)]
struct Ran(Arc<AtomicU64>);

impl Ran {
    /// The leaf code, the same for all.
    fn task(&self) {
        self.0.fetch_add(1, Relaxed); // Ordering: read only after all tasks were waited for.
    }
    fn outcome(&self, started: u64) -> Outcome {
        Outcome::new(self.0.load(Relaxed), started)
    }
}

/// From outside: `inject` is called for each task and starts what it is given on the runtime; waits
/// until all have run.
fn outside(tasks: u64, inject: impl Fn(Box<dyn FnOnce() + Send>)) -> Outcome {
    let (ran, latch) = (Ran::default(), Arc::new(Latch::new(tasks)));
    for _ in 0..tasks {
        let (ran, latch) = (ran.clone(), Arc::clone(&latch));
        inject(Box::new(move || {
            ran.task();
            latch.hit();
        }));
    }
    latch.wait();
    ran.outcome(tasks)
}

impl Workload for Flood {
    fn id(&self) -> &'static str {
        "W18"
    }
    fn name(&self) -> &'static str {
        "spawn-flood"
    }
    fn group(&self) -> &'static str {
        "spawn"
    }
    fn about(&self) -> &'static str {
        "start tasks that do nothing, from a worker, from outside, or each by the one before"
    }
    fn unit(&self) -> &'static str {
        "task"
    }
    fn variants(&self, size: Size) -> Vec<Params> {
        let (flood, chain) = match size {
            Size::Smoke => ("10000", "1000"),
            Size::Std => ("1000000", "100000"),
            Size::Large => ("10000000", "1000000"),
        };
        let set = |from: &str, tasks: &str| Params::of(&[("from", from), ("tasks", tasks)]);
        vec![set("local", flood), set("outside", flood), set("chain", chain)]
    }
    fn check(&self, given: &Params) -> Result<Params, String> {
        let from = Want::Word(&["local", "outside", "chain"]);
        let tasks = Want::Number(1, 1_000_000_000);
        fill(given, &[Field("from", "local", from), Field("tasks", "10000", tasks)])
    }
    fn expected(&self, p: &Params, _workers: usize) -> (u64, u64) {
        (p.num("tasks"), p.num("tasks"))
    }
    fn support(&self, runtime: &str) -> Support {
        match runtime {
            "gosteal" | "tokio" | "rayon" | "smol" | "async-std" => Support::Idiomatic,
            "serial" => Support::NotExpressible("it has no tasks; a call is not a task"),
            "threads" => Support::NotExpressible("a thread per task has no worker count"),
            _ => Support::Absent("no adapter".into()),
        }
    }
    fn ceiling(&self, _p: &Params, _workers: usize) -> Option<f64> {
        None
    }
    fn body(&self, runtime: &str, p: &Params, _workers: usize) -> Option<Body> {
        let tasks = p.num("tasks");
        Some(match (runtime, p.text("from")) {
            ("gosteal", Some("outside")) => Body::outside(move || gosteal::from_outside(tasks)),
            ("gosteal", Some("chain")) => Body::call(move || gosteal::chain(tasks)),
            ("gosteal", _) => Body::call(move || gosteal::local(tasks)),
            ("tokio", Some("outside")) => Body::outside(move || tokio::from_outside(tasks)),
            ("tokio", Some("chain")) => Body::future(move || tokio::chain(tasks)),
            ("tokio", _) => Body::future(move || tokio::local(tasks)),
            ("rayon", Some("outside")) => Body::outside(move || rayon::from_outside(tasks)),
            ("rayon", Some("chain")) => Body::call(move || rayon::chain(tasks)),
            ("rayon", _) => Body::call(move || rayon::local(tasks)),
            ("smol", Some("outside")) => Body::outside(move || smol::from_outside(tasks)),
            ("smol", Some("chain")) => Body::future(move || smol::chain(tasks)),
            ("smol", _) => Body::future(move || smol::local(tasks)),
            ("async-std", Some("outside")) => Body::outside(move || async_std::from_outside(tasks)),
            ("async-std", Some("chain")) => Body::future(move || async_std::chain(tasks)),
            ("async-std", _) => Body::future(move || async_std::local(tasks)),
            _ => return None,
        })
    }
}
