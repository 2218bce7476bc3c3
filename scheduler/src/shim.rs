//! The only door to atomics, locks, thread parking, clocks and pause hints.
//!
//! Question: what of the machine may the algorithm touch? Only what stands here, so that a model
//! checker (`--cfg sched_loom`, unit tests only) or a virtual world can take its place.
//!
//! # Invariants
//! - The algorithm uses `fence(SeqCst)` where a store must not pass a later load, never a SeqCst access:
//!   loom takes those for AcqRel (its issue 180).
//! - [`RawLock`] may be released by another stack of the same thread than the one that took it (PARK-2).
//!
//! # Not here
//! No scheduling decision.

#[cfg(all(test, sched_loom))]
mod imp {
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
    pub(crate) use loom::thread::{Thread, current as current_thread, park as park_thread};
    pub(crate) use loom::thread_local;
    /// No clock in a model: whoever is woken is woken by somebody.
    pub(crate) fn park_thread_for(_: std::time::Duration) {
        park_thread();
    }
    /// A retry that makes no progress by itself: lets the model run somebody else.
    pub(crate) fn retry_pause() {
        loom::thread::yield_now();
    }
    /// A short wait on a lock bit.
    pub(crate) fn spin_pause() {
        loom::thread::yield_now();
    }
}

#[cfg(not(all(test, sched_loom)))]
mod imp {
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
    pub(crate) use std::thread::{
        Thread, current as current_thread, park as park_thread, park_timeout as park_thread_for,
    };
    pub(crate) use std::thread_local;
    /// A retry that makes no progress by itself.
    #[inline]
    pub(crate) fn retry_pause() {
        std::hint::spin_loop();
    }
    /// A short wait on a lock bit.
    #[inline]
    pub(crate) fn spin_pause() {
        std::hint::spin_loop();
    }
}

pub(crate) use imp::*;
/// For what a `const fn` makes, or a static holds: loom's cannot be made there. A model does not see into
/// these, as little as into the locks below: model tests drive nothing that waits on them.
pub(crate) mod unmodelled {
    #[cfg(all(test, sched_loom))]
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize};
    pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32};
}
use parking_lot::lock_api::GuardNoSend;
pub(crate) use std::sync::atomic::compiler_fence;

/// A lock without a guard: taken on a goroutine's stack, released on the scheduler's (PARK-2).
///
/// `parking_lot`'s one-byte lock: one compare-and-swap when free, spins, then parks the thread.
pub(crate) struct RawLock(parking_lot::RawMutex);

impl RawLock {
    pub(crate) const fn new() -> RawLock {
        RawLock(<parking_lot::RawMutex as parking_lot::lock_api::RawMutex>::INIT)
    }
    /// Blocks the thread until the lock is held. Never held across a switch but by PARK-2.
    #[inline]
    pub(crate) fn lock(&self) {
        // The state is empty; `unlock` makes it anew, maybe on another stack of this thread.
        let _state = parking_lot::lock_api::RawMutex::lock(&self.0);
    }
    /// # Safety
    /// 1. The caller's logical owner (goroutine or thread) holds the lock.
    #[inline]
    pub(crate) unsafe fn unlock(&self) {
        // SAFETY: held, by (1); the raw mutex keeps no thread identity.
        unsafe { parking_lot::lock_api::RawMutex::unlock(&self.0, GuardNoSend::new()) }
    }
}

/// Data under a thread-level lock (S-3).
pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

/// Held [`Mutex`].
pub(crate) type MutexGuard<'a, T> = parking_lot::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Mutex<T> {
        Mutex(parking_lot::Mutex::new(value))
    }
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock()
    }
}

/// A gate that many may pass at once, and one may close. Readers do not nest.
pub(crate) struct RwLock(parking_lot::RwLock<()>);

impl RwLock {
    pub(crate) const fn new() -> RwLock {
        RwLock(parking_lot::RwLock::new(()))
    }
    pub(crate) fn read(&self) -> parking_lot::RwLockReadGuard<'_, ()> {
        self.0.read()
    }
    pub(crate) fn write(&self) -> parking_lot::RwLockWriteGuard<'_, ()> {
        self.0.write()
    }
}

/// Waits for a change of what a [`Mutex`] protects.
pub(crate) struct Condvar(parking_lot::Condvar);

impl Condvar {
    pub(crate) const fn new() -> Condvar {
        Condvar(parking_lot::Condvar::new())
    }
    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
    /// Waits until `done` holds (true) or `limit` has passed (false).
    pub(crate) fn wait_until<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        limit: std::time::Instant,
        mut done: impl FnMut(&T) -> bool,
    ) -> bool {
        while !done(guard) {
            if self.0.wait_until(guard, limit).timed_out() {
                return done(guard);
            }
        }
        true
    }
}

/// A thread waits on it for one wake-up, with or without a time limit. Spec: M-4.
///
/// Spurious returns of the kernel's wait, and tokens that user code left on the thread, only make the
/// loop look at the flag again.
pub(crate) struct Note {
    set: AtomicBool,
    sleeper: Mutex<Option<Thread>>,
}

impl Note {
    pub(crate) fn new() -> Note {
        Note { set: AtomicBool::new(false), sleeper: Mutex::new(None) }
    }
    /// Wakes the sleeper, or lets its next sleep return at once, also if that is another thread's by then: who
    /// binds the note after our look at the sleeper sees the flag.
    pub(crate) fn wake(&self) {
        // Ordering: Release carries what the waker prepared (nextp); pairs with the Acquire in `take`. The
        // sleeper's lock orders it before a later `bind`, and so before that thread's first look.
        self.set.store(true, Ordering::Release);
        let thread = self.sleeper.lock().clone();
        if let Some(thread) = thread {
            thread.unpark();
        }
    }
    /// Wakes the sleeper for the last time. The note may be gone once its flag is up (it may lie on the sleeper's
    /// stack): nothing of it is touched after. It was bound before anybody could wake it.
    pub(crate) fn wake_last(&self) {
        let thread = self.sleeper.lock().clone();
        self.set.store(true, Ordering::Release); // Ordering: as in `wake`.
        if let Some(thread) = thread {
            thread.unpark();
        }
    }
    fn take(&self) -> bool {
        // Ordering: Acquire pairs with `wake`. The look before it writes nothing while there is nothing to take.
        self.set.load(Ordering::Relaxed) && self.set.swap(false, Ordering::Acquire)
    }
    /// Binds the note to the calling thread, before it sleeps.
    pub(crate) fn bind(&self) {
        *self.sleeper.lock() = Some(current_thread());
    }
    /// Sleeps until woken; clears the note.
    pub(crate) fn sleep(&self) {
        while !self.take() {
            park_thread();
        }
    }
    /// Sleeps until woken (true) or until `ns` have passed (false).
    pub(crate) fn sleep_for(&self, ns: u64) -> bool {
        let end = now().saturating_add(ns);
        loop {
            if self.take() {
                return true;
            }
            let left = end.saturating_sub(now());
            if left == 0 {
                return false;
            }
            park_thread_for(std::time::Duration::from_nanos(left));
        }
    }
}

/// Nanoseconds of the monotonic clock since the first call of the process, plus one: never 0.
pub(crate) fn now() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX) + 1
}

/// Blocks the thread for about `ns` (timer slack of the kernel included).
pub(crate) fn thread_sleep(ns: u64) {
    std::thread::sleep(std::time::Duration::from_nanos(ns));
}

/// The heavy half of an asymmetric fence: after it returns, every thread of the process has executed a
/// full fence. The light half is `compiler_fence`. `false`: the kernel has none; use real fences.
#[cfg(target_os = "linux")]
pub(crate) fn heavy_fence() {
    // SAFETY: a system call without pointers; registered by `heavy_fence_available`.
    let rc = unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_PRIVATE_EXPEDITED, 0, 0) };
    assert_eq!(rc, 0, "membarrier failed after it was registered");
}

#[cfg(target_os = "linux")]
const MEMBARRIER_PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
#[cfg(target_os = "linux")]
const MEMBARRIER_REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

/// Registers the process for [`heavy_fence`]; asked once.
#[cfg(target_os = "linux")]
pub(crate) fn heavy_fence_available() -> bool {
    use std::sync::OnceLock;
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    // SAFETY: a system call without pointers.
    *AVAILABLE.get_or_init(|| unsafe {
        libc::syscall(libc::SYS_membarrier, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0
    })
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn heavy_fence() {
    fence(Ordering::SeqCst);
}
#[cfg(not(target_os = "linux"))]
pub(crate) fn heavy_fence_available() -> bool {
    false
}

/// A lock for models, taken and released in different functions. The model puts waiting threads to sleep, so
/// it costs no spinning; it orders as acquire and release do, no more.
#[cfg(all(test, sched_loom))]
pub(crate) struct ModelLock {
    mutex: loom::sync::Mutex<()>,
    held: std::cell::UnsafeCell<Option<loom::sync::MutexGuard<'static, ()>>>,
}

// SAFETY: `held` is touched by the holder only.
#[cfg(all(test, sched_loom))]
unsafe impl Sync for ModelLock {}

#[cfg(all(test, sched_loom))]
impl ModelLock {
    pub(crate) fn new() -> ModelLock {
        ModelLock { mutex: loom::sync::Mutex::new(()), held: std::cell::UnsafeCell::new(None) }
    }
    pub(crate) fn lock(&self) {
        let guard = self.mutex.lock().unwrap();
        // SAFETY: held now. The guard lies beside its lock, which is not moved while it is held.
        unsafe {
            let guard = std::mem::transmute::<
                loom::sync::MutexGuard<'_, ()>,
                loom::sync::MutexGuard<'static, ()>,
            >(guard);
            *self.held.get() = Some(guard);
        }
    }
    pub(crate) fn unlock(&self) {
        // SAFETY: held by the caller. Out of the cell first: the next holder may come at the drop.
        let guard = unsafe { (*self.held.get()).take() };
        drop(guard);
    }
}

/// Runs every interleaving of `body` that the model explores, and fails below `at_least` of them: a
/// model test that looked at nothing must not pass.
#[cfg(all(test, sched_loom))]
pub(crate) fn explore(at_least: usize, body: impl Fn() + Send + Sync + 'static) {
    explore_with(at_least, loom::model::Builder::new(), body);
}

/// As [`explore`], leaving out executions in which threads are interrupted more than `preemptions` times in
/// all: for bodies with too many steps to try everything.
#[cfg(all(test, sched_loom))]
pub(crate) fn explore_bounded(
    at_least: usize,
    preemptions: usize,
    body: impl Fn() + Send + Sync + 'static,
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    explore_with(at_least, model, body);
}

#[cfg(all(test, sched_loom))]
fn explore_with(
    at_least: usize,
    mut model: loom::model::Builder,
    body: impl Fn() + Send + Sync + 'static,
) {
    use std::sync::atomic::AtomicUsize as Count;
    use std::sync::{Arc, atomic::Ordering::Relaxed};
    model.max_branches = 20_000;
    let runs = Arc::new(Count::new(0));
    let counter = runs.clone();
    model.check(move || {
        counter.fetch_add(1, Relaxed);
        body();
    });
    let runs = runs.load(Relaxed);
    println!("explored {runs} executions");
    assert!(runs >= at_least, "only {runs} executions, want at least {at_least}");
}
