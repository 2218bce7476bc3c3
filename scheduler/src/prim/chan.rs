//! Channels with Go's semantics. Spec: CHAN-1 to CHAN-12, CHAN-14. Go: chan.go.
//!
//! # Invariants
//! - I1 At most one of the two wait queues is non-empty, but for a select on both sides (CHAN-1).
//! - I2 Buffered items present: no waiting receiver; free space: no waiting sender.
//! - I3 A value moves exactly once: from the sender's slot to the buffer or the receiver's slot (CHAN-14).
//! - I4 `count` and `closed` are written under the lock; the try forms and `len` read them without.
//! # Edges
//! - A value and what was written before its send are seen after its receive: by the lock, then by the
//!   queue edges of the scheduler (`ready` to `park`).
//! # Not here
//! Timer channels (CHAN-13). Select: `select`.

use crate::prim::waitq::{WaitQueue, Waiter};
use crate::sched::park::{
    Parked, end_here, enter, flush_outside, me_on, park, park_on, release_and_ready,
};
use crate::sched::state::M;
use crate::shim::Ordering::{Acquire, Release};
use crate::shim::{AtomicBool, AtomicUsize, RawLock};
use crate::task::{G, WaitReason};
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::fmt;
use std::ptr;
use std::sync::Arc;

/// The shared part of a channel.
pub(crate) struct Chan<T> {
    pub(crate) lock: RawLock,
    closed: AtomicBool,
    /// Items in the buffer.
    count: AtomicUsize,
    cap: usize,
    inner: UnsafeCell<Inner<T>>,
}

pub(crate) struct Inner<T> {
    buffer: VecDeque<T>,
    pub(crate) receivers: WaitQueue,
    pub(crate) senders: WaitQueue,
}

// SAFETY: `inner` is touched under the lock only; values cross threads, so `T: Send`.
unsafe impl<T: Send> Sync for Chan<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Chan<T> {}

/// The sending end; any number of clones, on goroutines and plain threads. Dropping it does not close the
/// channel: Go's rule.
pub struct Sender<T>(pub(crate) Option<Arc<Chan<T>>>);

/// The receiving end; any number of clones, on goroutines and plain threads.
pub struct Receiver<T>(pub(crate) Option<Arc<Chan<T>>>);

/// Makes a channel with room for `cap` values; 0 is a rendezvous: a send returns when its value was
/// received.
///
/// # Panics
/// `makechan: size out of range`, if the buffer would exceed the address space.
#[must_use]
pub fn chan<T: Send>(cap: usize) -> (Sender<T>, Receiver<T>) {
    let bytes = cap.checked_mul(size_of::<T>().max(1));
    assert!(bytes.is_some_and(|b| b <= isize::MAX as usize / 2), "makechan: size out of range");
    let chan = Arc::new(Chan {
        lock: RawLock::new(),
        closed: AtomicBool::new(false),
        count: AtomicUsize::new(0),
        cap,
        inner: UnsafeCell::new(Inner {
            buffer: VecDeque::with_capacity(cap),
            receivers: WaitQueue::new(),
            senders: WaitQueue::new(),
        }),
    });
    (Sender(Some(chan.clone())), Receiver(Some(chan)))
}

/// Both ends of a channel that never becomes ready: Go's nil channel. Blocking operations block for ever, the
/// try forms fail, a select case never fires. Spec: CHAN-10.
#[must_use]
pub fn nil_chan<T: Send>() -> (Sender<T>, Receiver<T>) {
    (Sender(None), Receiver(None))
}

/// Why [`Sender::try_send`] did not send; gives the value back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The buffer is full, or nobody waits to receive.
    Full(T),
}

/// Why [`Receiver::try_recv`] did not receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// Nothing there now.
    Empty,
    /// Closed, and all values have been received.
    Closed,
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Full(..)")
    }
}
impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel full")
    }
}
impl<T> std::error::Error for TrySendError<T> {}
impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryRecvError::Empty => "channel empty",
            TryRecvError::Closed => "channel closed",
        })
    }
}
impl std::error::Error for TryRecvError {}

/// What an attempt under the lock came to. `wake`: make it ready after the lock is released.
pub(crate) enum Attempt<R> {
    Done { result: R, wake: *mut G },
    WouldBlock,
}

impl<T: Send> Chan<T> {
    /// # Safety
    /// 1. The caller holds the lock and no other reference to the inside.
    #[allow(clippy::mut_from_ref, reason = "the lock, not the reference, is the permission")]
    pub(crate) unsafe fn inner(&self) -> &mut Inner<T> {
        // SAFETY: (1).
        unsafe { &mut *self.inner.get() }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Acquire) // Ordering: pairs with `close`.
    }

    /// Under the lock: CHAN-3 but for the waiting. `Done(false)`: closed. Takes the value only if it says
    /// `Done(true)`.
    ///
    /// # Safety
    /// 1. The caller holds the lock. 2. `value` points to an initialised `T`, moved out on `Done(true)`.
    #[inline]
    pub(crate) unsafe fn send_locked(&self, value: *const T) -> Attempt<bool> {
        // SAFETY: (1).
        let inner = unsafe { self.inner() };
        if self.is_closed() {
            return Attempt::Done { result: false, wake: ptr::null_mut() };
        }
        if let Some(w) = inner.receivers.claim_front() {
            // CHAN-5. SAFETY: a claimed record is live; its slot awaits a `T`; (2).
            unsafe {
                (*w).slot.cast::<Option<T>>().write(Some(value.read()));
                (*w).ok = true;
                return Attempt::Done { result: true, wake: finish(w) };
            }
        }
        if inner.buffer.len() < self.cap {
            // SAFETY: (2).
            inner.buffer.push_back(unsafe { value.read() });
            self.count.store(inner.buffer.len(), Release); // Ordering: I4.
            return Attempt::Done { result: true, wake: ptr::null_mut() };
        }
        Attempt::WouldBlock
    }

    /// Under the lock: CHAN-4 but for the waiting. `Done(None)`: closed and empty.
    ///
    /// # Safety
    /// 1. The caller holds the lock.
    #[inline]
    pub(crate) unsafe fn recv_locked(&self) -> Attempt<Option<T>> {
        // SAFETY: (1).
        let inner = unsafe { self.inner() };
        if let Some(value) = inner.buffer.pop_front() {
            // CHAN-6, buffered: the waiting sender's value takes the freed place at the tail.
            let mut wake = ptr::null_mut();
            if let Some(w) = inner.senders.claim_front() {
                // SAFETY: a claimed record is live; its slot holds a `T`, moved out once (I3).
                unsafe {
                    inner.buffer.push_back((*w).slot.cast::<T>().read());
                    (*w).ok = true;
                    wake = finish(w);
                }
            }
            self.count.store(inner.buffer.len(), Release); // Ordering: I4.
            return Attempt::Done { result: Some(value), wake };
        }
        if self.is_closed() {
            return Attempt::Done { result: None, wake: ptr::null_mut() };
        }
        if let Some(w) = inner.senders.claim_front() {
            // CHAN-6, unbuffered. SAFETY: as above.
            unsafe {
                let value = (*w).slot.cast::<T>().read();
                (*w).ok = true;
                return Attempt::Done { result: Some(value), wake: finish(w) };
            }
        }
        Attempt::WouldBlock
    }

    fn release(&self) {
        // SAFETY: every caller holds the lock.
        unsafe { self.lock.unlock() }
    }

    /// Releases the lock and makes `wake`, if any, ready.
    #[inline]
    fn release_and_wake(&self, wake: *mut G) {
        if wake.is_null() {
            self.release();
        } else {
            // SAFETY: claimed under the lock by this caller.
            unsafe { release_and_ready(|| self.release(), wake) }
        }
    }

    /// Spec: CHAN-3.
    fn send(&self, value: T) {
        let m = enter();
        let mut value = std::mem::ManuallyDrop::new(value);
        let at: *mut T = &raw mut *value;
        self.lock.lock();
        // SAFETY: lock held; `value` is initialised and forgotten here.
        match unsafe { self.send_locked(at) } {
            Attempt::Done { result: true, wake } => self.release_and_wake(wake),
            Attempt::Done { result: false, .. } => {
                self.release();
                // SAFETY: not moved out.
                unsafe { std::mem::ManuallyDrop::drop(&mut value) };
                panic!("send on closed channel");
            }
            Attempt::WouldBlock => {
                let mut w = Waiter::new(me_on(m), at.cast(), None);
                let w: *mut Waiter = &raw mut w;
                // SAFETY: lock held; `w` stays on this stack until it is off the queue.
                unsafe { self.inner().senders.push_back(w) };
                if !self.wait(m, w, WaitReason::ChanSend, |inner| &mut inner.senders) {
                    // SAFETY: nobody took the value.
                    unsafe { std::mem::ManuallyDrop::drop(&mut value) };
                    self.after_failed_wait(w);
                    panic!("send on closed channel");
                }
            }
        }
    }

    /// Spec: CHAN-4.
    fn recv(&self) -> Option<T> {
        let m = enter();
        self.lock.lock();
        // SAFETY: lock held.
        match unsafe { self.recv_locked() } {
            Attempt::Done { result, wake } => {
                self.release_and_wake(wake);
                result
            }
            Attempt::WouldBlock => {
                let mut value: Option<T> = None;
                let mut w = Waiter::new(me_on(m), (&raw mut value).cast(), None);
                let w: *mut Waiter = &raw mut w;
                // SAFETY: lock held; `w` and `value` stay on this stack until `w` is off the queue.
                unsafe { self.inner().receivers.push_back(w) };
                if !self.wait(m, w, WaitReason::ChanReceive, |inner| &mut inner.receivers) {
                    self.after_failed_wait(w);
                }
                value
            }
        }
    }

    /// Parks with the lock held, which the commit releases. `true`: the operation took place.
    fn wait(
        &self,
        m: Option<&M>,
        w: *mut Waiter,
        reason: WaitReason,
        queue: fn(&mut Inner<T>) -> &mut WaitQueue,
    ) -> bool {
        let lock: *const RawLock = &raw const self.lock;
        // SAFETY: the commit releases the lock that protects the queue; `w` is recorded there; no switch since `m`
        // was asked for.
        let parked = unsafe { park_on(m, reason, true, unlock_commit, lock.cast_mut().cast()) };
        if parked == Parked::Ending {
            self.lock.lock();
            // SAFETY: lock held; `w` is ours, queued here or taken.
            unsafe { queue(self.inner()).remove(w) };
            self.release();
            // SAFETY: off the queue: ours alone.
            if unsafe { (*w).taken } {
                flush_outside();
            }
        }
        // SAFETY: off the queue: ours alone.
        unsafe { (*w).ok }
    }

    /// A wait that ended without its operation: closed, or the end of the runtime.
    fn after_failed_wait(&self, w: *mut Waiter) {
        // SAFETY: off the queue: ours alone.
        if unsafe { !(*w).taken } {
            end_here();
        }
    }

    /// Spec: CHAN-8.
    fn close(&self) {
        enter();
        self.lock.lock();
        if self.is_closed() {
            self.release();
            panic!("close of closed channel");
        }
        self.closed.store(true, Release); // Ordering: I4.
        // SAFETY: lock held.
        let inner = unsafe { self.inner() };
        let mut all = Vec::new();
        let queues = [&mut inner.receivers, &mut inner.senders];
        for queue in queues {
            while let Some(w) = queue.claim_front() {
                // SAFETY: a claimed record is live.
                all.push(unsafe { finish(w) });
            }
        }
        let gate = crate::sched::park::outside_gate_if_outside();
        self.release();
        // In reverse of collection order: GT-3.
        for g in all.into_iter().rev() {
            // SAFETY: claimed by us, lock released.
            unsafe { crate::sched::park::ready(g) };
        }
        drop(gate);
    }

    fn len(&self) -> usize {
        self.count.load(Acquire) // Ordering: I4.
    }

    /// Spec: CHAN-12: fails without the lock where that cannot be wrong.
    fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        enter();
        if !self.is_closed() && self.cap > 0 && self.len() == self.cap {
            return Err(TrySendError::Full(value));
        }
        let mut value = std::mem::ManuallyDrop::new(value);
        self.lock.lock();
        // SAFETY: lock held; initialised, and forgotten here.
        match unsafe { self.send_locked(&raw mut *value) } {
            Attempt::Done { result: true, wake } => {
                self.release_and_wake(wake);
                Ok(())
            }
            Attempt::Done { result: false, .. } => {
                self.release();
                // SAFETY: not moved out.
                unsafe { std::mem::ManuallyDrop::drop(&mut value) };
                panic!("send on closed channel");
            }
            Attempt::WouldBlock => {
                self.release();
                Err(TrySendError::Full(std::mem::ManuallyDrop::into_inner(value)))
            }
        }
    }

    fn try_recv(&self) -> Result<T, TryRecvError> {
        enter();
        if self.cap > 0 && self.len() == 0 {
            // CHAN-12: closed after empty, then empty again: never "open and empty" for a channel that was
            // closed while it held values.
            if !self.is_closed() {
                return Err(TryRecvError::Empty);
            }
            if self.len() == 0 {
                return Err(TryRecvError::Closed);
            }
        }
        self.lock.lock();
        // SAFETY: lock held.
        match unsafe { self.recv_locked() } {
            Attempt::Done { result, wake } => {
                self.release_and_wake(wake);
                result.ok_or(TryRecvError::Closed)
            }
            Attempt::WouldBlock => {
                self.release();
                Err(TryRecvError::Empty)
            }
        }
    }
}

/// Whom to make ready for a claimed record, and which case of a select it was.
///
/// # Safety
/// 1. `w` was claimed by the caller, who holds its structure's lock.
unsafe fn finish(w: *mut Waiter) -> *mut G {
    // SAFETY: (1).
    unsafe {
        (*(*w).g).token.set(w.cast());
        (*w).g
    }
}

/// Releases the [`RawLock`] at `arg`: the commit of every simple wait. Spec: PARK-2, PARK-3.
///
/// # Safety
/// 1. `arg` points to a held [`RawLock`] that outlives the wait.
pub(crate) unsafe fn unlock_commit(_: *mut G, arg: *mut ()) -> bool {
    // SAFETY: (1).
    unsafe { (*arg.cast::<RawLock>()).unlock() };
    true
}

/// Parks for ever (until the runtime ends). Spec: CHAN-10, SEL-1.
pub(crate) fn block_forever(reason: WaitReason) -> ! {
    unsafe fn nothing(_: *mut G, _: *mut ()) -> bool {
        true
    }
    loop {
        enter();
        // SAFETY: nothing protects the wait, and nobody will end it but the runtime.
        if unsafe { park(reason, true, nothing, ptr::null_mut()) } == Parked::Ending {
            end_here();
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender(self.0.clone())
    }
}
impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Receiver(self.0.clone())
    }
}

impl<T: Send> Sender<T> {
    /// Sends; waits for a receiver or for room. On a plain thread it blocks the thread.
    ///
    /// # Panics
    /// `send on closed channel`, also if it is closed while we wait.
    #[inline]
    pub fn send(&self, value: T) {
        match &self.0 {
            Some(chan) => chan.send(value),
            None => block_forever(WaitReason::ChanSendNil),
        }
    }

    /// Sends if that needs no waiting: a select of this one case with a default.
    ///
    /// # Errors
    /// The value, where it would have to wait.
    ///
    /// # Panics
    /// `send on closed channel`.
    #[inline]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match &self.0 {
            Some(chan) => chan.try_send(value),
            None => Err(TrySendError::Full(value)),
        }
    }

    /// Closes: receivers get what is buffered, then `None`; who sends panics. Wakes all who wait.
    ///
    /// # Panics
    /// `close of closed channel`, `close of nil channel`.
    pub fn close(&self) {
        match &self.0 {
            Some(chan) => chan.close(),
            None => panic!("close of nil channel"),
        }
    }

    /// Values in the buffer now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |c| c.len())
    }
    /// No value in the buffer now.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Room of the buffer, 0 for a rendezvous.
    #[must_use]
    pub fn cap(&self) -> usize {
        self.0.as_ref().map_or(0, |c| c.cap)
    }
}

impl<T: Send> Receiver<T> {
    /// Receives; waits for a value. `None`: closed and drained. On a plain thread it blocks the thread.
    #[inline]
    pub fn recv(&self) -> Option<T> {
        match &self.0 {
            Some(chan) => chan.recv(),
            None => block_forever(WaitReason::ChanReceiveNil),
        }
    }

    /// Receives if that needs no waiting.
    ///
    /// # Errors
    /// [`TryRecvError::Empty`], [`TryRecvError::Closed`].
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match &self.0 {
            Some(chan) => chan.try_recv(),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Values until the channel is closed: `for v in rx.iter()`, Go's `for v := range ch`.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.recv())
    }

    /// Values in the buffer now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |c| c.len())
    }
    /// No value in the buffer now.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Room of the buffer, 0 for a rendezvous.
    #[must_use]
    pub fn cap(&self) -> usize {
        self.0.as_ref().map_or(0, |c| c.cap)
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}
impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receiver")
    }
}
