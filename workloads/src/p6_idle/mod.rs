//! P6 idle burn: what does a runtime cost that has nothing, or almost nothing, to do?
//!
//! A thread outside the runtime sleeps period after period and, with `spawn=1`, at the end of each
//! starts one empty task and goes on. The wall time is fixed, so the samples are CPU time of the
//! process: `ns` a period, to be compared with serial, which is the sleeping thread alone.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::cell::{Params, Size};
use crate::drive::{Body, Outcome};
use crate::fields::{Field, Want, fill};
use crate::latch::Latch;
use crate::registry::{Clock, Support, Workload};

/// The registry's entry.
pub(crate) struct IdleBurn;

/// An empty task, to be started on the runtime.
type Tick = Box<dyn FnOnce() + Send>;

/// What a run needs.
#[derive(Clone, Copy)]
struct Input {
    periods: u64,
    gap: Duration,
    spawn: bool,
}

impl Input {
    fn of(p: &Params) -> Input {
        let gap = Duration::from_micros(p.num("gap_us"));
        Input { periods: p.num("periods"), gap, spawn: p.num("spawn") == 1 }
    }
    /// All periods; `start` starts a task on the runtime.
    fn run(self, start: impl Fn(Tick)) -> Outcome {
        let latch = Arc::new(Latch::new(if self.spawn { self.periods } else { 0 }));
        let ran = Arc::new(AtomicU64::new(0));
        let begin = Instant::now();
        for period in 1..=self.periods {
            let due = begin + self.gap * period as u32;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if self.spawn {
                let (latch, ran) = (Arc::clone(&latch), Arc::clone(&ran));
                start(Box::new(move || {
                    ran.fetch_add(1, Relaxed); // Ordering: carried by the latch.
                    latch.hit();
                }));
            }
        }
        latch.wait();
        Outcome::new(ran.load(Relaxed), self.periods)
    }
}

mod start;

impl Workload for IdleBurn {
    fn id(&self) -> &'static str {
        "P6"
    }
    fn name(&self) -> &'static str {
        "idle-burn"
    }
    fn group(&self) -> &'static str {
        "pathology"
    }
    fn about(&self) -> &'static str {
        "nothing to do, or one empty task every 10 ms: CPU time that the runtime burns"
    }
    fn unit(&self) -> &'static str {
        "period"
    }
    fn variants(&self, size: Size) -> Vec<Params> {
        let periods = match size {
            Size::Smoke => "10",
            Size::Std => "100",
            Size::Large => "1000",
        };
        let set =
            |spawn| Params::of(&[("periods", periods), ("gap_us", "10000"), ("spawn", spawn)]);
        vec![set("1"), set("0")]
    }
    fn check(&self, given: &Params) -> Result<Params, String> {
        fill(
            given,
            &[
                Field("periods", "10", Want::Number(1, 1_000_000)),
                Field("gap_us", "10000", Want::Number(1, 10_000_000)),
                Field("spawn", "1", Want::Number(0, 1)),
            ],
        )
    }
    fn expected(&self, p: &Params, _workers: usize) -> (u64, u64) {
        (p.num("periods") * p.num("spawn"), p.num("periods"))
    }
    fn support(&self, runtime: &str) -> Support {
        match runtime {
            "gosteal" | "tokio" | "rayon" | "smol" | "async-std" | "serial" => Support::Idiomatic,
            "threads" => Support::Literal,
            _ => Support::Absent("no adapter".into()),
        }
    }
    fn ceiling(&self, _p: &Params, _workers: usize) -> Option<f64> {
        None
    }
    fn clock(&self) -> Clock {
        Clock::Cpu
    }
    fn body(&self, runtime: &str, p: &Params, _workers: usize) -> Option<Body> {
        let input = Input::of(p);
        Some(match runtime {
            "gosteal" => Body::outside(move || input.run(start::gosteal)),
            "tokio" => Body::outside(move || input.run(start::tokio)),
            "rayon" => Body::outside(move || input.run(start::rayon)),
            "smol" => Body::outside(move || input.run(start::smol)),
            "async-std" => Body::outside(move || input.run(start::async_std)),
            "serial" => Body::outside(move || input.run(|tick| tick())),
            "threads" => Body::outside(move || input.run(|tick| drop(std::thread::spawn(tick)))),
            _ => return None,
        })
    }
}
