//! A goroutine: status word, closure, coroutine, and what the scheduler remembers of it.
//! Spec: G-1 to G-7. Go: `g` in runtime2.go.
//!
//! # Invariants
//! - I1 A `G` is never freed or moved while its runtime lives (G-7): it lies in its runtime's [`Arena`]. A stack
//!   is bound to it at its first run and given back at its end, so that goroutines which have not begun cost a
//!   record and no page. (Go gives a stack at `go`: NEW-5 is not observable there.)
//! - I2 Its link is used only by the holder of the list that it is on (G-4).
//! - I3 Cells without a lock are touched by the thread that runs the goroutine, or, while it does not
//!   run, by whoever holds it (a queue's consumer, its waker): ownership passes with the queue's edges.
//! # Not here
//! Queues and transitions: `sched`.

pub(crate) mod call;

use crate::coro::{Coro, Exit, fp};
use crate::runq::Linked;
use crate::shim::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};
use call::Call;
use std::cell::{Cell, UnsafeCell};
use std::ptr;

/// Numeric codes of [`G::status`]. Spec: G-1.
pub(crate) mod status {
    /// Allocated, unset.
    pub(crate) const IDLE: u32 = 0;
    /// On exactly one queue.
    pub(crate) const RUNNABLE: u32 = 1;
    /// On a thread.
    pub(crate) const RUNNING: u32 = 2;
    /// In a declared system call.
    pub(crate) const SYSCALL: u32 = 3;
    /// Parked.
    pub(crate) const WAITING: u32 = 4;
    /// Free or exiting.
    pub(crate) const DEAD: u32 = 6;
    /// Lock bit: while set, nobody else may change the base state. Spec: SC-3.
    pub(crate) const SCAN: u32 = 0x1000;
}

/// Why a goroutine waits: the strings of Go's dumps. Spec: DEAD-7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names are the strings")]
pub(crate) enum WaitReason {
    None,
    ChanReceive,
    ChanSend,
    ChanReceiveNil,
    ChanSendNil,
    Select,
    SelectNoCases,
    Sleep,
    Mutex,
    RwRead,
    RwWrite,
    WaitGroup,
    Semacquire,
    Join,
}

const REASONS: [(WaitReason, &str); 14] = [
    (WaitReason::None, ""),
    (WaitReason::ChanReceive, "chan receive"),
    (WaitReason::ChanSend, "chan send"),
    (WaitReason::ChanReceiveNil, "chan receive (nil chan)"),
    (WaitReason::ChanSendNil, "chan send (nil chan)"),
    (WaitReason::Select, "select"),
    (WaitReason::SelectNoCases, "select (no cases)"),
    (WaitReason::Sleep, "sleep"),
    (WaitReason::Mutex, "sync.Mutex.Lock"),
    (WaitReason::RwRead, "sync.RWMutex.RLock"),
    (WaitReason::RwWrite, "sync.RWMutex.Lock"),
    (WaitReason::WaitGroup, "sync.WaitGroup.Wait"),
    (WaitReason::Semacquire, "semacquire"),
    (WaitReason::Join, "join"),
];

impl WaitReason {
    /// Go's text for the code kept in [`G::wait_reason`].
    pub(crate) fn text(code: u32) -> &'static str {
        REASONS.iter().find(|(r, _)| *r as u32 == code).map_or("", |(_, text)| text)
    }
}

/// A goroutine, or the stand-in of a plain thread that waits on a channel. What a switch touches comes first.
#[repr(C, align(64))]
pub(crate) struct G {
    pub(crate) status: AtomicU32,
    /// Its floating-point control word while it is off its thread.
    fp: Cell<u32>,
    link: UnsafeCell<*mut G>,
    /// What it runs on, from its first run to its end.
    pub(crate) stack: Cell<*mut Stack>,
    /// The M it runs on (`sched::M`), for the retake handshake and dumps.
    pub(crate) m: AtomicPtr<()>,
    /// Forks that thieves may take (`prim::join`), lazily made.
    pub(crate) jobs: AtomicPtr<()>,
    /// The M it is locked to, or null. Spec: LOCK-1.
    pub(crate) locked_m: Cell<*mut ()>,
    pub(crate) wait_reason: AtomicU32,
    /// The runtime ends: a wait that returns must unwind, not go on.
    pub(crate) unwind: AtomicBool,
    /// The current wait may be cut short by the end of the runtime.
    pub(crate) interruptible: Cell<bool>,
    /// Not a goroutine: a plain thread's stand-in; ready means unpark.
    pub(crate) outsider: bool,
    /// The scheduler it belongs to (`sched::Sched`).
    pub(crate) sched: Cell<*const ()>,
    /// Which wait record completed (`param`): written by the waker, read after the park.
    pub(crate) token: Cell<*mut ()>,
    pub(crate) id: AtomicU64,
    /// Claimed by the first waker of a select. Spec: SEL-6.
    pub(crate) select_done: AtomicU32,
    pub(crate) call: UnsafeCell<Call>,
}

/// The head of a stack: the coroutine that lives there, and whom it works for. One coroutine runs the closures
/// of many goroutines, one after another, and so stays warm.
#[repr(C, align(64))]
pub(crate) struct Stack {
    coro: UnsafeCell<Option<Coro>>,
    exit: Cell<*const Exit>,
    pub(crate) g: Cell<*mut G>,
}

const _: () = assert!(size_of::<Stack>() <= crate::coro::stack::HEADER_BYTES);
const _: () = assert!(size_of::<G>() <= 256);

// SAFETY: cells follow I3; the rest is atomic.
unsafe impl Send for G {}
// SAFETY: as above.
unsafe impl Sync for G {}

impl G {
    /// In state IDLE, without a stack.
    pub(crate) fn new(outsider: bool, sched: *const ()) -> G {
        G {
            status: AtomicU32::new(status::IDLE),
            fp: Cell::new(fp::DEFAULT),
            link: UnsafeCell::new(ptr::null_mut()),
            stack: Cell::new(ptr::null_mut()),
            m: AtomicPtr::new(ptr::null_mut()),
            jobs: AtomicPtr::new(ptr::null_mut()),
            locked_m: Cell::new(ptr::null_mut()),
            wait_reason: AtomicU32::new(0),
            unwind: AtomicBool::new(false),
            interruptible: Cell::new(false),
            outsider,
            sched: Cell::new(sched),
            token: Cell::new(ptr::null_mut()),
            id: AtomicU64::new(0),
            select_done: AtomicU32::new(0),
            call: UnsafeCell::new(Call::empty()),
        }
    }

    /// Runs it on this thread until it leaves.
    ///
    /// # Safety
    /// 1. The caller is the one thread that executes this goroutine, and it has a stack.
    #[inline]
    pub(crate) unsafe fn enter(&self) {
        if self.fp.get() != fp::DEFAULT {
            fp::set_control(self.fp.get());
        }
        // SAFETY: (1): the only reference to the coroutine is ours while it runs.
        unsafe { Coro::enter((*self.stack.get()).coro.get()) };
        let fp = fp::control();
        if fp != self.fp.get() {
            self.fp.set(fp);
        }
        if fp != fp::DEFAULT {
            fp::set_control(fp::DEFAULT);
        }
    }

    /// Switches away from the goroutine to its worker's scheduler.
    ///
    /// # Safety
    /// 1. The caller runs on this goroutine's stack.
    #[inline]
    pub(crate) unsafe fn leave(&self) {
        // SAFETY: (1); set before the body ran.
        unsafe { crate::coro::leave((*self.stack.get()).exit.get()) }
    }
}

impl Stack {
    /// Places a head at `this` and prepares the coroutine, whose body is `body(this)`, for good.
    ///
    /// # Safety
    /// 1. `this` has room for a head, is unused, and lives until the coroutine is abandoned.
    /// 2. `slot` is the unused, guarded stack below it.
    pub(crate) unsafe fn place(
        this: *mut Stack,
        slot: crate::coro::stack::StackSlot,
        body: crate::coro::Body,
    ) {
        let (coro, exit, g) =
            (UnsafeCell::new(None), Cell::new(ptr::null()), Cell::new(ptr::null_mut()));
        // SAFETY: (1), (2).
        unsafe {
            this.write(Stack { coro, exit, g });
            Coro::place((*this).coro.get(), slot, body, this.cast(), &raw const (*this).exit);
        }
    }

    /// Forgets the coroutine without dropping what is on its stack.
    ///
    /// # Safety
    /// 1. It is suspended for good, and nothing on its stack needs a drop or is borrowed.
    pub(crate) unsafe fn abandon(&self) {
        // SAFETY: (1).
        unsafe {
            if let Some(mut coro) = (*self.coro.get()).take() {
                coro.abandon();
            }
        }
    }
}

/// All goroutines of a runtime, in chunks that never move.
pub(crate) struct Arena {
    chunks: Vec<Box<[G]>>,
    used_in_last: usize,
}

const CHUNK: usize = 128;

impl Arena {
    pub(crate) const fn new() -> Arena {
        Arena { chunks: Vec::new(), used_in_last: CHUNK }
    }

    /// A goroutine in state IDLE. One allocation every 128 calls.
    pub(crate) fn take(&mut self, sched: *const ()) -> *mut G {
        if self.used_in_last == CHUNK {
            self.chunks.push((0..CHUNK).map(|_| G::new(false, sched)).collect());
            self.used_in_last = 0;
        }
        self.used_in_last += 1;
        let last = self.chunks.len() - 1;
        ptr::from_ref(&self.chunks[last][self.used_in_last - 1]).cast_mut()
    }

    /// Every goroutine that was ever taken, and some that were not yet (state IDLE).
    pub(crate) fn all(&self) -> impl Iterator<Item = &G> {
        self.chunks.iter().flatten()
    }
}

impl Linked for G {
    unsafe fn link(this: *mut G) -> *mut *mut G {
        // SAFETY: live, and the link is the caller's, by the trait's contract.
        unsafe { (*this).link.get() }
    }
}
