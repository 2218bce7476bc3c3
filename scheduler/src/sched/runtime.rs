//! How a runtime begins: the builder, the runtime, the handle of other threads.
//!
//! # Invariants
//! - I1 A [`Sched`] lives in an `Arc`: the runtime, its handles and its threads each hold one, so raw
//!   pointers inside stay valid as long as any of them exists.
//! # Not here
//! How it ends: `shutdown`.

use crate::coro::stack::Guard;
use crate::limits::{DEFAULT_STACK_BYTES, MAX_THREADS, MIN_STACK_BYTES};
use crate::policy::Policy;
use crate::sched::deadlock::DeadlockReport;
use crate::sched::metrics::Metrics;
use crate::sched::park::{current, outside_gate};
use crate::sched::spawn::{go_outside, is_quiet_end};
use crate::sched::state::{Plan, Sched};
use crate::sched::{deadlock, shutdown, sysmon};
use crate::shim::Note;
use crate::shim::Ordering::{Acquire, Relaxed};
use crate::task::Stack;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

/// Most Ps of a runtime: far above any machine; Go has no limit (P-6).
const MAX_PROCS: usize = 4096;

/// Settings of a [`Runtime`]; every one has Go's value as default.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it builds"]
pub struct Builder {
    procs: Option<usize>,
    policy: Policy,
    stack_bytes: usize,
    guard: Guard,
    max_threads: u32,
    deadlock: DeadlockReport,
}

impl Builder {
    /// GOMAXPROCS: how many goroutines run at once, 1 to 4096. Default: the CPUs that the process may use.
    pub fn procs(mut self, n: usize) -> Self {
        self.procs = Some(n);
        self
    }
    /// The scheduling policy. Default: [`Policy::go`].
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }
    /// Address space of one goroutine stack in bytes, its guard included (default 256 KiB, least 16 KiB).
    /// Memory is used page by page as the stack grows.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }
    /// How stack overflow is caught. Default: [`Guard::Auto`].
    pub fn guard(mut self, guard: Guard) -> Self {
        self.guard = guard;
        self
    }
    /// Most worker threads (default 10,000); one more is fatal. Spec: M-5.
    pub fn max_threads(mut self, n: u32) -> Self {
        self.max_threads = n;
        self
    }
    /// Whether a deadlock ends the process. Default: [`DeadlockReport::Auto`].
    pub fn deadlock(mut self, report: DeadlockReport) -> Self {
        self.deadlock = report;
        self
    }

    /// Starts the runtime. Threads are made as goroutines need them.
    ///
    /// # Safety
    /// A goroutine may move to another thread at every runtime entry (channel and lock operations, `go`,
    /// `join`, `sleep`, `yield_now`, `checkpoint`, `syscall`, ...). The caller promises, for all code that
    /// will run on goroutines of this runtime:
    /// 1. No reference into thread-local storage (`thread_local!`'s `with`, a `RefCell` borrow in it) is held
    ///    across a runtime entry.
    /// 2. No value that must stay on its thread (`!Send`: a std `MutexGuard`, an `Rc` shared with this
    ///    thread) is alive across one.
    ///
    /// ```no_run
    /// thread_local!(static DEPTH: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });
    /// fn wrong() {
    ///     DEPTH.with(|depth| {
    ///         gosteal::yield_now(); // may come back on another thread: `depth` is the old one's
    ///         depth.set(depth.get() + 1);
    ///     });
    /// }
    /// fn right() {
    ///     gosteal::yield_now();
    ///     DEPTH.with(|depth| depth.set(depth.get() + 1));
    /// }
    /// ```
    ///
    /// # Errors
    /// A setting out of range (the text names it and the range), or the system refuses a thread.
    pub unsafe fn build(self) -> io::Result<Runtime> {
        let refuse = |text: String| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        let procs = match self.procs {
            None => std::thread::available_parallelism().map_or(1, usize::from).min(MAX_PROCS),
            Some(n) if (1..=MAX_PROCS).contains(&n) => n,
            Some(n) => return refuse(format!("procs {n}: want 1 to {MAX_PROCS}")),
        };
        if self.stack_bytes < MIN_STACK_BYTES || self.stack_bytes > 1 << 30 {
            return refuse(format!(
                "stack_size {}: want {MIN_STACK_BYTES} bytes to 1 GiB",
                self.stack_bytes
            ));
        }
        if self.max_threads == 0 {
            return refuse("max_threads 0: want at least 1".to_string());
        }
        crate::coro::overflow::install(|header| {
            // SAFETY: the header of a slot names the goroutine that runs on it, which is never freed.
            unsafe { (*header.cast::<Stack>()).g.get().as_ref().map_or(0, |g| g.id.load(Relaxed)) }
        });
        crate::sched::hook::install();
        let sched = Arc::new(Sched::new(Plan {
            procs,
            policy: self.policy,
            stack_bytes: self.stack_bytes,
            guard: self.guard,
            max_threads: self.max_threads,
            deadlock: self.deadlock,
        }));
        start_sysmon(&sched)?;
        Ok(Runtime { sched })
    }
}

fn start_sysmon(sched: &Arc<Sched>) -> io::Result<()> {
    let mine = sched.clone();
    sched.threads.enter();
    let body = move || {
        sysmon::run(&mine);
        mine.threads.leave();
    };
    let spawned = std::thread::Builder::new().name("gosteal-sysmon".into()).spawn(body);
    spawned.map(drop).inspect_err(|_| sched.threads.leave())
}

/// A scheduler with its threads. Dropping it ends it: see [`Runtime::shutdown`].
pub struct Runtime {
    pub(crate) sched: Arc<Sched>,
}

/// A way for plain threads to start goroutines. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    sched: Arc<Sched>,
}

impl Runtime {
    /// All settings as Go has them.
    pub fn builder() -> Builder {
        Builder {
            procs: None,
            policy: Policy::go(),
            stack_bytes: DEFAULT_STACK_BYTES,
            guard: Guard::Auto,
            max_threads: MAX_THREADS,
            deadlock: DeadlockReport::Auto,
        }
    }

    /// Runs `f` as a main goroutine and returns its value; the calling thread sleeps meanwhile. Other
    /// goroutines are not waited for, and live on until the runtime ends. If `f` calls [`goexit`](crate::goexit),
    /// the others run on and this never returns (DEAD-4).
    ///
    /// If nobody can run any more, the process ends with Go's report and status 2 (see
    /// [`DeadlockReport`]).
    ///
    /// # Panics
    /// With the payload of `f`'s panic; M-3 on a goroutine of the same runtime, which must not block its
    /// thread.
    pub fn block_on<T: Send, F: FnOnce() -> T + Send>(&self, f: F) -> T {
        if let Some(m) = current() {
            let same = ptr::eq(m.sched, Arc::as_ptr(&self.sched));
            assert!(!same, "M-3: block_on on a goroutine of the same runtime");
        }
        let note = Note::new();
        note.bind();
        let mut result = None;
        let slot = Slot(&raw mut result, &raw const note, &self.sched);
        let main = move || {
            let slot = slot;
            let ended = match catch_unwind(AssertUnwindSafe(f)) {
                // DEAD-4: goexit: others may run on, and the caller waits.
                Err(payload) if is_quiet_end(&*payload) => resume_unwind(payload),
                ended => ended,
            };
            // Before the wake: from then on nobody waits for a main goroutine (DEAD-2).
            slot.2.locked(|central| central.callers -= 1);
            // SAFETY: the caller waits below until the note is set, which is the last use.
            unsafe {
                *slot.0 = Some(ended);
                (*slot.1).wake_last();
            }
        };
        // SAFETY: `main` borrows what outlives it: this frame waits for its end.
        unsafe { go_outside(&self.sched, main) };
        // After the start: a caller that counts has a main goroutine (DEAD-2). It may have ended or blocked
        // for good already, so the count may pass through -1, and we look once ourselves.
        self.sched.locked(|central| central.callers += 1);
        deadlock::check(&self.sched);
        note.sleep();
        match result.expect("the main goroutine leaves its result before it wakes us") {
            Ok(value) => value,
            Err(payload) => resume_unwind(payload),
        }
    }

    /// For plain threads.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle { sched: self.sched.clone() }
    }

    /// GOMAXPROCS.
    #[must_use]
    pub fn procs(&self) -> usize {
        self.sched.procs.len()
    }

    /// The policy in force.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.sched.policy
    }

    /// The counters so far. Takes the scheduler's lock for a moment.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.sched.snapshot()
    }

    /// Numbers of the goroutines that are on a queue now (rings, runnext slots, global queue): made ready, not
    /// yet run. A snapshot for watchdogs; takes the scheduler's lock for a moment.
    #[must_use]
    pub fn queued(&self) -> Vec<u64> {
        self.sched.queued()
    }

    /// Ends the runtime, as dropping it does with a limit of one second.
    ///
    /// Worker threads stop at their next scheduling point; closures in `syscall` or `blocking` are waited for.
    /// Goroutines that still exist are unwound one by one on a thread made for that, so what their stacks own is
    /// dropped exactly once; closures that never ran are dropped unrun. A goroutine whose destructors block for
    /// good while it unwinds is left as it is, its memory with it; so is one that was unwinding already, by a panic
    /// of its own, and waited in a destructor.
    ///
    /// # Errors
    /// What was still running when `limit` had passed; those threads are left alone, and so is all memory
    /// that they may touch.
    pub fn shutdown(self, limit: Duration) -> Result<(), Unfinished> {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is neither used nor dropped after.
        let sched = unsafe { ptr::read(&this.sched) };
        shutdown::end(&sched, limit)
    }
}

/// Where a main goroutine leaves its result, and whom it wakes.
struct Slot<'a, T>(*mut Option<std::thread::Result<T>>, *const Note, &'a Sched);
// SAFETY: used by the main goroutine alone until the note is set.
unsafe impl<T: Send> Send for Slot<'_, T> {}

impl Drop for Runtime {
    #[allow(clippy::print_stderr, reason = "a drop has no other way to say so")]
    fn drop(&mut self) {
        if let Err(unfinished) = shutdown::end(&self.sched, shutdown::DROP_LIMIT) {
            eprintln!("gosteal: {unfinished}");
        }
    }
}

/// What was still running when a shutdown's limit had passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    pub(crate) threads: usize,
    pub(crate) goroutines: Vec<(u64, &'static str)>,
    pub(crate) waited: Duration,
}

impl std::fmt::Display for Unfinished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "shutdown: after {:?} {} threads still run", self.waited, self.threads)?;
        for (id, what) in &self.goroutines {
            write!(f, "; goroutine {id} [{what}]")?;
        }
        Ok(())
    }
}

impl std::error::Error for Unfinished {}

impl Handle {
    /// Starts `f` in a new goroutine: to the global queue, and a worker is woken for it. Spec: INJ-1.
    /// From a goroutine of the same runtime this is [`go`](crate::go). After the runtime has ended `f` is
    /// dropped unrun.
    pub fn go<F: FnOnce() + Send + 'static>(&self, f: F) {
        match current() {
            Some(m) if ptr::eq(m.sched, Arc::as_ptr(&self.sched)) => crate::go(f),
            _ => {
                let gate = outside_gate();
                // Ordering: Acquire: after the flag is up nobody may start anything.
                if self.sched.stop.load(Acquire) {
                    drop(gate);
                    return drop(f);
                }
                // SAFETY: 'static: nothing is borrowed.
                unsafe { go_outside(&self.sched, f) }
            }
        }
    }

    /// The counters so far. Takes the scheduler's lock for a moment.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.sched.snapshot()
    }
}
