//! What happens to the P around a call that may block in the kernel. Spec: SC-1 to SC-9, RETAKE-1.
//! Go: `entersyscall`, `exitsyscall`, `entersyscallblock`.
//!
//! # Invariants
//! - I1 Inside the call the thread counts as a plain one: channel operations there block the thread.
//! - I2 Whoever takes the P away first sets the SCAN bit on the goroutine's status by a CAS from SYSCALL
//!   (SC-3); exit leaves SYSCALL by a CAS, so the two exclude each other.
//! # Not here
//! When sysmon takes a P: `sysmon`.

use crate::prim::join::promote_outside;
use crate::sched::park::{Action, enter, is_ending, leave, set_current};
use crate::sched::real::with_rules;
use crate::sched::state::{M, P};
use crate::sched::wake::handoffp;
use crate::shim::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::shim::spin_pause;
use crate::task::{G, status};
use std::ptr;

/// Runs `f`, which may block in the kernel for a moment. The P stays with the thread, and sysmon takes it
/// away if the call lasts (20 us to 10 ms) and somebody could use it. Costs a few nanoseconds. Spec: SC-2.
/// Go: an ordinary system call.
///
/// Inside `f` the caller counts as a plain thread: channels and locks block the thread, `go` is refused.
pub fn syscall<T>(f: impl FnOnce() -> T) -> T {
    // A destructor at the end of the runtime: its one thread keeps its P.
    let Some(m) = enter().filter(|m| !is_ending(m)) else { return f() };
    let p = m.held();
    m.old_p.set(p);
    begin(m);
    let _out = Out;
    f()
}

/// Runs `f`, which will block: the P is handed to another thread at once. Costs a wake-up of a thread where
/// there is work for it. Spec: SC-7. Go: `entersyscallblock`.
///
/// Inside `f` the caller counts as a plain thread, as in [`syscall`].
pub fn blocking<T>(f: impl FnOnce() -> T) -> T {
    // A destructor at the end of the runtime: its one thread keeps its P.
    let Some(m) = enter().filter(|m| !is_ending(m)) else { return f() };
    let p = m.held();
    m.old_p.set(p);
    unwire(m, p);
    m.sched().count.handoffs.fetch_add(1, Relaxed); // Ordering: a number for people.
    m.sched().count.in_syscall_without_p.fetch_add(1, Relaxed); // Ordering: as above.
    // SAFETY: we are the goroutine that the worker runs; it is live. Ordering: own store.
    promote_outside(m.sched(), unsafe { &*m.cur.load(Relaxed) });
    begin(m);
    with_rules!(m, |w| handoffp(w.outside(), p));
    let _out = Out;
    f()
}

/// The P's worker gives it up. Spec: SC-7, RETAKE-1 (3).
pub(crate) fn unwire(m: &M, p: &P) {
    p.syscall_tick.fetch_add(1, Relaxed); // Ordering: sysmon's hint.
    p.forks.store(ptr::null_mut(), Release);
    p.m.store(ptr::null_mut(), Release); // Ordering: after it the P belongs to whoever takes it.
    m.p.store(ptr::null_mut(), Release);
}

fn begin(m: &M) {
    let g = m.cur.load(Relaxed); // Ordering: own store.
    // SAFETY: we are `g`. Ordering: Release: the retaker's CAS acquires it.
    unsafe { (*g).status.store(status::SYSCALL, Release) };
    // Ordering: Relaxed: the only cost of a miss is a later look (SYS-3).
    if m.sched().sysmon.deep.load(Relaxed) {
        m.sched().rouse_sysmon();
    }
    swap_in_call(m);
    set_current(None);
}

thread_local! {
    static IN_CALL: std::cell::Cell<*const M> = const { std::cell::Cell::new(ptr::null()) };
}

/// Exchanges the thread's word. Never inlined: two calls in one loop may run on two threads, and the compiler must not
/// keep the word's address from one to the next (FC-31).
#[inline(never)]
fn swap_in_call(m: *const M) -> *const M {
    IN_CALL.with(|c| std::hint::black_box(c.replace(m)))
}

/// Ends the call, also when `f` unwinds.
struct Out;

impl Drop for Out {
    fn drop(&mut self) {
        let m = swap_in_call(ptr::null());
        // SAFETY: set by `begin` on this thread, which did not switch in between (I1).
        let m = unsafe { &*m };
        set_current(Some(m));
        exit(m);
    }
}

/// Spec: SC-4 to SC-6.
fn exit(m: &M) {
    let g = m.cur.load(Relaxed); // Ordering: own store.
    // SAFETY: we are `g`.
    let word = unsafe { &(*g).status };
    // Ordering: Acquire on success: what a retaker did is seen (SC-3).
    while word.compare_exchange_weak(status::SYSCALL, status::RUNNING, AcqRel, Relaxed).is_err() {
        spin_pause();
    }
    if let Some(p) = m.p() {
        // SC-4: still wired. Ordering: sysmon's hint.
        p.syscall_tick.fetch_add(1, Relaxed);
        return;
    }
    let sched = m.sched();
    sched.count.in_syscall_without_p.fetch_sub(1, Relaxed); // Ordering: a number for people.
    let idle = sched.locked(|central| sched.take_idle(central));
    if let Some(p) = idle {
        // SC-5
        m.take_p(p);
        // SAFETY: we are `g`. Ordering: thieves read what it points to.
        p.forks.store(unsafe { (*g).jobs.load(Relaxed) }, Release);
        sched.rouse_sysmon();
        return;
    }
    // SC-6. SAFETY: we run on the goroutine's stack.
    unsafe { leave(m, Action::SyscallExit) };
}

/// Takes the P of a goroutine that is in a system call, if it still is. Spec: SC-3, RETAKE-1 (3).
///
/// `decide` runs while the goroutine cannot leave the call; `true` takes the P, which the caller then hands
/// off.
pub(crate) fn retake(p: &P, decide: impl FnOnce() -> bool) -> bool {
    // SAFETY: workers and goroutines live as long as the scheduler (I3 of `state`).
    let Some(m) = (unsafe { p.m.load(Acquire).as_ref() }) else { return false };
    // SAFETY: as above.
    let Some(g) = (unsafe { m.cur.load(Acquire).as_ref() }) else { return false };
    let locked = status::SYSCALL | status::SCAN;
    // Ordering: AcqRel pairs with `begin` and `exit` (I2).
    if g.status.compare_exchange(status::SYSCALL, locked, AcqRel, Relaxed).is_err() {
        return false;
    }
    // Still the same goroutine on the same worker with the same P?
    let same = ptr::eq(p.m.load(Acquire), m) && ptr::eq(m.cur.load(Acquire), g);
    let same = same && ptr::eq(m.p.load(Acquire), p);
    let take = same && decide();
    if take {
        unwire(m, p);
        m.sched().count.in_syscall_without_p.fetch_add(1, Relaxed); // Ordering: a number for people.
    }
    g.status.store(status::SYSCALL, Release); // Ordering: I2: exit's CAS acquires what we did.
    if take {
        promote_outside(m.sched(), g); // It may be back already: then this is a theft like any other.
    }
    take
}

/// Whether the goroutine that runs on `p` is in a system call. A hint.
pub(crate) fn in_syscall(p: &P) -> bool {
    // SAFETY: as in `retake`.
    let cur = unsafe { p.m.load(Acquire).as_ref() }.map(|m| m.cur.load(Acquire));
    // SAFETY: as in `retake`.
    let status = cur.and_then(|g: *mut G| unsafe { g.as_ref() }).map(|g| g.status.load(Relaxed));
    status.is_some_and(|s| s & !status::SCAN == status::SYSCALL)
}
