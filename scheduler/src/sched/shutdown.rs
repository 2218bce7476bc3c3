//! How a runtime ends: threads first, then every goroutine that is left, then memory.
//!
//! Go has no such thing: its process ends. A library must give back what it took. Spec: none; FC-22.
//!
//! # Invariants
//! - I1 Goroutines are unwound only when no worker thread is left: nobody else runs them, makes them ready or
//!   reads their queues.
//! - I2 A goroutine that waits for borrowed data to come back (`scope`, `join`) is not cut short: it goes on
//!   when the goroutines that borrow have ended.
//! - I3 Memory is given back only if every goroutine has ended; otherwise all of it stays.
//! # Not here
//! How goroutines end: `undertaker`.

use crate::sched::park::{current, flush_outside};
use crate::sched::runtime::Unfinished;
use crate::sched::state::{M, Sched};
use crate::sched::undertaker::{self, goroutines};
use crate::shim::Ordering::{Acquire, Relaxed, Release};
use crate::shim::heavy_fence;
use crate::task::status;
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long dropping a runtime waits for threads that still run.
pub(crate) const DROP_LIMIT: Duration = Duration::from_secs(1);

/// Ends `sched`. See [`Runtime::shutdown`](crate::Runtime::shutdown).
pub(crate) fn end(sched: &Arc<Sched>, limit: Duration) -> Result<(), Unfinished> {
    let same = current().is_some_and(|m| ptr::eq(m.sched, Arc::as_ptr(sched)));
    assert!(!same, "a runtime cannot be ended by its own goroutine");
    stop_threads(sched);
    flush_outside(); // Whoever passed the gate before the flag was up has started its goroutine.
    let until = Instant::now() + limit;
    let mut live = sched.threads.live.lock();
    let all_gone = sched.threads.none.wait_until(&mut live, until, |&n| n == 0);
    let left = *live as usize;
    drop(live);
    if !all_gone {
        std::mem::forget(sched.clone()); // Its threads still use it (I3).
        let goroutines = on_threads(sched);
        return Err(Unfinished { threads: left, goroutines, waited: limit });
    }
    if undertaker::bury(sched) {
        give_memory_back(sched);
    } else {
        std::mem::forget(sched.clone()); // I3
    }
    Ok(())
}

fn stop_threads(sched: &Sched) {
    let workers: Vec<*const M> = sched.locked(|central| {
        sched.stop.store(true, Release); // Ordering: read under the lock, or at the next look.
        central.idle_m.clear();
        central.workers.iter().map(|m| ptr::from_ref::<M>(m)).collect()
    });
    // A worker that clears a request and then looks at `stop` either sees it up, or has cleared before this fence.
    if sched.light_offers {
        heavy_fence();
    }
    for p in &sched.procs {
        p.preempt.store(true, Relaxed); // Ordering: a request.
    }
    for m in workers {
        // SAFETY: workers live as long as the scheduler (I3 of `state`).
        unsafe { (*m).note.wake() };
    }
    sched.poller.interrupt();
    sched.sysmon.note.wake();
}

/// What still runs on a thread, for the error.
fn on_threads(sched: &Sched) -> Vec<(u64, &'static str)> {
    goroutines(sched)
        .iter()
        // SAFETY: goroutines live as long as the scheduler.
        .map(|&g| unsafe { &*g })
        .filter_map(|g| match g.status.load(Acquire) & !status::SCAN {
            status::RUNNING => Some((g.id.load(Relaxed), "running")),
            status::SYSCALL => Some((g.id.load(Relaxed), "syscall")),
            _ => None,
        })
        .collect()
}

fn give_memory_back(sched: &Sched) {
    flush_outside(); // Nobody still holds a goroutine that was cut short under his hands.
    sched.free.lock().clear();
    sched.free_stacks.lock().clear();
    for p in &sched.procs {
        // SAFETY: no worker is left (I4 of `state`).
        let own = unsafe { &mut *p.own.get() };
        own.free.clear();
        own.stacks.clear();
    }
    // SAFETY: every goroutine has ended (I3), and no thread is left.
    unsafe { undertaker::abandon_all(sched) };
    // SAFETY: every coroutine was abandoned; queues and caches are empty.
    unsafe { sched.pool.lock().unmap() };
}
