//! Fork-join with borrowed data: `join(a, b)`. Ours: Go has no such thing.
//!
//! Question: how can a fork cost a few nanoseconds and still be there for an idle P? Each goroutine that
//! forks has a bounded deque of offers, pointers to jobs on its own stack. It takes the newest back itself;
//! an idle worker takes the oldest and runs it as a goroutine of its own.
//!
//! # Invariants
//! - I1 A job leaves by exactly one of: the owner's `pop`, a thief's `steal`.
//! - I2 A job's frame stays until the job has run or was taken back: the owner waits for it, also when it
//!   unwinds, and the end of the runtime does not cut that wait short.
//! - I3 A goroutine that stops running (parks, yields, blocks in the kernel without its P) has no offers left: they become goroutines first, so
//!   nothing is stranded in the deque of somebody who waits.
//! - I4 Offers live as long as their goroutine, which is never freed (G-7).
//! # Edges
//! - E1 `push`, `steal`: the job. E2 the latch: the result.
//! - F3 (`pop`, between `bottom` and `top`) pairs with F4 (`steal`, between `top` and `bottom`): store
//!   buffering over the last element. F4 is `membarrier`, a full fence in every thread, so F3 and the fence
//!   between `push` and the look for idle Ps need only hold the compiler; without it both are SeqCst.
//! # Not here
//! When thieves come: `find` (after Go's four passes) and its re-check before sleep.

use crate::limits::JOB_SLOTS;
use crate::sched::park::{Commit, end_here, enter, is_insider, outside_gate, park, ready};
use crate::sched::real::{Worker, with_rules};
use crate::sched::state::{M, P, Sched};
use crate::sched::wake::wakep;
use crate::shim::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use crate::shim::{AtomicPtr, AtomicU32, compiler_fence, fence, heavy_fence};
use crate::task::{G, WaitReason};
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::thread::Result;

/// A job without its type: the first field of a [`StackJob`].
struct Job {
    /// Runs the closure (`true`) or drops it unrun (`false`); sets the latch.
    finish: unsafe fn(*const Job, bool),
}

/// The offers of one goroutine, oldest at `top`.
struct Offers {
    top: AtomicU32,
    bottom: AtomicU32,
    light: bool,
    slots: [AtomicPtr<Job>; JOB_SLOTS],
}

impl Offers {
    fn new(light: bool) -> Box<Offers> {
        Box::new(Offers {
            top: AtomicU32::new(0),
            bottom: AtomicU32::new(0),
            light,
            slots: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
        })
    }

    #[inline]
    fn slot(&self, at: u32) -> &AtomicPtr<Job> {
        &self.slots[at as usize % JOB_SLOTS]
    }

    /// A fence against thieves, who do the heavy half.
    #[inline]
    fn fence(&self) {
        if self.light { compiler_fence(SeqCst) } else { fence(SeqCst) }
    }

    /// Owner: `false` if there is no room.
    #[inline]
    fn push(&self, job: *mut Job) -> bool {
        let bottom = self.bottom.load(Relaxed); // Ordering: own store.
        let top = self.top.load(Acquire); // Ordering: the slot's last reader has finished.
        if bottom.wrapping_sub(top) as usize >= JOB_SLOTS {
            return false;
        }
        self.slot(bottom).store(job, Relaxed); // Ordering: published by the next line.
        self.bottom.store(bottom.wrapping_add(1), Release); // Ordering: E1.
        true
    }

    /// Owner: takes its newest offer back; `false`: a thief has it.
    #[inline]
    fn pop(&self) -> bool {
        let bottom = self.bottom.load(Relaxed).wrapping_sub(1); // Ordering: own store.
        // Ordering: F3. Release: a thief that reads this store, not the push's, needs the slots below it too.
        self.bottom.store(bottom, Release);
        self.fence(); // F3
        let top = self.top.load(Relaxed); // Ordering: F3.
        let left = bottom.wrapping_sub(top) as i32;
        if left > 0 {
            return true;
        }
        // The last one: thieves may be at it.
        let won = left == 0
            // Ordering: Acquire as for thieves; one of us wins.
            && self.top.compare_exchange(top, top.wrapping_add(1), AcqRel, Relaxed).is_ok();
        // Ordering: empty again: top == bottom. Release as above.
        self.bottom.store(bottom.wrapping_add(1), Release);
        won
    }

    /// A hint.
    fn looks_empty(&self) -> bool {
        let top = self.top.load(Relaxed); // Ordering: a hint; `steal` decides.
        (self.bottom.load(Relaxed).wrapping_sub(top) as i32) <= 0
    }

    /// Thief: the oldest offer. `far`: the owner may be running on another thread.
    fn steal(&self, far: bool) -> Option<*mut Job> {
        loop {
            let top = self.top.load(Acquire); // Ordering: F4.
            if far {
                if self.light {
                    heavy_fence();
                }
                fence(SeqCst); // F4
            }
            let bottom = self.bottom.load(Acquire); // Ordering: E1.
            if bottom.wrapping_sub(top) as i32 <= 0 {
                return None;
            }
            let job = self.slot(top).load(Relaxed); // Ordering: validated by the CAS.
            // Ordering: AcqRel: I1, and the slot is read before it can be reused.
            if self.top.compare_exchange(top, top.wrapping_add(1), AcqRel, Relaxed).is_ok() {
                return Some(job);
            }
            crate::shim::retry_pause();
        }
    }
}

/// One wait for one event, by the goroutine that made it.
pub(crate) struct Latch {
    state: AtomicU32,
    owner: *mut G,
}

const PENDING: u32 = 0;
const WAITING: u32 = 1;
const SET: u32 = 2;

impl Latch {
    pub(crate) fn new(owner: *mut G) -> Latch {
        Latch { state: AtomicU32::new(PENDING), owner }
    }

    /// The owner waits until it is set. Not cut short by the end of the runtime (I2).
    pub(crate) fn wait(&self) {
        while self.state.load(Acquire) != SET {
            // Ordering: Acquire: E2.
            let commit: Commit = commit_wait;
            let this = ptr::from_ref(self).cast_mut().cast();
            // SAFETY: the commit publishes that we wait; the setter is the one waker.
            unsafe { park(WaitReason::Join, false, commit, this) };
        }
    }

    /// Sets it. The latch may be gone as soon as this has stored: nothing is touched after.
    ///
    /// # Safety
    /// 1. `this` is live; it is set once.
    pub(crate) unsafe fn set(this: *const Latch) {
        // SAFETY: (1); the owner is read before the owner may go on.
        unsafe {
            let owner = (*this).owner;
            // A scope may have been handed to a goroutine of another runtime.
            let _gate = (!is_insider(owner)).then(outside_gate);
            // Ordering: AcqRel: E2, and pairs with the commit.
            if (*this).state.swap(SET, AcqRel) == WAITING {
                ready(owner);
            }
        }
    }
}

unsafe fn commit_wait(_: *mut G, latch: *mut ()) -> bool {
    // SAFETY: `wait` passes itself; the goroutine is parked until we or the setter let it go.
    let state = unsafe { &(*latch.cast::<Latch>()).state };
    // Ordering: AcqRel: `false`: it was set in between.
    state.compare_exchange(PENDING, WAITING, AcqRel, Acquire).is_ok()
}

/// A closure on its owner's stack, its result, and the latch that says the result is there.
#[repr(C)]
struct StackJob<F, R> {
    job: Job,
    f: UnsafeCell<ManuallyDrop<F>>,
    result: UnsafeCell<Option<Result<R>>>,
    latch: Latch,
}

impl<F: FnOnce() -> R + Send, R: Send> StackJob<F, R> {
    fn new(f: F, owner: *mut G) -> Self {
        StackJob {
            job: Job { finish: Self::finish },
            f: UnsafeCell::new(ManuallyDrop::new(f)),
            result: UnsafeCell::new(None),
            latch: Latch::new(owner),
        }
    }

    /// The thief's side.
    ///
    /// # Safety
    /// 1. `job` is the first field of a live `StackJob<F, R>` that left its deque by one steal (I1, I2).
    unsafe fn finish(job: *const Job, run: bool) {
        let this = job.cast::<Self>();
        // SAFETY: (1): the closure and the result are ours until the latch is set.
        unsafe {
            let f = ManuallyDrop::take(&mut *(*this).f.get());
            let result = catch_unwind(AssertUnwindSafe(|| if run { f() } else { unrun(f) }));
            *(*this).result.get() = Some(result);
            Latch::set(&raw const (*this).latch);
        }
    }

    /// Owner, job taken back: runs it here.
    ///
    /// # Safety
    /// 1. The job left the deque by `pop`, or never entered it.
    #[inline]
    unsafe fn run_inline(&self) -> R {
        // SAFETY: (1): nobody else touches the closure.
        let f = unsafe { ManuallyDrop::take(&mut *self.f.get()) };
        f()
    }
}

/// The runtime ended before `f` ran: it is dropped, and its join ends the same way.
fn unrun<F, R>(f: F) -> R {
    drop(f);
    end_here()
}

/// Runs both closures, possibly in parallel, and returns both results. `b` is offered to idle workers while
/// the caller runs `a`; if none takes it, the caller runs it too. Both may borrow from the caller.
///
/// Costs a few nanoseconds when nobody takes `b`, and no allocation. On a plain thread both run here, one
/// after the other. Beyond 256 nested pending forks `b` is not offered.
///
/// # Panics
/// With the payload of `a`'s panic, or else of `b`'s, once both have come to an end; if `a` panics while `b`
/// was not yet taken, `b` is dropped unrun.
#[inline]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let Some(m) = enter() else {
        let ra = a();
        return (ra, b());
    };
    let g = m.cur.load(Relaxed); // Ordering: own store.
    let offers = offers_of(m, g);
    let job = StackJob::new(b, g);
    if !offers.push((&raw const job.job).cast_mut()) {
        let ra = a();
        // SAFETY: it never entered the deque.
        return (ra, unsafe { job.run_inline() });
    }
    notice_offer(m, offers);
    let guard = TakeBack { offers, job: &job };
    let ra = a();
    std::mem::forget(guard);
    let rb = if offers.pop() {
        // SAFETY: taken back.
        unsafe { job.run_inline() }
    } else {
        stolen_result(&job)
    };
    (ra, rb)
}

#[cold]
fn stolen_result<F, R>(job: &StackJob<F, R>) -> R {
    job.latch.wait();
    // SAFETY: the latch is set: the thief has written the result and is gone (E2).
    match unsafe { (*job.result.get()).take() }.expect("JOIN: a set latch without a result") {
        Ok(value) => value,
        Err(payload) => resume_unwind(payload),
    }
}

/// `a` panicked: `b` must be back, or have run, before the frame goes (I2).
struct TakeBack<'a, F, R> {
    offers: &'a Offers,
    job: &'a StackJob<F, R>,
}

impl<F, R> Drop for TakeBack<'_, F, R> {
    fn drop(&mut self) {
        if self.offers.pop() {
            // SAFETY: taken back, unrun.
            unsafe { ManuallyDrop::drop(&mut *self.job.f.get()) }
        } else {
            self.job.latch.wait();
        }
    }
}

#[inline]
fn offers_of(m: &M, g: *mut G) -> &'static Offers {
    // SAFETY: the running goroutine is live. Ordering: own store.
    let offers = unsafe { (*g).jobs.load(Relaxed) }.cast::<Offers>();
    // SAFETY: I4.
    unsafe { offers.as_ref() }.unwrap_or_else(|| first_offer(m, g))
}

#[cold]
fn first_offer(m: &M, g: *mut G) -> &'static Offers {
    let sched = m.sched();
    sched.forks_used.store(true, Relaxed); // Ordering: rises once; the fences of the offers order it.
    let offers = Box::into_raw(Offers::new(sched.light_offers));
    // SAFETY: the running goroutine is ours. Ordering: Release: thieves read what it points to.
    unsafe { (*g).jobs.store(offers.cast(), Release) };
    m.held().forks.store(offers.cast(), Release);
    // SAFETY: I4.
    unsafe { &*offers }
}

/// Frees the deque of a goroutine that has ended, at the end of the runtime.
///
/// # Safety
/// 1. No worker is left.
pub(crate) unsafe fn free_offers(g: &G) {
    let offers = g.jobs.swap(ptr::null_mut(), Relaxed).cast::<Offers>(); // Ordering: alone.
    if !offers.is_null() {
        // SAFETY: made by `first_offer`, (1).
        drop(unsafe { Box::from_raw(offers) });
    }
}

/// An offer was made: wakes a worker if a P is idle and nobody searches. Two loads otherwise.
#[inline]
fn notice_offer(m: &M, offers: &Offers) {
    offers.fence(); // Pairs with the heavy fence of whoever goes idle (`find`, `leave_fence`).
    let sched = m.sched();
    // Ordering: Relaxed, by that fence.
    if sched.idle_procs.load(Relaxed) != 0 && sched.spinners.load(Relaxed) == 0 {
        wake_for_offer(m);
    }
}

#[cold]
fn wake_for_offer(m: &M) {
    with_rules!(m, |w| wakep(w.outside(), true));
}

/// Whether `p`'s running goroutine offers something. A hint.
pub(crate) fn on_offer(p: &P) -> bool {
    // SAFETY: I4. Ordering: Acquire pairs with the stores of `forks`.
    unsafe { p.forks.load(Acquire).cast::<Offers>().as_ref() }.is_some_and(|o| !o.looks_empty())
}

/// The oldest offer at `victim`, as a goroutine that runs on `m`.
pub(crate) fn take_offer(m: &M, victim: &P) -> Option<*mut G> {
    if !on_offer(victim) {
        return None;
    }
    // SAFETY: I4. Ordering: Acquire pairs with the stores of `forks`.
    let offers = unsafe { victim.forks.load(Acquire).cast::<Offers>().as_ref() }?;
    let job = offers.steal(true)?;
    m.held().count.forks_stolen.add(1);
    Some(as_goroutine(m, job))
}

fn as_goroutine(m: &M, job: *mut Job) -> *mut G {
    // SAFETY: what the job borrows outlives it (I2).
    unsafe { crate::sched::spawn::make(m, body_of(job)) }
}

/// What a goroutine runs for a job that was stolen for it.
fn body_of(job: *mut Job) -> impl FnOnce() + Send {
    /// A job that left its deque by our steal (I1); its frame waits for it (I2).
    struct Stolen(*const Job);
    // SAFETY: closure and result of a `StackJob` are `Send`.
    unsafe impl Send for Stolen {}
    impl Stolen {
        fn finish(&self, run: bool) {
            // SAFETY: as said above; called once: `run` forgets `self`.
            unsafe { ((*self.0).finish)(self.0, run) }
        }
    }
    impl Drop for Stolen {
        /// The goroutine's closure is dropped unrun: the runtime ends, and the join must not wait for ever.
        fn drop(&mut self) {
            self.finish(false);
        }
    }
    let stolen = Stolen(job);
    move || ManuallyDrop::new(stolen).finish(true)
}

/// The goroutine blocks in the kernel without its P: what it offers becomes goroutines of its own (I3), since who
/// blocks may be waiting for just that.
pub(crate) fn promote_outside(sched: &Sched, g: &G) {
    // SAFETY: I4.
    let Some(offers) = (unsafe { g.jobs.load(Acquire).cast::<Offers>().as_ref() }) else { return };
    // Ordering: Acquire pairs with `first_offer`. The look spares the heavy fence.
    while let Some(job) = (!offers.looks_empty()).then(|| offers.steal(true)).flatten() {
        // SAFETY: what the job borrows outlives it (I2).
        unsafe { crate::sched::spawn::go_outside(sched, body_of(job)) }
    }
}

/// The goroutine is off its thread: what it still offers becomes goroutines of its own (I3).
///
/// # Safety
/// 1. `g` is not running, and the caller's worker has just stopped it.
#[cold]
pub(crate) unsafe fn promote<L: crate::policy::Rules>(w: &Worker<'_, L>, g: *mut G) {
    // SAFETY: (1), I4.
    let offers = unsafe { (*g).jobs.load(Relaxed).cast::<Offers>().as_ref() };
    let Some((offers, p)) = offers.zip(w.m.p()) else { return };
    let mut any = false;
    while let Some(job) = offers.steal(false) {
        crate::sched::park::put(w, p, as_goroutine(w.m, job), false);
        any = true;
    }
    if any {
        wakep(w.outside(), true);
    }
}

#[cfg(all(test, sched_loom))]
#[path = "loom_join_tests.rs"]
mod loom_tests;
