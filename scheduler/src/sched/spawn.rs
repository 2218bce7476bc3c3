//! How a goroutine comes to be and ends. Spec: NEW-1, NEW-2, NEW-5, G-6, EXIT-1, EXIT-2. Go: `newproc`,
//! `gfget`, `gfput`, `goexit0`.
//!
//! # Invariants
//! - I1 A stack keeps its coroutine, which waits inside [`body`]'s loop for the next goroutine: a warm start
//!   touches no fresh page, and goroutines that wait for their first run need none.
//! # Not here
//! What the spawner waits for: `prim`.

use crate::limits::{FREE_G_KEEP, FREE_G_SPILL_AT, GOID_BATCH};
use crate::sched::deadlock::{fatal, fatal_panic};
use crate::sched::park::{Action, Ending, current, enter, inject_one, put};
use crate::sched::real::with_rules;
use crate::sched::state::{M, P, Sched};
use crate::sched::wake::wakep;
use crate::shim::Mutex;
use crate::shim::Ordering::Relaxed;
use crate::task::{G, Stack, call::Call, status};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

/// Starts `f` in a new goroutine, which becomes runnext of this P: the caller goes on. Spec: NEW-1, DEST-1.
/// Go: `go f()`.
///
/// Costs some tens of nanoseconds and no allocation for closures up to 64 bytes once stacks are warm.
///
/// # Panics
/// On a plain thread: there [`Handle::go`](crate::Handle::go) starts goroutines. A panic of `f` ends the
/// process with status 2, as in Go; use [`spawn`](crate::spawn) to get it back.
///
/// # Safety of what `f` does
/// `f` may be moved to another thread at every runtime entry: see [`Builder::build`](crate::Builder::build).
#[inline]
pub fn go<F: FnOnce() + Send + 'static>(f: F) {
    let m = enter().expect("gosteal::go on a plain thread: use Handle::go, or Runtime::block_on");
    // SAFETY: 'static: nothing is borrowed.
    unsafe { go_on(m, f) }
}

/// # Safety
/// 1. What `f` borrows outlives it.
#[inline]
pub(crate) unsafe fn go_on<F: FnOnce() + Send>(m: &M, f: F) {
    let p = m.held();
    let g = take_free(m, p);
    // SAFETY: a free goroutine is ours.
    unsafe { prepare(g, f, next_id(m.sched(), p)) };
    p.count.created.add(1);
    with_rules!(m, |w| {
        put(&w, p, g, true);
        wakep(w.outside(), true);
    });
}

/// Starts `f` from a plain thread: the global tail, and a worker for it. Spec: INJ-1.
///
/// # Safety
/// 1. What `f` borrows outlives it.
pub(crate) unsafe fn go_outside<F: FnOnce() + Send>(sched: &Sched, f: F) {
    let g = match sched.free.lock().pop() {
        Some(g) => g,
        None => create(sched),
    };
    // Ordering: a number, unique by the atomicity.
    let id = sched.next_id.fetch_add(1, Relaxed);
    // SAFETY: a free goroutine is ours.
    unsafe { prepare(g, f, id) };
    sched.count.created_outside.fetch_add(1, Relaxed); // Ordering: a number for people.
    // SAFETY: runnable, on no queue.
    unsafe { inject_one(sched, g) };
}

/// A goroutine that runs `f` and is on no queue yet, made on worker `m`: for a thief that runs it at once.
///
/// # Safety
/// 1. What `f` borrows outlives it.
pub(crate) unsafe fn make<F: FnOnce() + Send>(m: &M, f: F) -> *mut G {
    let p = m.held();
    let g = take_free(m, p);
    // SAFETY: a free goroutine is ours.
    unsafe { prepare(g, f, next_id(m.sched(), p)) };
    p.count.created.add(1);
    g
}

#[inline]
unsafe fn prepare<F: FnOnce() + Send>(g: *mut G, f: F, id: u64) {
    // SAFETY: ours, by the callers.
    unsafe {
        (*(*g).call.get()).fill(f);
        (*g).id.store(id, Relaxed); // Ordering: published by the queue.
        (*g).status.store(status::RUNNABLE, Relaxed); // Ordering: as above.
    }
}

/// Ids in batches of 16. Spec: G-6.
#[inline]
fn next_id(sched: &Sched, p: &P) -> u64 {
    // SAFETY: the caller's worker holds `p` (I4 of `state`).
    let own = unsafe { &mut *p.own.get() };
    if own.next_id == own.end_id {
        // Ordering: a number, unique by the atomicity.
        own.next_id = sched.next_id.fetch_add(GOID_BATCH, Relaxed);
        own.end_id = own.next_id + GOID_BATCH;
    }
    own.next_id += 1;
    own.next_id - 1
}

#[inline]
fn take_free(m: &M, p: &P) -> *mut G {
    // SAFETY: the worker holds `p` (I4 of `state`).
    let own = unsafe { &mut *p.own.get() };
    match own.free.pop() {
        Some(g) => g,
        None => refill(m.sched(), &mut own.free),
    }
}

/// Spec: NEW-5: up to 32 from the shared cache, or a new one.
#[cold]
fn refill(sched: &Sched, free: &mut Vec<*mut G>) -> *mut G {
    {
        let mut shared = sched.free.lock();
        let keep = shared.len().saturating_sub(FREE_G_KEEP);
        free.extend(shared.drain(keep..));
    }
    free.pop().unwrap_or_else(|| create(sched))
}

fn create(sched: &Sched) -> *mut G {
    sched.arena.lock().take(ptr::from_ref(sched).cast())
}

/// Gives `g`, which is about to run for the first time, a stack. Spec: NEW-5.
///
/// # Safety
/// 1. The caller's worker holds `p` and `g`.
#[inline]
pub(crate) unsafe fn bind_stack(sched: &Sched, p: &P, g: *mut G) {
    // SAFETY: (1), I4 of `state`.
    let own = unsafe { &mut *p.own.get() };
    let stack = own.stacks.pop().unwrap_or_else(|| refill_stacks(sched, &mut own.stacks));
    // SAFETY: (1); a stack from the cache is nobody's.
    unsafe {
        (*stack).g.set(g);
        (*g).stack.set(stack);
    }
}

#[cold]
fn refill_stacks(sched: &Sched, mine: &mut Vec<*mut Stack>) -> *mut Stack {
    {
        let mut shared = sched.free_stacks.lock();
        let keep = shared.len().saturating_sub(FREE_G_KEEP);
        mine.extend(shared.drain(keep..));
    }
    mine.pop().unwrap_or_else(|| create_stack(sched))
}

fn create_stack(sched: &Sched) -> *mut Stack {
    let taken = sched.pool.lock().take();
    let (header, slot) = match taken {
        Ok(taken) => taken,
        Err(e) => fatal(&[&format!("runtime: {e}"), "fatal error: out of stacks"]),
    };
    let stack = header.as_ptr().cast::<Stack>();
    // SAFETY: the header of a fresh slot: aligned, large enough (asserted in `task`), ours.
    unsafe { Stack::place(stack, slot, body) };
    stack
}

/// Puts a goroutine that has ended into the cache. Spec: NEW-5, EXIT-1.
#[inline]
pub(crate) fn retire(m: &M, g: *mut G) {
    let p = m.held();
    // SAFETY: it has left for good (until its next closure): ours.
    unsafe { (*g).status.store(status::DEAD, Relaxed) }; // Ordering: published by the cache's lock.
    p.count.finished.add(1);
    // SAFETY: the worker holds `p` (I4 of `state`).
    let own = unsafe { &mut *p.own.get() };
    // SAFETY: it has left for good: its stack is free.
    let stack = unsafe { (*g).stack.replace(ptr::null_mut()) };
    cache(&mut own.stacks, stack, &m.sched().free_stacks);
    cache(&mut own.free, g, &m.sched().free);
}

/// Spec: NEW-5: at 64, all but 31 go to the shared cache.
#[inline]
fn cache<T>(mine: &mut Vec<T>, item: T, shared: &Mutex<Vec<T>>) {
    mine.push(item);
    if mine.len() >= FREE_G_SPILL_AT {
        shared.lock().extend(mine.drain(..FREE_G_SPILL_AT - FREE_G_KEEP + 1));
    }
}

/// What every coroutine runs: the closures of goroutines, one after another (I1).
extern "C" fn body(this: *mut ()) {
    loop {
        // SAFETY: the head of this very stack; bound before we were entered.
        let g = unsafe { (*this.cast::<Stack>()).g.get() };
        // SAFETY: we are `g`; the call was filled by `prepare`.
        let call = unsafe { (*g).call.get() };
        let ended = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: as above. Ordering: set before we were made runnable.
            unsafe { if (*g).unwind.load(Relaxed) { Call::discard(call) } else { Call::run(call) } }
        }));
        if let Some(payload) = ended.err().filter(|p| !is_quiet_end(&**p)) {
            // SAFETY: we are `g`.
            fatal_panic(unsafe { (*g).id.load(Relaxed) }, &*payload);
        }
        let m = current().expect("M-3: a goroutine without a worker");
        m.action.set(Action::Exit);
        // SAFETY: we run on this goroutine's stack.
        unsafe { (*g).leave() }
    }
}

/// The payload with which [`goexit`] unwinds.
struct Goexit;

/// Ends the calling goroutine: what its stack owns is dropped, nobody else notices. Spec: EXIT-1. Go:
/// `runtime.Goexit`.
///
/// # Panics
/// On a plain thread.
pub fn goexit() -> ! {
    assert!(current().is_some(), "gosteal::goexit on a plain thread");
    resume_unwind(Box::new(Goexit))
}

/// Whether a payload is the runtime's own way of ending a goroutine, not a panic of user code.
pub(crate) fn is_quiet_end(payload: &(dyn std::any::Any + Send)) -> bool {
    payload.is::<Ending>() || payload.is::<Goexit>()
}
