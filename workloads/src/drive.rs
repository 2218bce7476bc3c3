//! The timed region, the same for every runtime: what runs in it and who reads the clock.
//!
//! # Invariants
//! - The clock starts inside the runtime, on a worker, before the first unit is created, and stops
//!   when the result of the last iteration is in the driver's hand. Adapters never read it.
//! - Every iteration's answer is kept equal to the first one's; a difference is an error.
//! - A panic of the workload ends the region as an error that carries its message.
//!
//! # Not here
//! Warm-up, repetition, statistics: the harness asks for one region at a time.
use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use crate::system::{self, Usage};

/// What one iteration gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The result, to be compared with `Workload::expected`.
    pub answer: u64,
    /// Units really created: tasks, forks, hops, as the workload says.
    pub units: u64,
    /// Units that were run in place and never created; `units + inlined` is the expected number.
    pub inlined: u64,
    /// Facts that only this workload knows, by name: `rss_bytes_per_task`.
    pub facts: Vec<(&'static str, u64)>,
    /// How long each task waited from its intended start to its first instruction, nanoseconds.
    pub waits_ns: Vec<u64>,
}

impl Outcome {
    /// An answer for which `units` units were created.
    pub fn new(answer: u64, units: u64) -> Outcome {
        Outcome { answer, units, ..Outcome::default() }
    }
    /// An answer for which all `units` units were run in place.
    pub fn inline(answer: u64, units: u64) -> Outcome {
        Outcome { answer, inlined: units, ..Outcome::default() }
    }
}

/// A heap-allocated future, as recursion and erasure need it.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// One iteration of a workload on one runtime, ready to run any number of times.
pub enum Body {
    /// A call that is made on a worker.
    Call(Box<dyn Fn() -> Outcome + Send + Sync>),
    /// A future that is awaited in a task on a worker. One allocation an iteration.
    Future(Box<dyn Fn() -> BoxFuture<Outcome> + Send + Sync>),
    /// A call made on a thread that is no worker: for work that is injected from outside.
    Outside(Box<dyn Fn() -> Outcome + Send + Sync>),
}

impl Body {
    /// A body that is called on a worker.
    pub fn call(f: impl Fn() -> Outcome + Send + Sync + 'static) -> Body {
        Body::Call(Box::new(f))
    }
    /// A body that is awaited on a worker.
    pub fn future<F>(f: impl Fn() -> F + Send + Sync + 'static) -> Body
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        Body::Future(Box::new(move || Box::pin(f())))
    }
    /// A body that is called from outside the runtime.
    pub fn outside(f: impl Fn() -> Outcome + Send + Sync + 'static) -> Body {
        Body::Outside(Box::new(f))
    }
}

/// What a runtime is given to run on one of its workers.
pub enum Job {
    /// To be called.
    Call(Box<dyn FnOnce() + Send>),
    /// To be awaited.
    Future(BoxFuture<()>),
}

/// What one region cost, all its iterations together.
#[derive(Clone, Debug)]
pub struct Region {
    /// Monotonic time, nanoseconds.
    pub wall_ns: u64,
    /// CPU time of the process, nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Voluntary switches.
    pub voluntary: Option<u64>,
    /// Involuntary switches.
    pub involuntary: Option<u64>,
    /// Peak resident memory so far, KiB.
    pub max_rss_kib: Option<u64>,
    /// The thread on which the driver started: a worker, unless the body is [`Body::Outside`].
    pub thread: u64,
    /// The last iteration; its `waits_ns` holds those of all iterations.
    pub outcome: Outcome,
}

/// The open region: what was read at the gate, and what the iterations have given so far.
struct Open {
    thread: u64,
    before: Usage,
    gate: Instant,
    outcome: Option<Outcome>,
}

impl Open {
    fn gate() -> Open {
        let (thread, before) = (system::thread_id(), system::usage());
        Open { thread, before, gate: Instant::now(), outcome: None }
    }
    /// Keeps `next`. Panics if it is another answer than before.
    fn keep(&mut self, mut next: Outcome) {
        if let Some(last) = &mut self.outcome {
            let total = |o: &Outcome| (o.answer, o.units + o.inlined);
            assert!(
                total(last) == total(&next),
                "two iterations differ: answer and units {:?}, then {:?}",
                total(last),
                total(&next)
            );
            let mut waits = std::mem::take(&mut last.waits_ns);
            waits.append(&mut next.waits_ns);
            next.waits_ns = waits;
        }
        self.outcome = Some(next);
    }
    fn close(self) -> Region {
        let wall_ns = u64::try_from(self.gate.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let after = system::usage();
        let since = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Region {
            wall_ns,
            cpu_ns: since(after.cpu_ns, self.before.cpu_ns),
            voluntary: since(after.voluntary, self.before.voluntary),
            involuntary: since(after.involuntary, self.before.involuntary),
            max_rss_kib: after.max_rss_kib,
            thread: self.thread,
            outcome: self.outcome.unwrap_or_default(),
        }
    }
}

/// Runs `iters` iterations of `body` as one region. `enter` runs a job on a worker and returns when
/// it has ended. Blocks the calling thread, which is outside the runtime.
///
/// # Errors
/// The message of a panic in the workload, or that two iterations disagree.
pub fn region(body: &Arc<Body>, iters: u64, enter: impl FnOnce(Job)) -> Result<Region, String> {
    let slot = Arc::new(Mutex::new(None));
    let put = {
        let slot = Arc::clone(&slot);
        move |result| *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result)
    };
    let shared = Arc::clone(body);
    match **body {
        Body::Outside(ref f) => return caught(|| repeat(f, iters)),
        Body::Call(_) => enter(Job::Call(Box::new(move || {
            let Body::Call(f) = &*shared else { unreachable!("matched above") };
            put(caught(|| repeat(f, iters)));
        }))),
        Body::Future(_) => enter(Job::Future(Box::pin(async move {
            let region = async {
                let Body::Future(f) = &*shared else { unreachable!("matched above") };
                let mut open = Open::gate();
                for _ in 0..iters {
                    open.keep(f().await);
                }
                open.close()
            };
            put(CatchUnwind(Box::pin(region)).await);
        }))),
    }
    let result = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    result.unwrap_or_else(|| Err("the runtime dropped the driver before it ended".into()))
}

fn repeat(f: &dyn Fn() -> Outcome, iters: u64) -> Region {
    let mut open = Open::gate();
    for _ in 0..iters {
        open.keep(f());
    }
    open.close()
}

/// `f`'s value, or what its panic said, in one line.
pub(crate) fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| panic_text(&*payload))
}

/// What a panic said, for one line of text.
pub fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|s| (*s).to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is no text".into());
    format!("panic: {text}")
}

/// A future that ends in an error where the inner one panics.
struct CatchUnwind<F>(Pin<Box<F>>);

impl<F: Future> Future for CatchUnwind<F> {
    type Output = Result<F::Output, String>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx))) {
            Ok(poll) => poll.map(Ok),
            Err(payload) => Poll::Ready(Err(panic_text(&*payload))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    fn here(job: Job) {
        match job {
            Job::Call(f) => f(),
            Job::Future(f) => smol::block_on(f),
        }
    }

    #[test]
    fn drive_runs_each_iteration_and_keeps_the_waits_of_all() {
        for kind in 0..3 {
            let one = || Outcome { waits_ns: vec![1], ..Outcome::new(7, 2) };
            let body = Arc::new(match kind {
                0 => Body::call(one),
                1 => Body::future(move || async move { one() }),
                _ => Body::outside(one),
            });
            let region = region(&body, 3, here).unwrap();
            assert_eq!((region.outcome.answer, region.outcome.units), (7, 2));
            assert_eq!(region.outcome.waits_ns, [1, 1, 1]);
            assert_eq!(region.thread, system::thread_id());
        }
    }

    #[test]
    fn drive_turns_a_panic_into_its_message() {
        let body = Arc::new(Body::call(|| panic!("no {}", 7)));
        assert_eq!(region(&body, 1, here).unwrap_err(), "panic: no 7");
        let body = Arc::new(Body::future(|| async { panic!("never") }));
        assert_eq!(region(&body, 1, here).unwrap_err(), "panic: never");
    }

    #[test]
    fn drive_refuses_iterations_that_disagree() {
        let n = AtomicU64::new(0);
        let body = Arc::new(Body::call(move || Outcome::new(n.fetch_add(1, Relaxed), 1)));
        assert!(region(&body, 2, here).unwrap_err().contains("two iterations differ"));
    }

    #[test]
    fn drive_notices_a_runtime_that_drops_the_driver() {
        let body = Arc::new(Body::call(Outcome::default));
        assert!(region(&body, 1, drop).unwrap_err().contains("dropped the driver"));
    }
}
