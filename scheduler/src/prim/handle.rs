//! A goroutine with a result. Ours: Go uses a channel for it.
//!
//! # Invariants
//! - I1 The result is written once, before `done` under the lock; it is taken once, by `join`.

use crate::prim::chan::unlock_commit;
use crate::prim::waitq::{WaitQueue, Waiter};
use crate::sched::park::{Parked, end_here, enter, me, park, release_and_ready};
use crate::shim::RawLock;
use crate::task::WaitReason;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::thread::Result;

struct Packet<T> {
    lock: RawLock,
    inner: UnsafeCell<Inner<T>>,
}

struct Inner<T> {
    result: Option<Result<T>>,
    done: bool,
    waiter: WaitQueue,
}

// SAFETY: `inner` is touched under the lock only.
unsafe impl<T: Send> Sync for Packet<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Packet<T> {}

/// The result of a goroutine to come. Dropping it lets the goroutine run on.
#[must_use = "a panic of the goroutine is lost if it is not joined; `go` needs no handle"]
pub struct JoinHandle<T>(Arc<Packet<T>>);

/// Starts `f` in a new goroutine whose result, or panic, [`JoinHandle::join`] returns. One allocation more
/// than [`go`](crate::go).
///
/// # Panics
/// On a plain thread.
pub fn spawn<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(f: F) -> JoinHandle<T> {
    let inner = Inner { result: None, done: false, waiter: WaitQueue::new() };
    let packet = Arc::new(Packet { lock: RawLock::new(), inner: UnsafeCell::new(inner) });
    // In this order: if it never runs, what `f` owns is dropped before the join returns.
    let work = (f, Finish(packet.clone()));
    crate::go(move || {
        let (f, theirs) = { work };
        let result = catch_unwind(AssertUnwindSafe(f));
        theirs.set(result);
    });
    JoinHandle(packet)
}

/// The goroutine's half. If its closure is dropped unrun (the runtime ended), the join is not left waiting.
struct Finish<T>(Arc<Packet<T>>);

impl<T> Finish<T> {
    fn set(&self, result: Result<T>) {
        let packet = &*self.0;
        packet.lock.lock();
        // SAFETY: under the lock.
        let inner = unsafe { &mut *packet.inner.get() };
        inner.result = Some(result);
        inner.done = true;
        let unlock = || {
            // SAFETY: locked above.
            unsafe { packet.lock.unlock() }
        };
        match inner.waiter.claim_front() {
            // SAFETY: claimed under the lock, released on the way.
            Some(w) => unsafe { release_and_ready(unlock, (*w).g) },
            None => unlock(),
        }
    }
}

impl<T> Drop for Finish<T> {
    fn drop(&mut self) {
        // SAFETY: a look at a flag that only this half raises.
        if unsafe { !(*self.0.inner.get()).done } {
            self.set(Err(Box::new("goroutine dropped: its runtime ended before it ran")));
        }
    }
}

impl<T> JoinHandle<T> {
    /// Waits for the goroutine and returns its value.
    ///
    /// # Errors
    /// The payload of its panic (or of `goexit`).
    pub fn join(self) -> Result<T> {
        enter();
        let packet = &*self.0;
        packet.lock.lock();
        // SAFETY: under the lock.
        let inner = unsafe { &mut *packet.inner.get() };
        if !inner.done {
            let mut w = Waiter::new(me(), ptr::null_mut(), None);
            let w: *mut Waiter = &raw mut w;
            // SAFETY: under the lock; `w` stays on this stack until it is off the queue.
            unsafe { inner.waiter.push_back(w) };
            let lock: *const RawLock = &raw const packet.lock;
            // SAFETY: the commit releases the lock that protects the queue.
            let parked =
                unsafe { park(WaitReason::Join, true, unlock_commit, lock.cast_mut().cast()) };
            packet.lock.lock();
            // SAFETY: under the lock.
            let inner = unsafe { &mut *packet.inner.get() };
            // SAFETY: ours, queued here or taken.
            unsafe { inner.waiter.remove(w) };
            if !inner.done {
                assert_eq!(parked, Parked::Ending, "JOIN: woken before the result");
                // SAFETY: locked above.
                unsafe { packet.lock.unlock() };
                end_here();
            }
        }
        // SAFETY: under the lock.
        let result = unsafe { (*packet.inner.get()).result.take() };
        // SAFETY: locked above.
        unsafe { packet.lock.unlock() };
        result.expect("JOIN: a result is taken once")
    }

    /// Whether the goroutine has ended: `join` will not wait.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0.lock.lock();
        // SAFETY: under the lock.
        let done = unsafe { (*self.0.inner.get()).done };
        // SAFETY: locked above.
        unsafe { self.0.lock.unlock() };
        done
    }
}
