//! Waiting on several channels at once. Spec: SEL-1 to SEL-9. Go: select.go.
//!
//! # Invariants
//! - I1 All channels of the cases are locked, in address order and each once, while readiness is tested
//!   (SEL-3, SEL-4): the test is atomic over all of them.
//! - I2 One record per case is queued; whoever claims the goroutine's `select_done` word first wins (SEL-6);
//!   the others are unlinked before the select returns (SEL-7).
//! # Not here
//! The operations on one channel: `chan`.

use crate::prim::chan::{Attempt, Chan, Receiver, Sender, block_forever};
use crate::prim::waitq::Waiter;
use crate::sched::park::{
    Parked, current, end_here, enter, flush_outside, me, park, release_and_ready,
};
use crate::shim::Ordering::Relaxed;
use crate::task::{G, WaitReason};
use std::mem::ManuallyDrop;
use std::ptr;

/// What one attempt at a case came to.
#[doc(hidden)]
pub enum Tried {
    /// It took place, or the channel is closed.
    Fired {
        #[doc(hidden)]
        wake: Wake,
    },
    /// It would have to wait.
    NotReady,
}

/// Whom to make ready afterwards.
#[doc(hidden)]
pub struct Wake(*mut G);

/// One case of a select, its channel's type forgotten. Implemented here only.
///
/// # Safety
/// `lock_address` is the address of the channel that the other methods lock and queue on, 0 for nil.
#[doc(hidden)]
pub unsafe trait Case {
    /// Identity and lock order of the channel, 0: nil.
    fn lock_address(&self) -> usize;
    /// Locks the channel.
    fn lock(&self);
    /// # Safety
    /// 1. The caller locked it.
    unsafe fn unlock(&self);
    /// # Safety
    /// 1. The channel is locked.
    unsafe fn attempt(&mut self) -> Tried;
    /// # Safety
    /// 1. The channel is locked. 2. The case and the record stay where they are until `dequeue`.
    unsafe fn enqueue(&mut self, g: *mut (), index: usize);
    /// # Safety
    /// 1. The channel is locked.
    unsafe fn dequeue(&mut self);
    /// The case was won while waiting: takes note of the outcome.
    fn settle(&mut self);
    /// Whether the record of this case is the one at `token`.
    fn is(&self, token: *mut ()) -> bool;
    /// A send case that met a closed channel panics, when all locks are free.
    fn closed_send(&self) -> bool;
}

/// `recv(rx) -> value`.
#[doc(hidden)]
pub struct RecvCase<'a, T> {
    rx: &'a Receiver<T>,
    value: Option<T>,
    record: Waiter,
}

/// `send(tx, value)`.
#[doc(hidden)]
pub struct SendCase<'a, T> {
    tx: &'a Sender<T>,
    value: ManuallyDrop<T>,
    sent: bool,
    closed: bool,
    record: Waiter,
}

fn blank() -> Waiter {
    Waiter::new(ptr::null_mut(), ptr::null_mut(), None)
}

impl<'a, T: Send> RecvCase<'a, T> {
    #[doc(hidden)]
    pub fn new(rx: &'a Receiver<T>) -> Self {
        RecvCase { rx, value: None, record: blank() }
    }
    /// What was received; `None`: closed.
    #[doc(hidden)]
    pub fn take(&mut self) -> Option<T> {
        self.value.take()
    }
    fn chan(&self) -> Option<&'a Chan<T>> {
        self.rx.0.as_deref()
    }
}

impl<'a, T: Send> SendCase<'a, T> {
    #[doc(hidden)]
    pub fn new(tx: &'a Sender<T>, value: T) -> Self {
        let value = ManuallyDrop::new(value);
        SendCase { tx, value, sent: false, closed: false, record: blank() }
    }
    fn chan(&self) -> Option<&'a Chan<T>> {
        self.tx.0.as_deref()
    }
}

impl<T> Drop for SendCase<'_, T> {
    fn drop(&mut self) {
        if !self.sent {
            // SAFETY: not moved out.
            unsafe { ManuallyDrop::drop(&mut self.value) }
        }
    }
}

// SAFETY: all methods go to the one channel of `rx`.
unsafe impl<T: Send> Case for RecvCase<'_, T> {
    fn lock_address(&self) -> usize {
        self.chan().map_or(0, |c| ptr::from_ref(c).addr())
    }
    fn lock(&self) {
        if let Some(chan) = self.chan() {
            chan.lock.lock();
        }
    }
    unsafe fn unlock(&self) {
        if let Some(chan) = self.chan() {
            // SAFETY: (1).
            unsafe { chan.lock.unlock() }
        }
    }
    unsafe fn attempt(&mut self) -> Tried {
        let Some(chan) = self.chan() else { return Tried::NotReady };
        // SAFETY: (1).
        match unsafe { chan.recv_locked() } {
            Attempt::Done { result, wake } => {
                self.value = result;
                Tried::Fired { wake: Wake(wake) }
            }
            Attempt::WouldBlock => Tried::NotReady,
        }
    }
    unsafe fn enqueue(&mut self, g: *mut (), index: usize) {
        let Some(chan) = self.chan() else { return };
        self.record = Waiter::new(g.cast(), (&raw mut self.value).cast(), Some(index));
        // SAFETY: (1), (2).
        unsafe { chan.inner().receivers.push_back(&raw mut self.record) }
    }
    unsafe fn dequeue(&mut self) {
        if let Some(chan) = self.chan() {
            // SAFETY: (1); queued there or nowhere.
            unsafe { chan.inner().receivers.remove(&raw mut self.record) }
        }
    }
    fn settle(&mut self) {}
    fn is(&self, token: *mut ()) -> bool {
        ptr::addr_eq(&raw const self.record, token)
    }
    fn closed_send(&self) -> bool {
        false
    }
}

// SAFETY: all methods go to the one channel of `tx`.
unsafe impl<T: Send> Case for SendCase<'_, T> {
    fn lock_address(&self) -> usize {
        self.chan().map_or(0, |c| ptr::from_ref(c).addr())
    }
    fn lock(&self) {
        if let Some(chan) = self.chan() {
            chan.lock.lock();
        }
    }
    unsafe fn unlock(&self) {
        if let Some(chan) = self.chan() {
            // SAFETY: (1).
            unsafe { chan.lock.unlock() }
        }
    }
    unsafe fn attempt(&mut self) -> Tried {
        let Some(chan) = self.chan() else { return Tried::NotReady };
        // SAFETY: (1); the value is there until `sent`.
        match unsafe { chan.send_locked(&raw const *self.value) } {
            Attempt::Done { result, wake } => {
                self.sent = result;
                self.closed = !result;
                Tried::Fired { wake: Wake(wake) }
            }
            Attempt::WouldBlock => Tried::NotReady,
        }
    }
    unsafe fn enqueue(&mut self, g: *mut (), index: usize) {
        let Some(chan) = self.chan() else { return };
        self.record = Waiter::new(g.cast(), (&raw mut *self.value).cast(), Some(index));
        // SAFETY: (1), (2).
        unsafe { chan.inner().senders.push_back(&raw mut self.record) }
    }
    unsafe fn dequeue(&mut self) {
        if let Some(chan) = self.chan() {
            // SAFETY: (1); queued there or nowhere.
            unsafe { chan.inner().senders.remove(&raw mut self.record) }
        }
    }
    fn settle(&mut self) {
        self.sent = self.record.ok;
        self.closed = !self.record.ok;
    }
    fn is(&self, token: *mut ()) -> bool {
        ptr::addr_eq(&raw const self.record, token)
    }
    fn closed_send(&self) -> bool {
        self.closed
    }
}

/// Most cases of one select.
pub(crate) const MAX_CASES: usize = 64;

/// The case that fired, or `None` for the default.
///
/// # Panics
/// `send on closed channel`, if a send case fired on a closed channel; more than 64 cases.
#[doc(hidden)]
pub fn select(cases: &mut [&mut dyn Case], has_default: bool) -> Option<usize> {
    enter();
    assert!(cases.len() <= MAX_CASES, "select: more than {MAX_CASES} cases");
    let mut live = [0u8; MAX_CASES];
    let mut n = 0;
    for (i, case) in cases.iter().enumerate() {
        if case.lock_address() != 0 {
            live[n] = i as u8; // SEL-2: nil channels never fire.
            n += 1;
        }
    }
    if n == 0 {
        return if has_default { None } else { block_forever(WaitReason::SelectNoCases) };
    }
    let (mut poll_order, mut lock_order) = (live, live);
    shuffle(&mut poll_order[..n]);
    lock_order[..n].sort_unstable_by_key(|&i| cases[i as usize].lock_address());
    let mut select = Select { cases, lock_order: &lock_order[..n] };
    select.lock_all();
    for &i in &poll_order[..n] {
        // SAFETY: all channels are locked.
        if let Tried::Fired { wake } = unsafe { select.cases[i as usize].attempt() } {
            select.unlock_all_and_wake(wake);
            return Some(select.fired(i as usize));
        }
    }
    if has_default {
        select.unlock_all();
        return None;
    }
    Some(select.wait())
}

struct Select<'s, 'c> {
    cases: &'s mut [&'c mut dyn Case],
    /// Live cases by the address of their channel.
    lock_order: &'s [u8],
}

impl Select<'_, '_> {
    /// Each channel's first case in lock order.
    fn firsts(&self) -> impl DoubleEndedIterator<Item = &dyn Case> + '_ {
        self.lock_order.iter().enumerate().filter_map(|(k, &i)| {
            let case: &dyn Case = &*self.cases[i as usize];
            let before = k.checked_sub(1).map(|b| &self.cases[self.lock_order[b] as usize]);
            let same = before.is_some_and(|b| b.lock_address() == case.lock_address());
            (!same).then_some(case)
        })
    }
    fn lock_all(&self) {
        self.firsts().for_each(|case| case.lock());
    }
    fn unlock_all(&self) {
        // SAFETY: locked by `lock_all`.
        self.firsts().rev().for_each(|case| unsafe { case.unlock() });
    }
    fn unlock_all_and_wake(&self, wake: Wake) {
        if wake.0.is_null() {
            self.unlock_all();
        } else {
            // SAFETY: claimed under the locks by this caller.
            unsafe { release_and_ready(|| self.unlock_all(), wake.0) }
        }
    }
    fn fired(&self, i: usize) -> usize {
        if self.cases[i].closed_send() {
            panic!("send on closed channel");
        }
        i
    }

    /// Spec: SEL-5 to SEL-7. All channels are locked.
    fn wait(&mut self) -> usize {
        let g = me();
        // SAFETY: we are `g`. Ordering: published by the channels' locks.
        unsafe {
            (*g).select_done.store(0, Relaxed);
            (*g).token.set(ptr::null_mut());
        }
        for &i in self.lock_order {
            // SAFETY: locked; the cases stay where they are until they are dequeued below.
            unsafe { self.cases[i as usize].enqueue(g.cast(), i as usize) };
        }
        let this: *mut Self = self;
        // SAFETY: the commit releases the locks that protect the queues.
        let parked = unsafe { park(WaitReason::Select, true, unlock_select, this.cast()) };
        self.lock_all();
        // SAFETY: we are `g` and run again; the waker's store came before.
        let token = unsafe { (*g).token.get() };
        let mut won = None;
        for &i in self.lock_order {
            let case = &mut self.cases[i as usize];
            if case.is(token) {
                won = Some(i as usize);
            }
            // SAFETY: locked.
            unsafe { case.dequeue() };
        }
        self.unlock_all();
        match won {
            Some(i) => {
                if parked == Parked::Ending {
                    flush_outside();
                }
                self.cases[i].settle();
                self.fired(i)
            }
            None => {
                assert_eq!(parked, Parked::Ending, "SEL-7: woken without a case");
                end_here()
            }
        }
    }
}

/// # Safety
/// 1. `arg` is the `Select` whose locks are held; it outlives the wait. Its last unlock is the last touch of
///    the parked stack.
unsafe fn unlock_select(_: *mut G, arg: *mut ()) -> bool {
    // The addresses are copied first: once the last lock is free the goroutine may run and its stack change.
    // SAFETY: (1).
    let select = unsafe { &*arg.cast::<Select<'_, '_>>() };
    let mut locks: [Option<&dyn Case>; MAX_CASES] = [None; MAX_CASES];
    let mut n = 0;
    for case in select.firsts() {
        locks[n] = Some(case);
        n += 1;
    }
    unlock_copied(&locks[..n]);
    true
}

fn unlock_copied(locks: &[Option<&dyn Case>]) {
    // Each case is read before its own unlock, and the goroutine cannot pass `lock_all` before the last one
    // in this order is free: it locks in address order, we unlock in address order (SEL-5).
    for case in locks.iter().flatten() {
        // SAFETY: locked by the goroutine that parks.
        unsafe { case.unlock() };
    }
}

/// Inside-out shuffle. Spec: SEL-2.
fn shuffle(order: &mut [u8]) {
    let mut random = random_source();
    for i in 1..order.len() {
        let j = ((u64::from(random()) * (i as u64 + 1)) >> 32) as usize;
        order.swap(i, j);
    }
}

fn random_source() -> impl FnMut() -> u32 {
    let mut x = crate::shim::now() | 1;
    move || match current() {
        Some(m) => m.random(),
        None => {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x >> 32) as u32
        }
    }
}

/// Waits until one of several channel operations can go on, and does it; which one of several ready is random
/// (SEL-2, SEL-9). With `default`, does not wait.
///
/// ```no_run
/// # let (tx, rx) = gosteal::chan::<u32>(1);
/// # let (_a, done) = gosteal::chan::<()>(0);
/// gosteal::select! {
///     recv(rx) -> value => println!("received {value:?}"), // `None`: closed
///     send(tx, 7) => println!("sent"),
///     recv(done) -> _ => println!("done"),
///     default => println!("nothing was ready"),
/// }
/// ```
/// Values to send are evaluated once, before anything is tried, in source order. Without cases it blocks for
/// ever.
///
/// # Panics
/// `send on closed channel`.
#[macro_export]
macro_rules! select {
    ($($cases:tt)*) => { $crate::__select!(@ [] [] $($cases)*) };
}

/// Munches the cases of [`select!`]: `[parsed cases] [default]`, then the rest.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    // recv
    (@ [$($done:tt)*] [$($default:tt)*] recv($rx:expr) -> $value:pat => $body:expr, $($rest:tt)*) => {
        $crate::__select!(@ [$($done)* {recv case ($rx) ($value) ($body)}] [$($default)*] $($rest)*)
    };
    (@ [$($done:tt)*] [$($default:tt)*] recv($rx:expr) -> $value:pat => $body:block $($rest:tt)*) => {
        $crate::__select!(@ [$($done)* {recv case ($rx) ($value) ($body)}] [$($default)*] $($rest)*)
    };
    (@ [$($done:tt)*] [$($default:tt)*] recv($rx:expr) -> $value:pat => $body:expr) => {
        $crate::__select!(@ [$($done)* {recv case ($rx) ($value) ($body)}] [$($default)*])
    };
    // send
    (@ [$($done:tt)*] [$($default:tt)*] send($tx:expr, $v:expr) => $body:expr, $($rest:tt)*) => {
        $crate::__select!(@ [$($done)* {send case ($tx, $v) ($body)}] [$($default)*] $($rest)*)
    };
    (@ [$($done:tt)*] [$($default:tt)*] send($tx:expr, $v:expr) => $body:block $($rest:tt)*) => {
        $crate::__select!(@ [$($done)* {send case ($tx, $v) ($body)}] [$($default)*] $($rest)*)
    };
    (@ [$($done:tt)*] [$($default:tt)*] send($tx:expr, $v:expr) => $body:expr) => {
        $crate::__select!(@ [$($done)* {send case ($tx, $v) ($body)}] [$($default)*])
    };
    // default
    (@ [$($done:tt)*] [] default => $body:expr, $($rest:tt)*) => {
        $crate::__select!(@ [$($done)*] [$body] $($rest)*)
    };
    (@ [$($done:tt)*] [] default => $body:block $($rest:tt)*) => {
        $crate::__select!(@ [$($done)*] [$body] $($rest)*)
    };
    (@ [$($done:tt)*] [] default => $body:expr) => {
        $crate::__select!(@ [$($done)*] [$body])
    };
    // All parsed: bind one case after another, then select, then run the body of the one that fired.
    (@ [$($done:tt)*] [$($default:tt)*]) => {
        $crate::__select!(# [] [$($default)*] $($done)*)
    };
    (# [$($bound:tt)*] [$($default:tt)*] {recv $case:ident ($rx:expr) ($value:pat) ($body:expr)} $($rest:tt)*) => {{
        let rx = &$rx;
        let mut $case = $crate::__private::RecvCase::new(rx);
        $crate::__select!(# [$($bound)* ($case [let $value = $case.take();] $body)] [$($default)*] $($rest)*)
    }};
    (# [$($bound:tt)*] [$($default:tt)*] {send $case:ident ($tx:expr, $v:expr) ($body:expr)} $($rest:tt)*) => {{
        let tx = &$tx;
        let mut $case = $crate::__private::SendCase::new(tx, $v);
        $crate::__select!(# [$($bound)* ($case [] $body)] [$($default)*] $($rest)*)
    }};
    (# [$(($case:ident [$($bind:tt)*] $body:expr))*] [$($default:tt)*]) => {{
        let fired = $crate::__private::select(
            &mut [$(&mut $case as &mut dyn $crate::__private::Case),*],
            $crate::__select!(? $($default)*),
        );
        let mut cases = 0usize..;
        $(if fired == cases.next() { $($bind)* $body } else)* {
            let _ = cases;
            $crate::__select!(! $($default)*)
        }
    }};
    (?) => { false };
    (? $default:expr) => { true };
    (!) => { unreachable!("a select without a default returned without a case") };
    (! $default:expr) => { $default };
}
