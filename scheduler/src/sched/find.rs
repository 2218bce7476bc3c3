//! Which goroutine does this worker run next? Spec: §4 (FIND-1 to FIND-18, STEAL-1 to STEAL-8).
//! Go: `findRunnable`, `stealWork`, `checkRunqsNoP`, `checkTimersNoP`.
//!
//! # Invariants
//! - I1 The order of looking is the specification's; `find_tests` compares the sequence of operations with
//!   FIND-1 to FIND-18 step by step.
//! - I2 A worker that left the spinning state looks at every queue again after F2 (SPIN-8), one that was
//!   not spinning does not (SPIN-10).
//! # Not here
//! FIND-3, 4, 6, 12 (tracer, collector, finalisers) are omitted, as the specification allows. In the place
//! of FIND-12's idle hook stands the search for forks, which Go does not have (`prim::join`).

use crate::policy::Rules;
use crate::sched::wake::{become_spinning, locked_take_idle_for_spinning};
use crate::sched::world::{Hub, Rob, World};

/// What to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found<G> {
    /// `inherit`: in the time slice already begun (no tick).
    Run { g: G, inherit: bool },
    /// The runtime ends.
    Stop,
}

fn fresh<G>(g: G) -> Found<G> {
    Found::Run { g, inherit: false }
}

/// Blocks until there is something to run. The worker holds a P at entry and at exit (but for `Stop`).
pub(crate) fn find_runnable<W: World>(w: &W) -> Found<W::G> {
    loop {
        if w.stop_pending() {
            return Found::Stop; // FIND-1
        }
        let mut poll_until = w.run_own_timers().next; // FIND-2
        if let Some(found) = look_near(w) {
            return found;
        }
        // FIND-10
        let hub = w.hub();
        let busy = hub.procs() - hub.idle_procs();
        if w.is_spinning() || hub.rules().may_spin(hub.spinners(), busy, hub.procs()) {
            if !w.is_spinning() {
                become_spinning(w);
            }
            match steal_work(w, &mut poll_until) {
                Stolen::Work(found) => return found,
                Stolen::LookAgain => continue,
                Stolen::Nothing => {}
            }
        }
        match give_up_p(w) {
            GiveUp::Work(g) => return fresh(g),
            GiveUp::LookAgain => continue,
            GiveUp::Gone => {}
        }
        if let Some(found) = rest_without_p(w, poll_until) {
            return found;
        }
    }
}

/// FIND-5 to FIND-9: what can be had without robbing anybody.
#[inline]
fn look_near<W: World>(w: &W) -> Option<Found<W::G>> {
    let hub = w.hub();
    // FIND-5, GQ-5.
    let due = hub.rules().fairness_due(w.tick()) && !hub.global_looks_empty();
    if let Some(g) = due.then(|| w.global_one()).flatten() {
        return Some(fresh(g));
    }
    // FIND-7
    if let Some(g) = w.take_next() {
        return Some(Found::Run { g, inherit: true });
    }
    if let Some(g) = w.pop() {
        return Some(fresh(g));
    }
    // FIND-8
    if !hub.global_looks_empty() {
        hub.lock();
        let g = w.locked_global_batch();
        hub.unlock();
        if let Some(g) = g {
            return Some(fresh(g));
        }
    }
    w.poll_now().map(fresh) // FIND-9
}

enum Stolen<G> {
    Work(Found<G>),
    LookAgain,
    Nothing,
}

/// FIND-11, STEAL-*: four passes over all Ps, the last with timers and runnext; then forks.
fn steal_work<W: World>(w: &W, poll_until: &mut u64) -> Stolen<W::G> {
    let mut ran_timers = false;
    for pass in 1..=crate::limits::STEAL_PASSES {
        let last = pass == crate::limits::STEAL_PASSES;
        for p in w.walk() {
            if w.stop_pending() {
                return Stolen::LookAgain; // STEAL-3
            }
            if p == w.proc_id() {
                continue;
            }
            if last && w.may_have_timers(p) {
                let timed = w.run_timers_of(p); // STEAL-5 (1)
                *poll_until = earlier(*poll_until, timed.next);
                if timed.ran {
                    ran_timers = true;
                    if let Some(g) = w.take_next() {
                        return Stolen::Work(Found::Run { g, inherit: true });
                    }
                    if let Some(g) = w.pop() {
                        return Stolen::Work(fresh(g));
                    }
                }
            }
            if !w.is_idle(p) {
                let what = if last { Rob::RingThenNext } else { Rob::Ring };
                if let Some(g) = w.rob(p, what) {
                    return Stolen::Work(fresh(g)); // STEAL-7
                }
            }
        }
    }
    if ran_timers {
        return Stolen::LookAgain; // STEAL-6
    }
    match steal_fork(w) {
        Some(g) => Stolen::Work(fresh(g)),
        None => Stolen::Nothing,
    }
}

fn steal_fork<W: World>(w: &W) -> Option<W::G> {
    if !w.forks_in_use() {
        return None;
    }
    w.walk().filter(|&p| p != w.proc_id()).find_map(|p| w.rob_fork(p))
}

/// The earlier of two deadlines, 0 being none.
fn earlier(a: u64, b: u64) -> u64 {
    match (a, b) {
        (0, t) | (t, 0) => t,
        (a, b) => a.min(b),
    }
}

enum GiveUp<G> {
    Work(G),
    LookAgain,
    Gone,
}

/// FIND-14: under the lock, either something turns up or the P is idle afterwards.
fn give_up_p<W: World>(w: &W) -> GiveUp<W::G> {
    let hub = w.hub();
    hub.lock();
    if w.stop_pending() {
        hub.unlock();
        return GiveUp::LookAgain;
    }
    if let Some(g) = w.locked_global_batch() {
        hub.unlock();
        return GiveUp::Work(g);
    }
    if !w.is_spinning() && hub.need_spinning() {
        become_spinning(w);
        hub.unlock();
        return GiveUp::LookAgain;
    }
    w.locked_release();
    hub.unlock();
    GiveUp::Gone
}

/// FIND-15 to FIND-18. `None`: a P was acquired (or the runtime ends), look again from the top.
fn rest_without_p<W: World>(w: &W, mut poll_until: u64) -> Option<Found<W::G>> {
    let was_spinning = w.is_spinning();
    if was_spinning {
        w.set_spinning(false);
        w.hub().drop_spinner();
        w.leave_fence(); // F2, pairs with F1 in `wake`.
        match recheck_queues(w) {
            Recheck::Work(g) => return Some(fresh(g)),
            Recheck::HaveP => return None,
            Recheck::Nothing => {}
        }
        poll_until = recheck_deadlines(w, poll_until); // (d)
    } else if w.forks_in_use() {
        // Ours: an offer of a fork does not set needspinning, so that it stays cheap; in exchange every
        // worker that goes idle looks once at the offers.
        w.leave_fence();
        if any_fork(w) && acquire_idle_to_spin(w) {
            return None;
        }
    }
    // FIND-16
    if w.enter_poll(poll_until) {
        w.block_in_poll(poll_until);
        let hub = w.hub();
        hub.lock();
        let idle = hub.locked_take_idle();
        hub.unlock();
        if let Some(p) = idle {
            w.acquire(p);
            if was_spinning {
                become_spinning(w);
            }
            return None;
        }
        hub.rouse_watch(); // Whose timer it was waits for a P: time slices must be watched (SYS-4).
    } else if poll_until != 0 && w.hub().poller_is_occupied() {
        // FIND-17
        let until = w.hub().poll_until();
        if until == 0 || until > poll_until {
            w.hub().break_poll();
        }
    }
    // FIND-18
    if w.stop_worker() { None } else { Some(Found::Stop) }
}

enum Recheck<G> {
    Work(G),
    HaveP,
    Nothing,
}

/// FIND-15 (a), (b): what was submitted while we were leaving.
fn recheck_queues<W: World>(w: &W) -> Recheck<W::G> {
    let hub = w.hub();
    if !hub.global_looks_empty() {
        hub.lock();
        let some = !hub.locked_global_is_empty();
        if let Some(p) = some.then(|| locked_take_idle_for_spinning(hub)).flatten() {
            w.acquire(p);
            let g = w.locked_global_batch();
            hub.unlock();
            become_spinning(w);
            return g.map_or(Recheck::HaveP, Recheck::Work);
        }
        hub.unlock();
    }
    for p in 0..hub.procs() {
        if !w.is_idle(p) && !w.queue_is_empty(p) {
            return if acquire_idle_to_spin(w) { Recheck::HaveP } else { Recheck::Nothing };
        }
    }
    if w.forks_in_use() && any_fork(w) && acquire_idle_to_spin(w) {
        return Recheck::HaveP;
    }
    Recheck::Nothing
}

fn any_fork<W: World>(w: &W) -> bool {
    (0..w.hub().procs()).any(|p| w.has_fork(p))
}

/// Takes an idle P and spins; none: needspinning asks somebody else to.
fn acquire_idle_to_spin<W: World>(w: &W) -> bool {
    let hub = w.hub();
    hub.lock();
    let idle = locked_take_idle_for_spinning(hub);
    hub.unlock();
    idle.is_some_and(|p| {
        w.acquire(p);
        become_spinning(w);
        true
    })
}

/// FIND-15 (d): the earliest deadline of all Ps that may have timers.
fn recheck_deadlines<W: World>(w: &W, known: u64) -> u64 {
    (0..w.hub().procs())
        .filter(|&p| w.may_have_timers(p))
        .fold(known, |until, p| earlier(until, w.deadline_of(p)))
}
