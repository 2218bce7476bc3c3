//! Who watches the Ps: time slices, Ps lost in system calls. Spec: SYS-1 to SYS-4, SLICE-1, SLICE-2,
//! RETAKE-1, RETAKE-2. Go: `sysmon`, `retake`.
//!
//! # Invariants
//! - I1 This thread never holds a P.
//! - I2 `Seen` of a P is touched here only.
//! # Not here
//! The poll of SYS-5 (no file descriptors yet), SYS-6 and SYS-8.
//!
//! Difference from Go, permitted by SYS-4: a submission while another P runs wakes sysmon from deep sleep, and so
//! does a worker that comes back from the poller and finds no idle P: our goroutines make few declared system calls,
//! which is what wakes Go's. A P that runs with nobody waiting for it is not watched.

use crate::limits::{
    FORCE_PREEMPT_NS, RETAKE_IDLE_NS, SYSMON_DEEP_SLEEP_NS, SYSMON_IDLE_ROUNDS,
    SYSMON_MAX_SLEEP_NS, SYSMON_MIN_SLEEP_NS,
};
use crate::policy::GoRules;
use crate::sched::real::Outside;
use crate::sched::state::{P, Sched, Seen, pstatus};
use crate::sched::syscall::{in_syscall, retake};
use crate::sched::wake::handoffp;
use crate::shim::Ordering::{Acquire, Relaxed, Release, SeqCst};
use crate::shim::{fence, now};

/// The body of the thread. Returns when the runtime ends.
pub(crate) fn run(sched: &Sched) {
    sched.sysmon.note.bind();
    let (mut idle_rounds, mut delay) = (0u32, SYSMON_MIN_SLEEP_NS);
    loop {
        if idle_rounds == 0 {
            delay = SYSMON_MIN_SLEEP_NS;
        } else if idle_rounds > SYSMON_IDLE_ROUNDS {
            delay = (delay * 2).min(SYSMON_MAX_SLEEP_NS);
        }
        let woken = sched.sysmon.note.sleep_for(delay);
        if sched.stop.load(Acquire) {
            return; // Ordering: pairs with `shutdown`.
        }
        if woken || deep_sleep(sched) {
            idle_rounds = 0;
            delay = SYSMON_MIN_SLEEP_NS;
        }
        if sched.stop.load(Acquire) {
            return; // Ordering: as above.
        }
        let retaken = retake_all(sched, now());
        idle_rounds = if retaken > 0 { 0 } else { idle_rounds + 1 };
    }
}

/// Sleeps while all Ps are idle. `true`: it slept and was woken (not timed out). Spec: SYS-3.
fn deep_sleep(sched: &Sched) -> bool {
    let all_idle = || sched.idle_procs.load(Relaxed) as usize == sched.procs.len(); // Ordering: confirmed below.
    if !all_idle() {
        return false;
    }
    let confirmed = sched.locked(|_| {
        let idle = all_idle();
        if idle {
            sched.sysmon.deep.store(true, Release); // Ordering: the lock; `rouse_sysmon` swaps it.
        }
        idle
    });
    if !confirmed {
        return false;
    }
    let first = sched.procs.iter().map(|p| p.timers.deadline()).filter(|&d| d != 0).min();
    let sleep = first.map_or(SYSMON_DEEP_SLEEP_NS, |t| t.saturating_sub(now()));
    let woken = sleep > 0 && sched.sysmon.note.sleep_for(sleep.min(SYSMON_DEEP_SLEEP_NS));
    sched.sysmon.deep.store(false, Release); // Ordering: as above.
    woken
}

impl Sched {
    /// Wakes sysmon from deep sleep. Cheap when it is awake.
    pub(crate) fn rouse_sysmon(&self) {
        // Ordering: Relaxed look, then one winner wakes.
        if self.sysmon.deep.load(Relaxed) && self.sysmon.deep.swap(false, SeqCst) {
            self.sysmon.note.wake();
        }
    }
}

/// One round over the Ps; returns how many were retaken. Spec: RETAKE-1, SLICE-1.
fn retake_all(sched: &Sched, now: u64) -> u32 {
    sched.procs.iter().map(|p| u32::from(look_at(sched, p, now))).sum()
}

fn look_at(sched: &Sched, p: &P, now: u64) -> bool {
    if p.status.load(Acquire) != pstatus::RUNNING {
        return false; // Ordering: pairs with `take_p`.
    }
    // SAFETY: I2.
    let seen = unsafe { &mut *p.seen.get() };
    let slice_over = slice_is_over(sched, p, seen, now);
    if !in_syscall(p) {
        return false;
    }
    // RETAKE-1 (1)
    let tick = p.syscall_tick.load(Relaxed); // Ordering: a hint, compared with itself.
    if !slice_over && seen.syscall_tick != tick {
        seen.syscall_tick = tick;
        seen.syscall_at = now;
        return false;
    }
    let since = now - seen.syscall_at;
    let taken = retake(p, || {
        // RETAKE-1 (2): nothing waits for it, and somebody could take new work.
        fence(SeqCst); // Orders the looks below after the CAS that keeps the goroutine in the call.
        let spare = sched.spinners.load(Relaxed) + sched.idle_procs.load(Relaxed) > 0;
        !(p.ring.is_empty() && spare && since < RETAKE_IDLE_NS)
    });
    if taken {
        sched.count.retakes.fetch_add(1, Relaxed); // Ordering: a number for people.
        hand_off(sched, p);
    }
    taken
}

/// Spec: SLICE-1: ten milliseconds in one tick: asks whoever runs there to yield.
fn slice_is_over(sched: &Sched, p: &P, seen: &mut Seen, now: u64) -> bool {
    let tick = p.tick.load(Relaxed); // Ordering: a hint, compared with itself.
    if seen.tick != tick || seen.tick_at == 0 {
        seen.tick = tick;
        seen.tick_at = now;
        return false;
    }
    let over = now - seen.tick_at >= FORCE_PREEMPT_NS;
    if over && sched.policy.preempt {
        p.preempt.store(true, Relaxed); // Ordering: a request, honoured at the next entry.
    }
    over
}

fn hand_off(sched: &Sched, p: &P) {
    if sched.is_go {
        handoffp(&Outside { sched, rules: &GoRules }, p);
    } else {
        handoffp(&Outside { sched, rules: &sched.policy }, p);
    }
}
