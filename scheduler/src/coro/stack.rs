//! Where goroutine stacks come from: slabs of reserved, lazily committed, guarded slots.
//!
//! Question: what does a parked goroutine cost? One touched page, and its record elsewhere. A slot is, from
//! low to high: guard, stack, and at the very top a header that the owner of the pool places there (the
//! coroutine's), so that header and first frames share that page. Spec: NEW-5, NEW-6.
//!
//! # Invariants
//! - I1 Slots are never unmapped before the pool is dropped (G-7), and the pool is dropped only when no
//!   code runs on them.
//! - I2 The lowest `guard` bytes of a slot fault on any access. Frames larger than a page probe each page
//!   (rustc does this on x86-64 and aarch64), so they cannot jump the guard.
//! - I3 `SLABS`, which the fault handler reads, names every mapped slab of the process.
//! # Not here
//! Who uses a slot: a goroutine has one from its first run to its end; `sched::spawn` keeps those between.
//!
//! On Linux 6.13 and later guards are `MADV_GUARD_INSTALL`: they do not split the mapping, so a million
//! guarded stacks need a handful of map entries. Elsewhere each guard is an `mprotect`, which costs two
//! entries of `vm.max_map_count`, and the pool refuses before the kernel does.

use crate::shim::Ordering::{Acquire, Relaxed, Release};
use crate::shim::{AtomicUsize, unmodelled::AtomicPtr};
use corosensei::stack::{Stack, StackPointer};
use std::io;
use std::ptr::{self, NonNull};

/// Slots per slab: one mapping, one entry of [`SLABS`].
const SLAB_SLOTS: usize = 64;
/// Headers are spread over this many cache lines of their page, or all would share one L1 set.
const COLOURS: usize = 16;
/// Bytes kept for the header, a multiple of the cache line.
pub(crate) const HEADER_BYTES: usize = 128;

const MADV_GUARD_INSTALL: libc::c_int = 102;

/// How the lowest pages of a stack are made to fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// `MADV_GUARD_INSTALL` where the kernel has it (Linux 6.13), otherwise `mprotect`.
    Auto,
    /// `mprotect` always: two entries of the kernel's map table a stack.
    Mprotect,
}

/// A stack that a coroutine runs on: bounds only, the memory belongs to the [`Pool`].
#[derive(Clone, Copy)]
pub(crate) struct StackSlot {
    base: StackPointer,
    limit: StackPointer,
}

// SAFETY: `limit..base` is mapped, at least `MIN_STACK_SIZE`, and its lowest pages are guards (I2).
unsafe impl Stack for StackSlot {
    fn base(&self) -> StackPointer {
        self.base
    }
    fn limit(&self) -> StackPointer {
        self.limit
    }
}

/// One mapping, known to the fault handler.
pub(crate) struct Slab {
    next: *mut Slab,
    start: AtomicUsize,
    slot: usize,
    guard: usize,
}

/// All slabs of the process. Entries are never freed, only emptied (`start` = 0) and reused by nobody.
static SLABS: AtomicPtr<Slab> = AtomicPtr::new(ptr::null_mut());

/// What the fault handler learns about an address.
pub(crate) struct Hit {
    /// Where the header of the slot lies.
    pub(crate) header: *mut u8,
    /// The slot's guard holds the address.
    pub(crate) in_guard: bool,
    /// Usable bytes of the stack.
    pub(crate) usable: usize,
}

/// Whose stack holds `address`. Async-signal-safe.
pub(crate) fn find(address: usize) -> Option<Hit> {
    let mut at = SLABS.load(Acquire); // Ordering: pairs with `Slab::publish`.
    // SAFETY: entries are never freed.
    while let Some(slab) = unsafe { at.as_ref() } {
        let start = slab.start.load(Relaxed); // Ordering: a range is used only while its pool lives.
        if start != 0 && (start..start + slab.slot * SLAB_SLOTS).contains(&address) {
            let index = (address - start) / slab.slot;
            let low = start + index * slab.slot;
            let header = header_address(low, slab.slot, index);
            let usable = header - low - slab.guard;
            let in_guard = address < low + slab.guard;
            return Some(Hit { header: header as *mut u8, in_guard, usable });
        }
        at = slab.next;
    }
    None
}

fn header_address(low: usize, slot: usize, index: usize) -> usize {
    low + slot - HEADER_BYTES - (index % COLOURS) * 64
}

impl Slab {
    fn publish(start: usize, slot: usize, guard: usize) -> &'static Slab {
        let slab = Box::into_raw(Box::new(Slab {
            next: ptr::null_mut(),
            start: AtomicUsize::new(start),
            slot,
            guard,
        }));
        let mut head = SLABS.load(Relaxed); // Ordering: the CAS decides.
        loop {
            // SAFETY: not yet public.
            unsafe { (*slab).next = head };
            // Ordering: Release publishes the entry to `find`.
            match SLABS.compare_exchange(head, slab, Release, Relaxed) {
                // SAFETY: leaked on purpose, see `SLABS`.
                Ok(_) => return unsafe { &*slab },
                Err(now) => head = now,
            }
        }
    }
}

/// Hands out slots and unmaps them all when dropped.
pub(crate) struct Pool {
    slot: usize,
    guard: usize,
    with_madvise: bool,
    slabs: Vec<&'static Slab>,
    used_in_last: usize,
}

impl Pool {
    /// For slots of `bytes` (rounded up to pages), guards included.
    pub(crate) fn new(bytes: usize, guard: Guard) -> Pool {
        // SAFETY: no pointers.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let slot = bytes.next_multiple_of(page);
        let guard_bytes = (slot / 16).next_multiple_of(page).min(16 << 10).max(page);
        Pool {
            slot,
            guard: guard_bytes,
            with_madvise: guard == Guard::Auto && madvise_guards(page),
            slabs: Vec::new(),
            used_in_last: SLAB_SLOTS,
        }
    }

    /// Stacks handed out so far.
    pub(crate) fn len(&self) -> usize {
        (self.slabs.len() * SLAB_SLOTS + self.used_in_last).saturating_sub(SLAB_SLOTS)
    }

    /// Header address and stack of a fresh slot. Maps a slab every 64 calls: about a microsecond a slot.
    ///
    /// # Errors
    /// The kernel refuses memory, or its map table has no room for more guards; the text says which
    /// setting to raise.
    pub(crate) fn take(&mut self) -> io::Result<(NonNull<u8>, StackSlot)> {
        if self.used_in_last == SLAB_SLOTS {
            let slab = self.map_slab()?;
            self.slabs.push(slab);
            self.used_in_last = 0;
        }
        let slab = self.slabs[self.slabs.len() - 1];
        let index = self.used_in_last;
        let low = slab.start.load(Relaxed) + index * self.slot; // Ordering: set by this pool.
        self.install_guard(low)?;
        self.used_in_last += 1;
        let header = header_address(low, self.slot, index);
        let base = StackPointer::new(header).expect("a mapping is not at 0");
        let limit = StackPointer::new(low).expect("a mapping is not at 0");
        let header = NonNull::new(header as *mut u8).expect("a mapping is not at 0");
        Ok((header, StackSlot { base, limit }))
    }

    /// Every header handed out so far, oldest first.
    pub(crate) fn headers(&self) -> impl Iterator<Item = NonNull<u8>> + '_ {
        (0..self.len()).map(|i| {
            let (slab, index) = (self.slabs[i / SLAB_SLOTS], i % SLAB_SLOTS);
            let low = slab.start.load(Relaxed) + index * self.slot; // Ordering: set by this pool.
            NonNull::new(header_address(low, self.slot, index) as *mut u8).expect("not at 0")
        })
    }

    fn map_slab(&self) -> io::Result<&'static Slab> {
        let bytes = self.slot * SLAB_SLOTS;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: a fresh anonymous mapping.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, prot, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(self.refusal(&io::Error::last_os_error()));
        }
        // With transparent huge pages on "always", one touched page would cost 2 MiB. Advice: may fail.
        // SAFETY: our mapping.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
        Ok(Slab::publish(start as usize, self.slot, self.guard))
    }

    fn install_guard(&self, low: usize) -> io::Result<()> {
        let at = low as *mut libc::c_void;
        let rc = if self.with_madvise {
            // SAFETY: the lowest pages of our unused slot.
            unsafe { libc::madvise(at, self.guard, MADV_GUARD_INSTALL) }
        } else {
            // SAFETY: as above.
            unsafe { libc::mprotect(at, self.guard, libc::PROT_NONE) }
        };
        if rc == 0 { Ok(()) } else { Err(self.refusal(&io::Error::last_os_error())) }
    }

    fn refusal(&self, cause: &io::Error) -> io::Error {
        let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
        let way_out = if self.with_madvise {
            "raise the memory limit or build the runtime with a smaller stack_size".to_string()
        } else {
            format!(
                "each guard page splits a mapping and vm.max_map_count is {}: raise it (sysctl \
                 vm.max_map_count), or run on Linux 6.13 or later, where guards cost no map entry",
                limit.trim()
            )
        };
        io::Error::new(
            cause.kind(),
            format!("no stack for goroutine number {}: {cause}; {way_out}", self.len() + 1),
        )
    }

    /// Gives all memory back.
    ///
    /// # Safety
    /// 1. No code runs on any slot, and nothing points into one.
    pub(crate) unsafe fn unmap(&mut self) {
        for slab in self.slabs.drain(..) {
            let start = slab.start.swap(0, Relaxed); // Ordering: I3; nobody faults there any more, by (1).
            // SAFETY: mapped by `map_slab`, unused by (1).
            unsafe { libc::munmap(start as *mut libc::c_void, self.slot * SLAB_SLOTS) };
        }
        self.used_in_last = SLAB_SLOTS;
    }
}

/// Asks the kernel once, on a page of our own.
fn madvise_guards(page: usize) -> bool {
    use std::sync::OnceLock;
    static HAVE: OnceLock<bool> = OnceLock::new();
    *HAVE.get_or_init(|| {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh anonymous mapping, unmapped below.
        let at = unsafe { libc::mmap(ptr::null_mut(), page, prot, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return false;
        }
        // SAFETY: our page.
        let rc = unsafe { libc::madvise(at, page, MADV_GUARD_INSTALL) };
        // SAFETY: our page, unused.
        unsafe { libc::munmap(at, page) };
        rc == 0
    })
}

// SAFETY: addresses only; the pool is under the scheduler's lock.
unsafe impl Send for Pool {}
// SAFETY: as above: `Slab` is atomics and constants.
unsafe impl Sync for Slab {}
