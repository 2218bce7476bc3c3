//! Many readers or one writer. Spec: RW-1, RW-2. Go: sync/rwmutex.go.
//!
//! # Invariants
//! - I1 `readers` counts readers, minus 2^30 while a writer holds or awaits the lock.
//! - I2 `leaving` counts the readers that a pending writer still waits for; plus 2^30 if that writer has gone with its
//!   runtime: then the last of them ends the write in its place.
//! # Not here
//! Recursive reads: a reader that arrives after a pending writer blocks.

use crate::prim::mutex::RawMutex;
use crate::prim::sema::Sema;
use crate::sched::deadlock::fatal;
use crate::sched::park::enter;
use crate::shim::Ordering::{AcqRel, Acquire, Relaxed};
use crate::shim::unmodelled::AtomicU32;
use crate::task::WaitReason;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};

const MAX_READERS: i32 = 1 << 30;

/// A signed counter on the shim's word.
struct Signed(AtomicU32);

impl Signed {
    const fn new() -> Signed {
        Signed(AtomicU32::new(0))
    }
    /// Adds and returns the new value. Ordering: AcqRel: this word hands the data over.
    fn add(&self, n: i32) -> i32 {
        (self.0.fetch_add(n as u32, AcqRel) as i32).wrapping_add(n)
    }
}

/// The lock alone, without data. Go: `sync.RWMutex`.
pub struct RawRwLock {
    writers: RawMutex,
    readers: Signed,
    leaving: Signed,
    reader_sema: Sema,
    writer_sema: Sema,
}

impl RawRwLock {
    /// Unlocked.
    #[must_use]
    pub const fn new() -> RawRwLock {
        RawRwLock {
            writers: RawMutex::new(),
            readers: Signed::new(),
            leaving: Signed::new(),
            reader_sema: Sema::new(0),
            writer_sema: Sema::new(0),
        }
    }

    /// Locks for reading; waits while a writer holds or awaits the lock.
    pub fn read(&self) {
        enter();
        if self.readers.add(1) < 0 {
            self.reader_sema.acquire(false, WaitReason::RwRead, || self.give_up_read());
        }
    }

    /// A reader that waits leaves with its runtime, uncounted. `false`: the writer has ended and counted us in.
    fn give_up_read(&self) -> bool {
        let n = self.readers.0.load(Relaxed); // Ordering: the CAS decides.
        // Ordering: Relaxed: nothing is handed over. The writer that ends meanwhile cannot let another in before it
        // has released us, so that an equal word means the same writer.
        (n as i32) < 0
            && self.readers.0.compare_exchange(n, n.wrapping_sub(1), Relaxed, Relaxed).is_ok()
    }

    /// Locks for reading if that needs no waiting.
    pub fn try_read(&self) -> bool {
        let mut n = self.readers.0.load(Relaxed); // Ordering: the CAS decides.
        loop {
            if (n as i32) < 0 {
                return false;
            }
            // Ordering: Acquire: a former writer's data.
            match self.readers.0.compare_exchange_weak(n, n + 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => n = now,
            }
        }
    }

    /// Ends a read. The last reader that a writer waits for wakes it.
    ///
    /// Ends the process (`sync: RUnlock of unlocked RWMutex`, status 2) if nobody reads.
    pub fn read_unlock(&self) {
        let n = self.readers.add(-1);
        if n < 0 {
            if n + 1 == 0 || n + 1 == -MAX_READERS {
                fatal(&["fatal error: sync: RUnlock of unlocked RWMutex"]);
            }
            match self.leaving.add(-1) {
                0 => self.writer_sema.release(false),
                MAX_READERS => {
                    self.leaving.add(-MAX_READERS);
                    self.write_unlock();
                }
                _ => {}
            }
        }
    }

    /// Locks for writing; waits for other writers, then for the readers present.
    pub fn write(&self) {
        self.writers.lock_for(WaitReason::Mutex);
        let present = self.readers.add(-MAX_READERS) + MAX_READERS;
        if present != 0 && self.leaving.add(present) != 0 {
            self.writer_sema.acquire(false, WaitReason::RwWrite, || self.give_up_write());
        }
    }

    /// A writer that waits for readers leaves with its runtime: the last of them ends the write. `false`: it has
    /// left already.
    fn give_up_write(&self) -> bool {
        let n = self.leaving.0.load(Relaxed); // Ordering: the CAS decides.
        let marked = n.wrapping_add(MAX_READERS as u32);
        // Ordering: Release: pairs with the last reader's subtraction.
        n != 0 && self.leaving.0.compare_exchange(n, marked, AcqRel, Relaxed).is_ok()
    }

    /// Ends a write: all waiting readers go first, in order, then the next writer.
    ///
    /// Ends the process (`sync: Unlock of unlocked RWMutex`, status 2) if nobody writes.
    pub fn write_unlock(&self) {
        let waiting = self.readers.add(MAX_READERS);
        if waiting >= MAX_READERS {
            fatal(&["fatal error: sync: Unlock of unlocked RWMutex"]);
        }
        (0..waiting).for_each(|_| self.reader_sema.release(false));
        self.writers.unlock();
    }

    /// Locks for writing if that needs no waiting.
    pub fn try_write(&self) -> bool {
        if !self.writers.try_lock() {
            return false;
        }
        let pending = MAX_READERS.wrapping_neg() as u32;
        // Ordering: Acquire: former readers and writers.
        let free = self.readers.0.compare_exchange(0, pending, AcqRel, Relaxed).is_ok();
        if !free {
            self.writers.unlock();
        }
        free
    }
}

impl Default for RawRwLock {
    fn default() -> Self {
        RawRwLock::new()
    }
}

/// Data under a [`RawRwLock`]: waiting parks the goroutine, never its thread; no poisoning.
pub struct RwLock<T: ?Sized> {
    raw: RawRwLock,
    data: UnsafeCell<T>,
}

// SAFETY: many readers share `&T`, one writer moves `T`'s content between threads.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
// SAFETY: plain ownership.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}

/// Shared access; ends the read when dropped.
#[must_use = "the lock is released when the guard is dropped"]
pub struct ReadGuard<'a, T: ?Sized>(&'a RwLock<T>);
/// Exclusive access; ends the write when dropped.
#[must_use = "the lock is released when the guard is dropped"]
pub struct WriteGuard<'a, T: ?Sized>(&'a RwLock<T>);

impl<T> RwLock<T> {
    /// Unlocked.
    pub const fn new(data: T) -> RwLock<T> {
        RwLock { raw: RawRwLock::new(), data: UnsafeCell::new(data) }
    }
    /// The data.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Locks for reading.
    pub fn read(&self) -> ReadGuard<'_, T> {
        self.raw.read();
        ReadGuard(self)
    }
    /// Locks for writing.
    pub fn write(&self) -> WriteGuard<'_, T> {
        self.raw.write();
        WriteGuard(self)
    }
}

impl<T: ?Sized> Deref for ReadGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: a read is in progress: no writer.
        unsafe { &*self.0.data.get() }
    }
}
impl<T: ?Sized> Drop for ReadGuard<'_, T> {
    fn drop(&mut self) {
        self.0.raw.read_unlock();
    }
}
impl<T: ?Sized> Deref for WriteGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the write is ours alone.
        unsafe { &*self.0.data.get() }
    }
}
impl<T: ?Sized> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        unsafe { &mut *self.0.data.get() }
    }
}
impl<T: ?Sized> Drop for WriteGuard<'_, T> {
    fn drop(&mut self) {
        self.0.raw.write_unlock();
    }
}
