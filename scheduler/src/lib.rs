//! gosteal: a work-stealing scheduler that does what Go's does, rule by rule.
//!
//! **G** is a goroutine: a closure on a stack of its own. **P** is a processor: the right to run one, with the
//! queues that come with it; there are GOMAXPROCS of them. **M** is a worker thread: it holds a P while it
//! runs goroutines, and gives it up while it blocks in the kernel.
//!
//! ```
//! use gosteal::{Policy, Runtime, chan, go};
//!
//! // SAFETY: nothing here holds a reference into thread-local storage across a runtime entry.
//! let rt = unsafe { Runtime::builder().procs(2).policy(Policy::go()).build() }?;
//! let sum = rt.block_on(|| {
//!     let (tx, rx) = chan(0);
//!     for n in 1..=10 {
//!         let tx = tx.clone();
//!         go(move || tx.send(n));
//!     }
//!     (0..10).map(|_| rx.recv().unwrap()).sum::<u32>()
//! });
//! assert_eq!(sum, 55);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Names of clauses (RQ-5, FIND-10, ...) refer to the project's specification of Go 1.26's scheduler, which
//! `docs/faithfulness.md` maps to files and tests. Where Rust forces a difference, the file that has it says so.
//!
//! Crate map, imports going left only: `shim`, `limits`, `policy` < `coro` (stacks, the switch) < `task` (a G) <
//! `runq` (ring, global queue, victim order) < `sched` (who runs next) < `prim` (what a G blocks on).

mod coro;
mod limits;
mod policy;
mod prim;
mod runq;
mod sched;
mod shim;
mod task;

pub use coro::stack::Guard;
pub use limits::{
    DEFAULT_STACK_BYTES, FAIRNESS_TICKS, FORCE_PREEMPT_NS, MAX_THREADS, MIN_STACK_BYTES,
};
pub use policy::{NextSteal, Policy, SpinCap, StealAmount, VictimOrder, WakeRule};
pub use prim::chan::{Receiver, Sender, TryRecvError, TrySendError, chan, nil_chan};
pub use prim::handle::{JoinHandle, spawn};
pub use prim::join::join;
pub use prim::scope::{Scope, scope};
pub use sched::deadlock::DeadlockReport;
pub use sched::metrics::Metrics;
pub use sched::park::{checkpoint, yield_now};
pub use sched::runtime::{Builder, Handle, Runtime, Unfinished};
pub use sched::spawn::{go, goexit};
pub use sched::syscall::{blocking, syscall};

/// Sleeping and timeouts.
pub mod time {
    pub use crate::prim::time::{after, sleep};
}

/// Locks and counters that park goroutines, never threads.
pub mod sync {
    pub use crate::prim::mutex::{Mutex, MutexGuard, RawMutex};
    pub use crate::prim::rwlock::{RawRwLock, ReadGuard, RwLock, WriteGuard};
    pub use crate::prim::waitgroup::WaitGroup;
}

/// What the macros expand to.
#[doc(hidden)]
pub mod __private {
    pub use crate::prim::select::{Case, RecvCase, SendCase, select};
}

/// GOMAXPROCS of the runtime that runs the caller, 0 on a plain thread.
#[must_use]
pub fn procs() -> usize {
    sched::park::current().map_or(0, |m| m.sched().procs.len())
}

/// Goroutines that live in the caller's runtime, the caller included; 0 on a plain thread. Spec: DEAD-6.
#[must_use]
pub fn num_goroutine() -> usize {
    sched::park::current().map_or(0, |m| m.sched().snapshot().goroutines as usize)
}

/// Number of the calling goroutine (never reused), `None` on a plain thread. Spec: G-6.
#[must_use]
pub fn goroutine_id() -> Option<u64> {
    sched::park::current().map(|m| {
        let g = m.cur.load(shim::Ordering::Relaxed); // Ordering: own store.
        // SAFETY: the running goroutine is live.
        unsafe { (*g).id.load(shim::Ordering::Relaxed) }
    })
}

/// Number of the worker thread that runs the caller now, `None` on a plain thread. It may differ after every
/// runtime entry.
#[must_use]
pub fn worker_id() -> Option<u32> {
    sched::park::current().map(|m| m.id)
}
