//! P4 head of line: short tasks behind long ones. How long do they wait, and what does it cost?
//!
//! 200 tasks, of which 80 % do 1 to 5 and 20 % do 20 to 50 units of counted work; all are there when
//! the gate opens. `rounds` is a unit in rounds of the work kernel (750,000 are about a millisecond).
//! The answer is the wrapping sum of all kernels, by closed form. Each task's wait from the gate to its
//! first instruction is reported.
//! Lanes: `stealing`, the runtime's own queues, all started by one task; `skewed`, as that, but 60 % are
//! started on one worker and the others on the rest; `shared`, one FIFO behind a lock, emptied by one
//! task a worker. The tasks that start others or empty the FIFO are not units.
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::cell::{Params, Size};
use crate::drive::{Body, Outcome};
use crate::fields::{Field, Want, fill};
use crate::input::SplitMix64;
use crate::kernel::{closed_form, work};
use crate::model;
use crate::registry::{Support, Workload};

mod async_std;
mod gosteal;
mod rayon;
mod serial;
mod smol;
mod threads;
mod tokio;

/// The seed of the mix: fixed, so that all runs of all runtimes do the same work.
const SEED: u64 = 0x5eed_0f04;
/// How long the tasks that preload the workers look for each other.
const MEETING_LIMIT: Duration = Duration::from_secs(10);

/// The registry's entry.
pub(crate) struct HeadOfLine;

/// What a run needs: the rounds of each task, in order of arrival.
struct Input {
    rounds: Vec<u64>,
    workers: usize,
}

impl Input {
    fn of(p: &Params, workers: usize) -> Input {
        Input { rounds: mix(p.num("tasks"), p.num("rounds")), workers }
    }
    /// The tasks that worker `w` is loaded with: 60 % for the first, the others dealt out.
    fn share(&self, w: usize) -> Vec<usize> {
        let (tasks, others) = (self.rounds.len(), self.workers - 1);
        let first = if others == 0 { tasks } else { tasks * 6 / 10 };
        match w {
            0 => (0..first).collect(),
            _ => (first..tasks).skip(w - 1).step_by(others).collect(),
        }
    }
}

/// Rounds of each task: every fifth on average is long.
fn mix(tasks: u64, unit: u64) -> Vec<u64> {
    let mut rng = SplitMix64::new(SEED);
    let mut draw = |_| {
        let long = rng.between(1, 100) > 80;
        unit * if long { rng.between(20, 50) } else { rng.between(1, 5) }
    };
    (0..tasks).map(&mut draw).collect()
}

/// One iteration in progress: when it began, who waited how long, what is left in the shared queue.
struct Round {
    input: Arc<Input>,
    opened: Instant,
    waits_ns: Vec<AtomicU64>,
    fifo: Mutex<VecDeque<usize>>,
    met: AtomicUsize,
}

impl Round {
    fn open(input: &Arc<Input>) -> Arc<Round> {
        let tasks = input.rounds.len();
        Arc::new(Round {
            input: Arc::clone(input),
            opened: Instant::now(),
            waits_ns: (0..tasks).map(|_| AtomicU64::new(0)).collect(),
            fifo: Mutex::new((0..tasks).collect()),
            met: AtomicUsize::new(0),
        })
    }
    fn tasks(&self) -> usize {
        self.input.rounds.len()
    }
    /// The leaf code, the same for all: task `i`.
    fn task(&self, i: usize) -> u64 {
        let waited = self.opened.elapsed().as_nanos() as u64;
        self.waits_ns[i].store(waited, Relaxed); // Ordering: read after all tasks were waited for.
        work(i as u64, self.input.rounds[i])
    }
    /// Empties the shared queue; returns the sum of what it ran.
    fn drain(&self) -> u64 {
        let next = || self.fifo.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        std::iter::from_fn(next).map(|i| self.task(i)).fold(0, u64::wrapping_add)
    }
    /// Keeps the calling worker until each worker has got here, so that the next thing each of them
    /// does is done on a worker of its own. Panics if they do not meet in ten seconds.
    fn meet(&self) {
        self.met.fetch_add(1, Relaxed); // Ordering: a count; nothing is read through it.
        while self.met.load(Relaxed) < self.input.workers {
            assert!(self.opened.elapsed() < MEETING_LIMIT, "the workers never ran all at once");
            std::thread::yield_now();
        }
    }
    fn outcome(&self, answer: u64) -> Outcome {
        let waits_ns = self.waits_ns.iter().map(|wait| wait.load(Relaxed)).collect();
        Outcome { waits_ns, ..Outcome::new(answer, self.tasks() as u64) }
    }
}

/// Where the tasks are when the gate opens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lane {
    Stealing,
    Skewed,
    Shared,
}

impl Lane {
    fn of(p: &Params) -> Lane {
        match p.text("lane") {
            Some("skewed") => Lane::Skewed,
            Some("shared") => Lane::Shared,
            _ => Lane::Stealing,
        }
    }
}

impl Workload for HeadOfLine {
    fn id(&self) -> &'static str {
        "P4"
    }
    fn name(&self) -> &'static str {
        "head-of-line"
    }
    fn group(&self) -> &'static str {
        "pathology"
    }
    fn about(&self) -> &'static str {
        "short tasks behind long ones, spread, shared, or 60 % on one worker: waits and makespan"
    }
    fn unit(&self) -> &'static str {
        "task"
    }
    fn variants(&self, size: Size) -> Vec<Params> {
        let (tasks, rounds) = match size {
            Size::Smoke => ("200", "10000"),
            Size::Std => ("200", "750000"),
            Size::Large => ("2000", "750000"),
        };
        let set = |lane| Params::of(&[("tasks", tasks), ("rounds", rounds), ("lane", lane)]);
        ["skewed", "stealing", "shared"].map(set).into()
    }
    fn check(&self, given: &Params) -> Result<Params, String> {
        fill(
            given,
            &[
                Field("tasks", "200", Want::Number(1, 1_000_000)),
                Field("rounds", "10000", Want::Number(1, 1_000_000_000)),
                Field("lane", "skewed", Want::Word(&["skewed", "stealing", "shared"])),
            ],
        )
    }
    fn expected(&self, p: &Params, _workers: usize) -> (u64, u64) {
        let answer = (0..).zip(mix(p.num("tasks"), p.num("rounds"))).fold(0u64, |sum, (x, r)| {
            let (a, c) = closed_form(r);
            sum.wrapping_add(a.wrapping_mul(x).wrapping_add(c))
        });
        (answer, p.num("tasks"))
    }
    fn support(&self, runtime: &str) -> Support {
        match runtime {
            "gosteal" | "tokio" | "rayon" | "smol" | "async-std" | "serial" => Support::Idiomatic,
            "threads" => Support::Literal,
            _ => Support::Absent("no adapter".into()),
        }
    }
    fn support_for(&self, runtime: &str, p: &Params) -> Support {
        match (runtime, Lane::of(p)) {
            ("threads", Lane::Stealing) => Support::NotExpressible("a static split steals nothing"),
            _ => self.support(runtime),
        }
    }
    /// `shared` takes the tasks in order; in the others no order can beat the longest task.
    fn ceiling(&self, p: &Params, workers: usize) -> Option<f64> {
        let rounds = mix(p.num("tasks"), p.num("rounds"));
        Some(match Lane::of(p) {
            Lane::Shared => model::list_ceiling(&rounds, workers),
            Lane::Stealing | Lane::Skewed => model::any_order_ceiling(&rounds, workers),
        })
    }
    fn body(&self, runtime: &str, p: &Params, workers: usize) -> Option<Body> {
        let (input, lane) = (Arc::new(Input::of(p, workers)), Lane::of(p));
        Some(match runtime {
            "gosteal" => Body::call(move || gosteal::run(&input, lane)),
            "tokio" => Body::future(move || tokio::run(Arc::clone(&input), lane)),
            "rayon" => Body::call(move || rayon::run(&input, lane)),
            "smol" => Body::future(move || smol::run(Arc::clone(&input), lane)),
            "async-std" => Body::future(move || async_std::run(Arc::clone(&input), lane)),
            "serial" => Body::call(move || serial::run(&input)),
            "threads" if lane == Lane::Stealing => return None,
            "threads" => Body::call(move || threads::run(&input, lane)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mix is fixed and has the stated shape.
    #[test]
    fn p4_the_mix_is_four_short_tasks_to_one_long() {
        let units = mix(20_000, 1);
        let long = units.iter().filter(|u| **u >= 20).count();
        assert!((3_700..4_300).contains(&long), "{long} of 20,000 are long");
        assert!(units.iter().all(|u| (1..=5).contains(u) || (20..=50).contains(u)));
        assert_eq!(mix(200, 1), mix(200, 1));
        assert_eq!(mix(200, 10).iter().sum::<u64>(), 10 * mix(200, 1).iter().sum::<u64>());
    }

    #[test]
    fn p4_sixty_percent_go_to_the_first_worker_and_nothing_is_lost() {
        for workers in [1, 2, 3, 8] {
            let input = Input { rounds: vec![1; 200], workers };
            let mut all: Vec<usize> = (0..workers).flat_map(|w| input.share(w)).collect();
            assert_eq!(input.share(0).len(), if workers == 1 { 200 } else { 120 });
            all.sort_unstable();
            assert_eq!(all, (0..200).collect::<Vec<_>>(), "{workers} workers");
        }
    }

    /// The closed form against the work itself, by the serial program.
    #[test]
    fn p4_the_answer_is_what_the_work_gives() {
        let p = HeadOfLine.check(&Params::of(&[("rounds", "3")])).unwrap();
        let outcome = serial::run(&Arc::new(Input::of(&p, 1)));
        assert_eq!((outcome.answer, outcome.inlined), HeadOfLine.expected(&p, 1));
        assert_eq!(outcome.waits_ns.len(), 200);
    }
}
