//! How a goroutine stops running and becomes ready again. Spec: PARK-*, READY-1, YIELD-1, DEST-1..6.
//! Go: `gopark`, `goready`, `Gosched`, `goyield`, `runqput`.
//!
//! # Invariants
//! - I1 A wait structure's lock is released by the commit, on the scheduler's stack, after the switch
//!   (PARK-2): a waker never meets a half-saved context.
//! - I2 The commit does not touch the goroutine or its stack after that release (PARK-3).
//! - I3 A goroutine that leaves while it unwinds stays with its thread: the standard library counts panics
//!   per thread.
//! # Edges
//! - What a waker wrote before `ready` is seen by the goroutine after `park`: by the queue's edges.
//! # Not here
//! Who is woken to run it: `wake`. What is waited for: `prim`.

use crate::policy::Rules;
use crate::sched::real::{Outside, Worker, with_rules};
use crate::sched::state::{M, P, Sched};
use crate::sched::wake::{inject, wakep};
use crate::shim::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::shim::{RwLock, Thread, current_thread, park_thread};
use crate::task::{G, WaitReason, status};
use std::cell::Cell;
use std::panic::resume_unwind;
use std::ptr;

/// Runs on the scheduler's stack once the goroutine is off its thread; `false`: it must go on at once.
pub(crate) type Commit = unsafe fn(*mut G, *mut ()) -> bool;

/// What a goroutine asked for when it left its thread.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    None,
    /// Spec: PARK-1.
    Park {
        commit: Commit,
        arg: *mut (),
    },
    /// To the global tail. Spec: DEST-3.
    Yield,
    /// To the global tail, the slice being over. Spec: DEST-4.
    Preempted,
    /// To the own ring's tail. Spec: DEST-6.
    YieldLocal,
    /// Back from a system call without a P. Spec: SC-6.
    SyscallExit,
    /// The closure has ended. Spec: EXIT-1.
    Exit,
}

/// How a park ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parked {
    /// Somebody made us ready.
    Ready,
    /// The runtime ends: leave the wait structure, then call [`end_here`].
    Ending,
}

/// The payload with which goroutines unwind at the end of the runtime.
pub(crate) struct Ending;

thread_local! {
    static CURRENT: Cell<*const M> = const { Cell::new(ptr::null()) };
}

/// The worker that runs the caller, if the caller is a goroutine (or the scheduler itself).
///
/// Never inlined, and the read is opaque: a caller that was moved to another thread by a switch must not
/// see the old thread's answer (FC-31).
#[inline(never)]
pub(crate) fn current() -> Option<&'static M> {
    let m = CURRENT.with(|c| std::hint::black_box(c.get()));
    // SAFETY: set by the worker's own thread to a live worker, cleared before it ends.
    unsafe { m.as_ref() }
}

/// Makes `m` the calling thread's worker, or none.
#[inline(never)]
pub(crate) fn set_current(m: Option<&M>) {
    CURRENT.with(|c| c.set(m.map_or(ptr::null(), ptr::from_ref)));
}

/// Every runtime entry of a goroutine begins here: honours a pending preemption (PREEMPT-R3), or the end of
/// the runtime. `None` on a plain thread.
#[inline]
pub(crate) fn enter() -> Option<&'static M> {
    let m = current()?;
    // Ordering: Relaxed: a request; a late look honours it at the next entry.
    if m.held().preempt.load(Relaxed) {
        return enter_slow(m);
    }
    Some(m)
}

#[cold]
fn enter_slow(m: &'static M) -> Option<&'static M> {
    // A timer's callback, on the scheduler's stack (TIMER-10): there is nobody to stop. Ordering: own store.
    if m.cur.load(Relaxed).is_null() {
        return Some(m);
    }
    if is_ending(m) {
        if !panicking() {
            end_here();
        }
        return Some(m);
    }
    // Ordering: Relaxed, as in `enter`.
    m.held().preempt.store(false, Relaxed);
    m.held().count.preempted.add(1);
    // SAFETY: we run on this goroutine's stack.
    unsafe { leave(m, Action::Preempted) };
    enter() // The runtime may have ended meanwhile.
}

/// Whether the calling thread unwinds. Never inlined: the compiler must not keep the counter's address across a
/// switch (FC-31).
#[inline(never)]
fn panicking() -> bool {
    std::hint::black_box(std::thread::panicking())
}

/// Whether the goroutine that `m` runs is being ended with its runtime.
pub(crate) fn is_ending(m: &M) -> bool {
    let g = m.cur.load(Relaxed); // Ordering: own thread's store.
    // SAFETY: the running goroutine is live. Ordering: set before it was resumed.
    unsafe { (*g).unwind.load(Relaxed) }
}

/// Unwinds the goroutine: the runtime ends. Does not run the panic hook.
#[cold]
pub(crate) fn end_here() -> ! {
    resume_unwind(Box::new(Ending))
}

/// Switches to the scheduler with `action`; returns when the goroutine runs again, maybe elsewhere.
///
/// # Safety
/// 1. The caller runs on the stack of the goroutine that `m` runs.
pub(crate) unsafe fn leave(m: &M, action: Action) {
    let g = m.cur.load(Relaxed); // Ordering: own thread's store.
    m.action.set(action);
    if panicking() {
        // I3
        // SAFETY: `g` is running here, so its cells and the worker's are ours.
        unsafe {
            let before = (*g).locked_m.replace(ptr::from_ref(m) as *mut ());
            m.locked_g.store(g, Relaxed); // Ordering: read by this thread; others after a queue edge.
            (*g).leave();
            if before.is_null() {
                (*g).locked_m.set(ptr::null_mut());
                m.locked_g.store(ptr::null_mut(), Relaxed); // Ordering: as above.
            }
        }
        return;
    }
    // SAFETY: (1).
    unsafe { (*g).leave() }
}

/// The caller's goroutine, or the stand-in of a plain thread.
pub(crate) fn me() -> *mut G {
    me_on(current())
}

/// [`me`], on the worker that the caller has just asked for.
pub(crate) fn me_on(m: Option<&M>) -> *mut G {
    match m {
        Some(m) => m.cur.load(Relaxed), // Ordering: own thread's store.
        None => Outsider::mine(),
    }
}

/// Stops the caller until somebody calls [`ready`] for it. Spec: PARK-1.
///
/// # Safety
/// 1. `commit(me, arg)` releases what protects the wait structure, and obeys I2.
/// 2. The caller is recorded in that structure, and exactly one waker will take it out.
pub(crate) unsafe fn park(
    reason: WaitReason,
    interruptible: bool,
    commit: Commit,
    arg: *mut (),
) -> Parked {
    // SAFETY: the caller's.
    unsafe { park_on(current(), reason, interruptible, commit, arg) }
}

/// [`park`], on the worker that the caller has asked for since it last ran anew.
///
/// # Safety
/// 1. As for [`park`]. 2. `m` is the worker that runs the caller.
pub(crate) unsafe fn park_on(
    m: Option<&M>,
    reason: WaitReason,
    interruptible: bool,
    commit: Commit,
    arg: *mut (),
) -> Parked {
    let Some(m) = m else {
        // SAFETY: (1), (2).
        unsafe { Outsider::park(commit, arg) };
        return Parked::Ready;
    };
    let g = m.cur.load(Relaxed); // Ordering: own thread's store.
    // SAFETY: we are `g`: its cells are ours until the commit; then again once we are back.
    unsafe {
        (*g).wait_reason.store(reason as u32, Relaxed); // Ordering: for dumps.
        // A wait in a destructor must not end in a second panic: that would end the process.
        (*g).interruptible.set(interruptible && !panicking());
        leave(m, Action::Park { commit, arg });
        if (*g).unwind.load(Relaxed) { Parked::Ending } else { Parked::Ready }
    }
}

/// Makes a parked goroutine (or plain thread) runnable, as runnext of the caller's P. Spec: READY-1, CHAN-7.
///
/// # Safety
/// 1. The caller took `g` out of its wait structure, and nobody else makes it ready.
/// 2. The lock of that structure is no longer held by the caller.
#[inline]
pub(crate) unsafe fn ready(g: *mut G) {
    // SAFETY: a parked goroutine stays live until it runs again, which only we bring about (1).
    unsafe {
        if (*g).outsider {
            return Outsider::wake(g);
        }
        match current() {
            Some(m) if ptr::addr_eq(m.sched, (*g).sched.get()) => ready_on(m, g),
            _ => ready_from_outside(g),
        }
    }
}

/// # Safety
/// 1. As for [`ready`]; `g` belongs to the scheduler of `m`, which holds a P.
#[inline]
pub(crate) unsafe fn ready_on(m: &M, g: *mut G) {
    // SAFETY: (1).
    unsafe { make_runnable(g) };
    with_rules!(m, |w| {
        put(&w, m.held(), g, true);
        wakep(w.outside(), true);
    });
}

#[cold]
unsafe fn ready_from_outside(g: *mut G) {
    // SAFETY: `ready`'s contract; the scheduler outlives its goroutines.
    unsafe {
        // Ordering: AcqRel: the end of the runtime may cut the same wait short; one of us wins.
        let word = &(*g).status;
        if word.compare_exchange(status::WAITING, status::RUNNABLE, AcqRel, Relaxed).is_ok() {
            let sched = &*(*g).sched.get().cast::<Sched>();
            inject_one(sched, g);
        }
    }
}

/// Held by a thread from outside the runtime while it makes one of its goroutines ready, or starts one: the
/// end of the runtime gives memory back only when nobody is inside.
static OUTSIDE: RwLock = RwLock::new();

/// See [`OUTSIDE`].
pub(crate) fn outside_gate() -> impl Drop {
    OUTSIDE.read()
}

/// The gate, if the caller is on no worker at all: several goroutines of unknown runtimes may be made ready.
pub(crate) fn outside_gate_if_outside() -> impl Sized {
    Some(OUTSIDE.read())
}

/// Waits until every thread that was inside the gate has left it. A goroutine whose wait was cut short just as a
/// plain thread took it out does so too, before it may wait again: that thread's attempt to make it ready must find
/// it running, not in its next wait.
pub(crate) fn flush_outside() {
    drop(OUTSIDE.write());
}

/// Whether the caller needs no gate to make `g` ready: a goroutine of the same runtime, or a plain thread.
///
/// # Safety
/// 1. `g` is live: it waits for the caller.
#[inline]
pub(crate) unsafe fn is_insider(g: *mut G) -> bool {
    // SAFETY: (1).
    let (outsider, sched) = unsafe { ((*g).outsider, (*g).sched.get()) };
    outsider || current().is_some_and(|m| ptr::addr_eq(m.sched, sched))
}

/// Releases the lock of a wait structure, then makes ready the goroutine that was taken out of it.
///
/// # Safety
/// 1. As for [`ready`], but that the lock is still held: `release` lets go of it.
#[inline]
pub(crate) unsafe fn release_and_ready(release: impl FnOnce(), g: *mut G) {
    // SAFETY: recorded, taken out, and held back by the lock until `release`; then (1).
    unsafe {
        if (*g).outsider {
            release();
            return Outsider::wake(g);
        }
        match current() {
            Some(m) if ptr::addr_eq(m.sched, (*g).sched.get()) => {
                release();
                ready_on(m, g);
            }
            _ => {
                let _gate = outside_gate();
                release();
                ready_from_outside(g);
            }
        }
    }
}

/// # Safety
/// 1. `g` is live and runnable, and on no queue.
pub(crate) unsafe fn inject_one(sched: &Sched, g: *mut G) {
    if sched.is_go {
        inject(&Outside::go(sched), &[g]);
    } else {
        inject(&Outside::with(sched, &sched.policy), &[g]);
    }
}

unsafe fn make_runnable(g: *mut G) {
    // SAFETY: live by the callers' contracts.
    let was = unsafe { (*g).status.load(Acquire) };
    assert_eq!(was, status::WAITING, "READY-1: made ready, but not waiting");
    // SAFETY: as above. Ordering: published by the queue it goes to.
    unsafe { (*g).status.store(status::RUNNABLE, Release) };
}

/// Puts a runnable goroutine on the P of the caller. Spec: RQ-5, RQ-6.
pub(crate) fn put<L: Rules>(w: &Worker<'_, L>, p: &P, g: *mut G, next: bool) {
    let mut g = g;
    if next && w.rules.runnext() {
        g = p.ring.swap_next(g);
        if g.is_null() {
            return;
        }
    }
    while let Err(back) = p.ring.push(g) {
        if overflow(w.m.sched(), p, back) {
            return;
        }
    }
}

/// The oldest half and `g`, in that order, to the global tail. Spec: RQ-6. `false`: there is room again.
#[cold]
fn overflow(sched: &Sched, p: &P, g: *mut G) -> bool {
    let mut batch = crate::runq::List::new();
    // SAFETY: `take_oldest_half` gives each out once; it is on no list then.
    if !p.ring.take_oldest_half(|old| unsafe { batch.push_back(old) }) {
        return false;
    }
    // SAFETY: `g` is runnable and on no queue.
    unsafe { batch.push_back(g) };
    p.count.overflows.add(1);
    sched.locked(|central| {
        central.queue.append(&mut batch);
        // Ordering: a hint (GQ-1).
        sched.global_len.store(central.queue.len(), Relaxed);
    });
    true
}

/// Gosched: the caller goes to the global tail. Spec: YIELD-1.
///
/// Local work runs first, but on a 61 tick. On a plain thread this is `std::thread::yield_now`.
pub fn yield_now() {
    match enter() {
        // SAFETY: we run on the goroutine's stack.
        Some(m) => unsafe { leave(m, Action::Yield) },
        None => std::thread::yield_now(),
    }
}

/// Runs the goroutine that was just made ready, then the caller again from the ring's tail. Spec: DEST-6.
pub(crate) fn yield_to_next() {
    if let Some(m) = current() {
        // SAFETY: we run on the goroutine's stack.
        unsafe { leave(m, Action::YieldLocal) }
    }
}

/// A point where a long computation may be asked to yield: costs a load when nobody asks. Spec: PREEMPT-R4.
pub fn checkpoint() {
    enter();
}

/// A plain thread's stand-in: channels and locks treat it as a goroutine, ready means unpark.
#[repr(C)]
struct Outsider {
    g: G,
    thread: Thread,
}

crate::shim::thread_local! {
    static OUTSIDER: Box<Outsider> =
        Box::new(Outsider { g: G::new(true, ptr::null()), thread: current_thread() });
}

impl Outsider {
    /// Never inlined: inside `syscall`, in a loop that changes threads, it is another's each time (FC-31).
    #[inline(never)]
    fn mine() -> *mut G {
        std::hint::black_box(OUTSIDER.with(|o| ptr::from_ref::<G>(&o.g).cast_mut()))
    }

    /// # Safety
    /// 1. As for [`park`].
    unsafe fn park(commit: Commit, arg: *mut ()) {
        let g = Outsider::mine();
        // SAFETY: ours; the commit is called as the contract says, on a thread that "has left".
        unsafe {
            (*g).status.store(status::WAITING, Release);
            if commit(g, arg) {
                // Ordering: Acquire pairs with `wake`.
                while (*g).status.load(Acquire) == status::WAITING {
                    park_thread();
                }
            }
            (*g).status.store(status::RUNNING, Relaxed); // Ordering: own word again.
        }
    }

    /// # Safety
    /// 1. As for [`ready`]; `g` is an outsider's.
    unsafe fn wake(g: *mut G) {
        // SAFETY: `g` is the first field of an `Outsider` (repr(C)), live until its thread goes on, which
        // the store below allows: so the handle is cloned before.
        let thread = unsafe { (*g.cast::<Outsider>()).thread.clone() };
        // SAFETY: as above. Ordering: Release carries what the waker wrote.
        unsafe { (*g).status.store(status::RUNNABLE, Release) };
        thread.unpark();
    }
}

#[cfg(all(test, sched_loom))]
#[path = "loom_park_tests.rs"]
mod loom_tests;
