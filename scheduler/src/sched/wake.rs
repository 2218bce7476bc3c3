//! Must somebody be woken, and who? Spec: §5 (SPIN-*, WAKE-*). Go: `wakep`, `startm`, `handoffp`,
//! `injectglist`, `wakeNetPoller`, `resetspinning`.
//!
//! # Invariants
//! - I1 Work conservation (SPIN-7): no lasting state has a runnable goroutine and an idle P.
//! # Edges
//! - F1 (submitter, [`wakep`]) pairs with F2 (`World::leave_fence` in `find`): store buffering. If F1 is
//!   first in the fence order, the leaving spinner's re-check sees the work; if F2 is, the submitter reads
//!   the decrement and starts a spinner itself (SPIN-9).
//! # Not here
//! How a worker is started: `real`.

use crate::policy::Rules;
use crate::sched::world::{Hub, World};

/// Work was published: starts a spinning worker if nobody searches and a P is idle. Spec: WAKE-1.
///
/// Two tests before the lock leave Go's outcome as it is. With one P, held by the caller, there is no idle
/// P to start: the first call sets needspinning (SPIN-6) and later ones have nothing to change. With all Ps
/// busy and needspinning already set, the next worker that would go idle searches instead: it clears the
/// flag only after our load, so its own re-check (after F2) comes after F1 and sees the work.
#[inline]
pub(crate) fn wakep<H: Hub>(hub: &H, holds_p: bool) {
    hub.rouse_watch();
    if holds_p && hub.procs() == 1 && hub.need_spinning() {
        return;
    }
    hub.fence(); // F1
    if hub.rules().quiet_while_spinning() && hub.spinners() != 0 {
        return;
    }
    if hub.idle_procs() == 0 && (hub.need_spinning() || !hub.rules().needspinning()) {
        return;
    }
    wakep_slow(hub);
}

#[cold]
fn wakep_slow<H: Hub>(hub: &H) {
    if hub.rules().quiet_while_spinning() {
        if !hub.first_spinner() {
            return;
        }
    } else {
        hub.add_spinner();
    }
    hub.lock();
    let idle = locked_take_idle_for_spinning(hub);
    hub.unlock();
    match idle {
        Some(p) => hub.start_worker(p, true),
        None => hub.drop_spinner(),
    }
}

/// Takes an idle P on behalf of spinning work; none: the next worker to go idle is asked to spin.
/// Spec: SPIN-6.
pub(crate) fn locked_take_idle_for_spinning<H: Hub>(hub: &H) -> Option<H::P> {
    let idle = hub.locked_take_idle();
    if idle.is_none() && hub.rules().needspinning() {
        hub.set_need_spinning(true);
    }
    idle
}

/// Spec: SPIN-3.
pub(crate) fn become_spinning<W: World>(w: &W) {
    w.set_spinning(true);
    w.hub().add_spinner();
    w.hub().set_need_spinning(false);
}

/// A spinner found work: leaves the state and hands the search on. Spec: SPIN-4, SPIN-5.
pub(crate) fn reset_spinning<W: World>(w: &W) {
    w.set_spinning(false);
    w.hub().drop_spinner();
    wakep(w.hub(), true);
}

/// A P lost its worker: somebody must run it, in every state in which `find` would find work for it.
/// Spec: WAKE-3, WAKE-4.
pub(crate) fn handoffp<H: Hub>(hub: &H, p: H::P) {
    if hub.has_work(p) || !hub.global_looks_empty() {
        return hub.start_worker(p, false); // (1)
    }
    if hub.spinners() + hub.idle_procs() == 0 && hub.first_spinner() {
        hub.set_need_spinning(false);
        return hub.start_worker(p, true); // (4)
    }
    hub.lock();
    if !hub.locked_global_is_empty() {
        hub.unlock();
        return hub.start_worker(p, false); // (6)
    }
    if hub.idle_procs() + 1 == hub.procs() && !hub.poller_is_occupied() {
        hub.unlock();
        return hub.start_worker(p, false); // (7)
    }
    let deadline = hub.timer_deadline(p);
    hub.locked_put_idle(p);
    hub.unlock(); // (8)
    if deadline != 0 {
        wake_poller(hub, deadline);
    }
}

/// A deadline came nearer: whoever sleeps in the poller must not oversleep it. Spec: WAKE-5.
pub(crate) fn wake_poller<H: Hub>(hub: &H, when: u64) {
    hub.fence(); // Orders the timer's publication before the two looks; pairs with F2 (SPIN-12).
    if hub.poller_is_occupied() {
        let until = hub.poll_until();
        if until == 0 || until > when {
            hub.break_poll();
        }
    } else {
        wakep(hub, false);
    }
}

/// Puts goroutines, already runnable, where a caller without a P can: the global tail; starts up to that
/// many workers. Spec: INJ-1.
pub(crate) fn inject<H: Hub>(hub: &H, batch: &[H::G]) {
    hub.lock();
    batch.iter().for_each(|&g| hub.locked_push_global(g));
    hub.unlock();
    for _ in batch {
        hub.lock();
        let idle = locked_take_idle_for_spinning(hub);
        hub.unlock();
        match idle {
            Some(p) => hub.start_worker(p, false),
            // Whoever holds the Ps must give way in time (SLICE-1), also if they were started while the
            // watcher slept.
            None => return hub.rouse_watch(),
        }
    }
}
