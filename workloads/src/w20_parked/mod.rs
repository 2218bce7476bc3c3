//! W20 parked: what does a waiting task weigh, and how long does it take to wake them all?
//!
//! N tasks wait for one event, a channel that is closed; once all wait, it is closed and all end. The
//! answer is how many woke. `c.rss_bytes_per_task` is the resident memory with all waiting, less that
//! before the workload was set up, per task: what later iterations reuse stays counted.
use crate::cell::{Params, Size};
use crate::drive::{Body, Outcome};
use crate::fields::{Field, Want, each, fill};
use crate::registry::{Support, Workload};
use crate::system;

mod async_std;
mod gosteal;
mod smol;
mod tokio;

/// The registry's entry.
pub(crate) struct Parked;

/// How many tasks, and the resident memory before the first of them.
#[derive(Clone, Copy)]
struct Input {
    tasks: u64,
    resident_before: Option<u64>,
}

impl Input {
    /// Resident bytes a task, now that all wait.
    fn bytes_per_task(self) -> Option<u64> {
        let grown = system::resident_bytes()?.saturating_sub(self.resident_before?);
        Some(grown / self.tasks)
    }
    fn outcome(self, woken: u64, bytes: Option<u64>) -> Outcome {
        let facts = bytes.map(|bytes| ("rss_bytes_per_task", bytes)).into_iter().collect();
        Outcome { facts, ..Outcome::new(woken, self.tasks) }
    }
}

impl Workload for Parked {
    fn id(&self) -> &'static str {
        "W20"
    }
    fn name(&self) -> &'static str {
        "parked"
    }
    fn group(&self) -> &'static str {
        "spawn"
    }
    fn about(&self) -> &'static str {
        "tasks that all wait for one event: memory of a waiting task, time to start and wake it"
    }
    fn unit(&self) -> &'static str {
        "task"
    }
    fn variants(&self, size: Size) -> Vec<Params> {
        let tasks: &[&str] = match size {
            Size::Smoke => &["10000"],
            Size::Std => &["100000", "10000", "30000"],
            Size::Large => &["1000000"],
        };
        each("tasks", tasks, &[])
    }
    fn check(&self, given: &Params) -> Result<Params, String> {
        fill(given, &[Field("tasks", "10000", Want::Number(1, 100_000_000))])
    }
    fn expected(&self, p: &Params, _workers: usize) -> (u64, u64) {
        (p.num("tasks"), p.num("tasks"))
    }
    fn support(&self, runtime: &str) -> Support {
        match runtime {
            "gosteal" | "tokio" | "smol" | "async-std" => Support::Idiomatic,
            "rayon" => Support::NotExpressible("a waiting job keeps its worker"),
            "serial" => Support::NotExpressible("one thread cannot wait for itself"),
            "threads" => Support::NotExpressible("a thread per task has no worker count"),
            _ => Support::Absent("no adapter".into()),
        }
    }
    fn ceiling(&self, _p: &Params, _workers: usize) -> Option<f64> {
        None
    }
    fn body(&self, runtime: &str, p: &Params, _workers: usize) -> Option<Body> {
        let resident_before = system::resident_bytes();
        let input = Input { tasks: p.num("tasks"), resident_before };
        Some(match runtime {
            "gosteal" => Body::call(move || gosteal::run(input)),
            "tokio" => Body::future(move || tokio::run(input)),
            "smol" => Body::future(move || smol::run(input)),
            "async-std" => Body::future(move || async_std::run(input)),
            _ => return None,
        })
    }
}
