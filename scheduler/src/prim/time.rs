//! Sleeping and timeouts. Spec: TIMER-5, TIMER-17. Go: `time.Sleep`, `time.After`.
//!
//! # Not here
//! Stop and reset: `Timer` and `Ticker` with the channel semantics of Go 1.23.

use crate::prim::chan::{Receiver, chan};
use crate::sched::park::{Parked, current, end_here, enter, park};
use crate::sched::real::with_rules;
use crate::sched::state::M;
use crate::sched::timers::Due;
use crate::sched::wake::wake_poller;
use crate::shim::now;
use crate::task::{G, WaitReason};
use std::time::{Duration, Instant};

fn deadline(after: Duration) -> u64 {
    now().saturating_add(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX))
}

/// Parks the goroutine for at least `d`. At `d` = 0 it returns at once, without yielding. On a plain thread
/// it blocks the thread.
pub fn sleep(d: Duration) {
    if d.is_zero() {
        return;
    }
    if enter().is_none() {
        return std::thread::sleep(d);
    }
    let mut when = deadline(d);
    // SAFETY: nothing protects the wait; the timer added by the commit is the one waker.
    let parked = unsafe { park(WaitReason::Sleep, true, arm_sleep, (&raw mut when).cast()) };
    if parked == Parked::Ending && now() < when {
        end_here();
    }
}

/// The timer is armed after the goroutine is off its thread, so it cannot fire too early. Spec: TIMER-17.
unsafe fn arm_sleep(g: *mut G, when: *mut ()) -> bool {
    // SAFETY: `sleep` passes its own local, live until the goroutine is made ready.
    let when = unsafe { *when.cast::<u64>() };
    let m = current().expect("M-3: a commit without a worker");
    add(m, when, Due::Ready(g));
    true
}

fn add(m: &M, when: u64, due: Due) {
    let sched = m.sched();
    sched.poller.make_used();
    if m.held().timers.add(when, due) {
        with_rules!(m, |w| wake_poller(w.outside(), when));
    }
}

/// A channel that receives the time once, `d` from now. The timer runs on even if nobody listens.
///
/// # Panics
/// On a plain thread.
#[must_use]
pub fn after(d: Duration) -> Receiver<Instant> {
    let m = enter().expect("gosteal::time::after on a plain thread");
    let (tx, rx) = chan(1);
    let due = Due::Call(Box::new(move || {
        let _ = tx.try_send(Instant::now()); // Room for one, sent once.
    }));
    add(m, deadline(d), due);
    rx
}
