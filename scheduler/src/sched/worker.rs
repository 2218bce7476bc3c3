//! The life of a worker thread: find a goroutine, run it, do what it asked for when it left.
//! Spec: SCHED-1, EXEC-1, PARK-1, EXIT-1, LOCK-2, LOCK-3, M-5. Go: `mstart`, `schedule`, `execute`, `newm`.
//!
//! # Invariants
//! - I1 This code runs on the thread's own stack (Go's g0), never on a goroutine's.
//! - I2 After a park's commit the goroutine is no longer ours: it may already run elsewhere.
//! # Not here
//! Which goroutine: `find`.

use crate::policy::Rules;
use crate::prim::join;
use crate::sched::find::{Found, find_runnable};
use crate::sched::park::{Action, Commit, put, set_current};
use crate::sched::real::{Worker, with_rules};
use crate::sched::state::{Central, M, Sched};
use crate::sched::wake::{handoffp, reset_spinning, wakep};
use crate::sched::world::World;
use crate::sched::{deadlock, spawn};
use crate::shim::Ordering::{Acquire, Relaxed, Release};
use crate::task::{G, status};
use std::ptr;

/// Makes a worker under the scheduler's lock; its thread is launched after. Spec: WAKE-2, M-5.
pub(crate) fn reserve(sched: &Sched, central: &mut Central) -> *const M {
    if central.workers.len() >= sched.max_threads as usize {
        deadlock::fatal(&[
            &format!("runtime: program exceeds {}-thread limit", sched.max_threads),
            "fatal error: thread exhaustion",
        ]);
    }
    add(sched, central)
}

/// Makes a worker without asking for the limit: the end of the runtime needs one when all have gone.
pub(crate) fn add(sched: &Sched, central: &mut Central) -> *const M {
    let id = central.workers.len() as u32;
    central.workers.push(Box::new(M::new(id, sched)));
    ptr::from_ref::<M>(&central.workers[id as usize])
}

/// Starts the thread of a reserved worker, whose next P is set.
pub(crate) fn launch(m: &M) {
    struct ToThread(*const M);
    // SAFETY: workers are shared between threads by design (`M: Sync`) and outlive them (I3 of `state`).
    unsafe impl Send for ToThread {}
    let name = format!("gosteal-m{}", m.id);
    let m = ToThread(m);
    let spawned = std::thread::Builder::new().name(name).spawn(move || {
        let m = { m }.0;
        // SAFETY: as above.
        let m = unsafe { &*m };
        run(m);
        m.sched().threads.leave();
    });
    if let Err(e) = spawned {
        deadlock::fatal(&[
            &format!(
                "runtime: failed to create new OS thread ({e}); see ulimit -u and the cgroup's pids.max"
            ),
            "fatal error: newosproc",
        ]);
    }
}

fn run(m: &M) {
    m.note.bind();
    set_current(Some(m));
    if m.take_next_p() {
        with_rules!(m, |w| schedule_loop(&w));
    }
    set_current(None);
    let sched = m.sched();
    sched.locked(|central| {
        if let Some(p) = m.p() {
            // The runtime ends: the P keeps its queue, the undertaker will empty it.
            p.m.store(ptr::null_mut(), Release);
            m.p.store(ptr::null_mut(), Release);
        }
        central.ended += 1;
    });
}

/// Spec: SCHED-1. Returns when the runtime ends.
fn schedule_loop<L: Rules>(w: &Worker<'_, L>) {
    loop {
        let (g, inherit) = match next_to_run(w) {
            Some(next) => next,
            None => return,
        };
        let mut next = Some((g, inherit));
        while let Some((g, inherit)) = next {
            next = match execute(w, g, inherit) {
                After::Schedule => None,
                After::Run(g, inherit) => Some((g, inherit)),
                After::Stop => return,
            };
        }
    }
}

fn next_to_run<L: Rules>(w: &Worker<'_, L>) -> Option<(*mut G, bool)> {
    let m = w.m;
    loop {
        let mine = m.locked_g.load(Relaxed); // Ordering: written by this thread.
        if !mine.is_null() {
            return run_locked(w, mine).map(|()| (mine, false));
        }
        let p = m.held();
        // Ordering: Relaxed: own P; a request that this clears was aimed at who has left (SLICE-3).
        p.preempt.store(false, Relaxed);
        let (g, inherit) = match find_runnable(w) {
            Found::Run { g, inherit } => (g, inherit),
            Found::Stop => return None,
        };
        if w.is_spinning() {
            reset_spinning(w);
        }
        // SAFETY: a goroutine out of a queue is live and ours.
        let owner = unsafe { (*g).locked_m.get() }.cast::<M>();
        if owner.is_null() || ptr::eq(owner, m) {
            return Some((g, inherit));
        }
        // LOCK-3: its thread gets this P, we wait for another.
        // SAFETY: workers outlive the scheduler's use of them (I3 of `state`).
        if !give_p_to(w, unsafe { &*owner }) {
            return None;
        }
    }
}

/// Spec: SCHED-1 (2), LOCK-2: this thread may run only `mine`, which does not run now. Waits until somebody
/// dequeued it and handed a P over. `None`: the runtime ends.
fn run_locked<L: Rules>(w: &Worker<'_, L>, mine: *mut G) -> Option<()> {
    let m = w.m;
    // SAFETY: live; made runnable only by its waker.
    let _ = unsafe { (*mine).status.load(Acquire) };
    if let Some(p) = m.p() {
        p.m.store(ptr::null_mut(), Release); // Ordering: sysmon's look.
        m.p.store(ptr::null_mut(), Release);
        m.sched().locked(|central| central.idle_locked += 1);
        handoffp(w.hub(), p);
    }
    deadlock::check(m.sched());
    loop {
        m.note.sleep();
        if m.take_next_p() {
            return Some(());
        }
        if w.stop_pending() {
            return None;
        }
    }
}

/// Spec: LOCK-3. `false`: the runtime ends.
fn give_p_to<L: Rules>(w: &Worker<'_, L>, owner: &M) -> bool {
    let p = w.m.held();
    p.m.store(ptr::null_mut(), Release); // Ordering: sysmon's look.
    w.m.p.store(ptr::null_mut(), Release);
    w.m.sched().locked(|central| central.idle_locked -= 1);
    owner.sched().count.starting.fetch_add(1, Relaxed); // Ordering: a number for people.
    owner.next_p.store(ptr::from_ref(p).cast_mut(), Release); // Ordering: published by the note.
    owner.note.wake();
    w.stop_worker()
}

/// What the worker does once the goroutine has left.
enum After {
    Schedule,
    Run(*mut G, bool),
    Stop,
}

/// Spec: EXEC-1.
#[inline]
fn execute<L: Rules>(w: &Worker<'_, L>, g: *mut G, inherit: bool) -> After {
    let m = w.m;
    let p = m.held();
    if !inherit {
        p.tick.store(p.tick.load(Relaxed).wrapping_add(1), Relaxed); // Ordering: one writer; hints.
    }
    enter(m, g);
    // SAFETY: just stopped, still ours. Ordering: written by the goroutine on this thread.
    if unsafe { !(*g).jobs.load(Relaxed).is_null() } {
        // SAFETY: as above.
        unsafe { join::promote(w, g) };
    }
    match m.action.replace(Action::None) {
        Action::Park { commit, arg } => {
            // SAFETY: off its stack, ours; `park`'s contract (1).
            if unsafe { commit_park(g, commit, arg) } {
                return After::Schedule; // I2
            }
            // DEST-12
            // SAFETY: the commit gave it back.
            unsafe { (*g).status.store(status::RUNNABLE, Relaxed) };
            After::Run(g, true)
        }
        Action::Exit => {
            spawn::retire(m, g);
            After::Schedule
        }
        Action::Yield | Action::Preempted => {
            // SAFETY: off its stack, ours, on no queue.
            unsafe { (*g).status.store(status::RUNNABLE, Release) };
            let sched = m.sched();
            // SAFETY: as above.
            sched.locked(|central| unsafe { sched.push_global(central, g) });
            wakep(w.hub(), true);
            After::Schedule
        }
        Action::YieldLocal => {
            // SAFETY: off its stack, ours, on no queue.
            unsafe { (*g).status.store(status::RUNNABLE, Release) };
            put(w, m.held(), g, false);
            After::Schedule
        }
        Action::SyscallExit => syscall_exit_without_p(w, g),
        Action::None => panic!("SCHED: a goroutine left without saying why"),
    }
}

/// Waiting from here on; then the commit, which publishes it. Spec: PARK-1, PARK-2. `false`: it goes on.
///
/// # Safety
/// 1. `g` is off its stack and ours; `commit` and `arg` are from `park`.
#[inline]
pub(crate) unsafe fn commit_park(g: *mut G, commit: Commit, arg: *mut ()) -> bool {
    // SAFETY: (1). Ordering: Release: who makes it ready may look before it acquires anything of ours.
    unsafe { (*g).status.store(status::WAITING, Release) };
    // SAFETY: (1).
    unsafe { commit(g, arg) }
}

/// Runs `g` on this thread until it leaves. The worker holds a P before; it may hold another, or none, after.
#[inline]
pub(crate) fn enter(m: &M, g: *mut G) {
    let p = m.held();
    // SAFETY: `g` came out of a queue: it is live and ours (G-3); its cells are ours while it runs.
    unsafe {
        if (*g).stack.get().is_null() {
            spawn::bind_stack(m.sched(), p, g);
        }
        (*g).m.store(ptr::from_ref(m).cast_mut().cast(), Relaxed); // Ordering: sysmon re-validates.
        (*g).status.store(status::RUNNING, Release);
        p.forks.store((*g).jobs.load(Relaxed), Release); // Ordering: thieves read what it points to.
        m.cur.store(g, Release); // Ordering: sysmon's and thieves' look.
        (*g).enter();
        m.cur.store(ptr::null_mut(), Release); // Ordering: as above.
    }
}

/// Spec: SC-6: an idle P after all, else the global tail and this thread parks.
fn syscall_exit_without_p<L: Rules>(w: &Worker<'_, L>, g: *mut G) -> After {
    let sched = w.m.sched();
    // SAFETY: off its stack, ours.
    unsafe { (*g).status.store(status::RUNNABLE, Release) };
    // SAFETY: as above.
    let locked = unsafe { !(*g).locked_m.get().is_null() };
    let idle = sched.locked(|central| {
        let idle = sched.take_idle(central);
        if idle.is_none() {
            if locked {
                central.idle_locked += 1;
            }
            // SAFETY: runnable and on no queue.
            unsafe { sched.push_global(central, g) };
        }
        idle
    });
    if let Some(p) = idle {
        w.acquire(p);
        return After::Run(g, false);
    }
    if locked {
        return After::Schedule; // `next_to_run` waits as the owner of a locked goroutine.
    }
    if w.stop_worker() { After::Schedule } else { After::Stop }
}

impl crate::sched::state::Threads {
    /// One more thread lives.
    pub(crate) fn enter(&self) {
        *self.live.lock() += 1;
    }
    /// One less; the last wakes who waits.
    pub(crate) fn leave(&self) {
        let mut live = self.live.lock();
        *live -= 1;
        if *live == 0 {
            self.none.notify_all();
        }
    }
}
