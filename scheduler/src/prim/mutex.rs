//! Mutual exclusion between goroutines, with Go's starvation mode. Spec: MUTEX-1 to MUTEX-6. Go:
//! internal/sync/mutex.go.
//!
//! # Invariants
//! - I1 One word: LOCKED, WOKEN, STARVING, and the number of waiters above them.
//! - I2 In starving mode the lock is handed to the first waiter; newcomers queue.
//! # Not here
//! Poisoning: a panic under the lock leaves the data as it is, as in Go.

use crate::limits::{MUTEX_SPIN_PAUSES, MUTEX_SPIN_ROUNDS, MUTEX_STARVING_NS};
use crate::prim::sema::Sema;
use crate::sched::deadlock::fatal;
use crate::sched::park::{current, enter};
use crate::shim::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::shim::{now, spin_pause, unmodelled::AtomicU32};
use crate::task::WaitReason;
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};

const LOCKED: u32 = 1;
const WOKEN: u32 = 2;
const STARVING: u32 = 4;
const WAITER: u32 = 8;

/// The lock alone, without data: not tied to a goroutine (another may unlock it), not recursive.
/// Go: `sync.Mutex`. Waits park the goroutine, on a plain thread the thread.
pub struct RawMutex {
    state: AtomicU32,
    sema: Sema,
}

impl RawMutex {
    /// Unlocked.
    #[must_use]
    pub const fn new() -> RawMutex {
        RawMutex { state: AtomicU32::new(0), sema: Sema::new(0) }
    }

    /// Locks; waits if it is locked. Uncontended: one compare-and-swap.
    pub fn lock(&self) {
        self.lock_for(WaitReason::Mutex);
    }

    pub(crate) fn lock_for(&self, reason: WaitReason) {
        enter();
        // Ordering: Acquire pairs with the Release of `unlock`.
        if self.state.compare_exchange(0, LOCKED, Acquire, Relaxed).is_err() {
            self.lock_slow(reason);
        }
    }

    /// Locks if that needs no waiting; fails while starving. Spec: MUTEX-6.
    pub fn try_lock(&self) -> bool {
        enter();
        let state = self.state.load(Relaxed); // Ordering: the CAS decides.
        state & (LOCKED | STARVING) == 0
            // Ordering: as in `lock`.
            && self.state.compare_exchange(state, state | LOCKED, Acquire, Relaxed).is_ok()
    }

    /// Spec: MUTEX-2 to MUTEX-5.
    #[cold]
    fn lock_slow(&self, reason: WaitReason) {
        let (mut since, mut starving, mut awoke, mut rounds) = (0u64, false, false, 0u32);
        let mut old = self.state.load(Relaxed); // Ordering: the CAS decides.
        loop {
            if old & (LOCKED | STARVING) == LOCKED && may_spin(rounds) {
                // Ordering: Relaxed: the bit only keeps unlock from waking somebody.
                let mark = !awoke && old & WOKEN == 0 && old >= WAITER;
                let set = || self.state.compare_exchange(old, old | WOKEN, Relaxed, Relaxed);
                awoke |= mark && set().is_ok();
                (0..MUTEX_SPIN_PAUSES).for_each(|_| spin_pause());
                rounds += 1;
                old = self.state.load(Relaxed); // Ordering: the CAS decides.
                continue;
            }
            let mut new = old;
            if old & STARVING == 0 {
                new |= LOCKED;
            }
            if old & (LOCKED | STARVING) != 0 {
                new += WAITER;
            }
            if starving && old & LOCKED != 0 {
                new |= STARVING;
            }
            if awoke {
                new &= !WOKEN;
            }
            // Ordering: Acquire pairs with the Release of `unlock`.
            if let Err(now) = self.state.compare_exchange(old, new, AcqRel, Relaxed) {
                old = now;
                continue;
            }
            if old & (LOCKED | STARVING) == 0 {
                return;
            }
            let lifo = since != 0; // MUTEX-3: a loser queues at the head.
            since = if lifo { since } else { now() };
            self.sema.acquire(lifo, reason, || self.give_up());
            starving |= now() - since > MUTEX_STARVING_NS;
            old = self.state.load(Relaxed); // Ordering: ordered by the semaphore.
            if old & STARVING != 0 {
                return self.take_over(old, starving);
            }
            awoke = true;
            rounds = 0;
        }
    }

    /// A waiter leaves with its runtime, uncounted. `false`: an unlock has counted it off (MUTEX-4), or hands the lock
    /// to it (MUTEX-5). Otherwise unlock would go on waking, and handing over to, somebody who is not there.
    fn give_up(&self) -> bool {
        let state = self.state.load(Relaxed); // Ordering: the CAS decides.
        let waiters = state / WAITER;
        if waiters == 0 || (waiters == 1 && state & (LOCKED | STARVING) == STARVING) {
            return false;
        }
        let mut new = state - WAITER;
        if waiters == 1 {
            new &= !STARVING;
        }
        // Ordering: Relaxed: nothing is handed over.
        self.state.compare_exchange(state, new, Relaxed, Relaxed).is_ok()
    }

    /// The lock was handed to us, unlocked and with us still counted. Spec: MUTEX-5.
    fn take_over(&self, old: u32, starving: bool) {
        let last = old / WAITER == 1;
        let leave = if !starving || last { STARVING } else { 0 };
        // One addition: + LOCKED, - one waiter, - STARVING where it ends. Ordering: Acquire by the semaphore.
        let delta = LOCKED.wrapping_sub(WAITER).wrapping_sub(leave);
        self.state.fetch_add(delta, AcqRel);
    }

    /// Unlocks, from any goroutine or thread.
    ///
    /// Ends the process (`fatal error: sync: unlock of unlocked mutex`, status 2) if it is not locked.
    pub fn unlock(&self) {
        // Ordering: Release pairs with the Acquire of `lock`.
        let new = self.state.fetch_sub(LOCKED, Release).wrapping_sub(LOCKED);
        if new != 0 {
            self.unlock_slow(new);
        }
    }

    #[cold]
    fn unlock_slow(&self, new: u32) {
        if new.wrapping_add(LOCKED) & LOCKED == 0 {
            fatal(&["fatal error: sync: unlock of unlocked mutex"]);
        }
        if new & STARVING != 0 {
            return self.sema.release(true);
        }
        let mut old = new;
        // MUTEX-4
        while old >= WAITER && old & (LOCKED | WOKEN | STARVING) == 0 {
            let next = (old - WAITER) | WOKEN;
            // Ordering: Relaxed: the semaphore orders the wake-up.
            match self.state.compare_exchange(old, next, Relaxed, Relaxed) {
                Ok(_) => return self.sema.release(false),
                Err(now) => old = now,
            }
        }
    }
}

impl Default for RawMutex {
    fn default() -> Self {
        RawMutex::new()
    }
}

/// Spec: MUTEX-2: only while somebody else can make progress and nothing of our own waits.
fn may_spin(rounds: u32) -> bool {
    let Some(m) = current() else { return false };
    let sched = m.sched();
    // Ordering: hints.
    let resting = sched.idle_procs.load(Relaxed) + sched.spinners.load(Relaxed) + 1;
    rounds < MUTEX_SPIN_ROUNDS
        && cpus() > 1
        && sched.procs.len() as u32 > resting
        && m.held().ring.is_empty()
}

fn cpus() -> usize {
    use std::sync::OnceLock;
    static CPUS: OnceLock<usize> = OnceLock::new();
    *CPUS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Data under a [`RawMutex`]. Unlike `std`'s, waiting parks the goroutine and never its thread, and there is
/// no poisoning.
pub struct Mutex<T: ?Sized> {
    raw: RawMutex,
    data: UnsafeCell<T>,
}

// SAFETY: the lock gives one thread at a time access.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
// SAFETY: plain ownership.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}

/// Access to the data of a locked [`Mutex`]; unlocks when dropped. May move between threads with its
/// goroutine.
#[must_use = "the mutex is unlocked when the guard is dropped"]
pub struct MutexGuard<'a, T: ?Sized>(&'a Mutex<T>);

// SAFETY: as `&T`.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    /// Unlocked.
    pub const fn new(data: T) -> Mutex<T> {
        Mutex { raw: RawMutex::new(), data: UnsafeCell::new(data) }
    }
    /// The data.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks; waits if it is locked.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.raw.lock();
        MutexGuard(self)
    }
    /// Locks if that needs no waiting.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.raw.try_lock().then(|| MutexGuard(self))
    }
    /// The data, without locking: nobody else has a reference.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard exists, so the lock is ours.
        unsafe { &*self.0.data.get() }
    }
}
impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        unsafe { &mut *self.0.data.get() }
    }
}
impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.0.raw.unlock();
    }
}
impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(data) => f.debug_tuple("Mutex").field(&&*data).finish(),
            None => f.write_str("Mutex(<locked>)"),
        }
    }
}
