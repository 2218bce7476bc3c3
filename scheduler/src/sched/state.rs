//! What exists: processors, worker threads, and the state they share. Spec: §1. Go: `p`, `m`, `schedt`.
//!
//! # Invariants
//! - I1 A worker runs user code only while it holds a P (M-3); `P::m` and `M::p` name each other then.
//! - I2 Idle Ps and idle Ms are LIFO lists under [`Sched::lock`]; `idle_procs` mirrors a length (P-3, M-6).
//! - I3 Nothing here is freed before the runtime ends: raw pointers to P, M and G stay valid.
//! - I4 Owner-only cells of a P belong to the worker that holds it.
//! # Not here
//! Decisions (`find`, `wake`) and the loop of a worker (`worker`).

use crate::coro::stack::Pool;
use crate::policy::Policy;
use crate::runq::{List, Ring, order::StealOrder};
use crate::sched::metrics::{Counters, ProcCounters};
use crate::sched::park::Action;
use crate::sched::poll::Poller;
use crate::sched::timers::Timers;
use crate::shim::Ordering::{Acquire, Relaxed, Release};
use crate::shim::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Condvar, Mutex, Note, RawLock,
};
use crate::task::{Arena, G, Stack};
use std::cell::{Cell, UnsafeCell};
use std::ptr;

/// Status codes of a P. Spec: P-1.
pub(crate) mod pstatus {
    pub(crate) const IDLE: u32 = 0;
    pub(crate) const RUNNING: u32 = 1;
}

/// A processor: the right to run user code, and the queues that come with it. Spec: P-2.
#[repr(align(128))]
pub(crate) struct P {
    pub(crate) id: u32,
    pub(crate) ring: Ring<G>,
    pub(crate) status: AtomicU32,
    /// Fresh runs so far. Written by the owner.
    pub(crate) tick: AtomicU32,
    /// System calls left and Ps lost so far.
    pub(crate) syscall_tick: AtomicU32,
    /// sysmon asks the running goroutine to yield at its next runtime entry. Spec: PREEMPT-R3.
    pub(crate) preempt: AtomicBool,
    pub(crate) m: AtomicPtr<M>,
    /// The offers of the goroutine that runs here (`prim::join`), or null.
    pub(crate) forks: AtomicPtr<()>,
    pub(crate) timers: Timers,
    pub(crate) count: ProcCounters,
    pub(crate) own: UnsafeCell<OwnP>,
    idle_link: Cell<*const P>,
    pub(crate) seen: UnsafeCell<Seen>,
}

/// Touched by the holder of the P only (I4).
pub(crate) struct OwnP {
    /// Dead goroutines to reuse, warmest last. Spec: NEW-5.
    pub(crate) free: Vec<*mut G>,
    /// Stacks to reuse, warmest last.
    pub(crate) stacks: Vec<*mut Stack>,
    pub(crate) next_id: u64,
    pub(crate) end_id: u64,
}

/// What sysmon saw last; touched by sysmon only. Spec: SLICE-1, RETAKE-1.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) tick: u32,
    pub(crate) tick_at: u64,
    pub(crate) syscall_tick: u32,
    pub(crate) syscall_at: u64,
}

// SAFETY: cells follow I4 and the comments on them; the rest is atomic or locked.
unsafe impl Sync for P {}
// SAFETY: as above.
unsafe impl Send for P {}

/// A worker thread. Spec: M-1.
pub(crate) struct M {
    pub(crate) id: u32,
    pub(crate) sched: *const Sched,
    pub(crate) p: AtomicPtr<P>,
    pub(crate) next_p: AtomicPtr<P>,
    pub(crate) old_p: Cell<*const P>,
    /// Set by the waker before the wake, then by the worker itself.
    pub(crate) spinning: AtomicBool,
    pub(crate) cur: AtomicPtr<G>,
    /// The goroutine locked to this worker, or null. Spec: LOCK-1.
    pub(crate) locked_g: AtomicPtr<G>,
    pub(crate) note: Note,
    pub(crate) rng: Cell<u64>,
    /// What the goroutine asked for when it left.
    pub(crate) action: Cell<Action>,
}

// SAFETY: cells are touched by the worker's own thread only; the rest is atomic.
unsafe impl Sync for M {}
// SAFETY: as above.
unsafe impl Send for M {}

/// What the scheduler's lock protects. Spec: S-1.
pub(crate) struct Central {
    pub(crate) queue: List<G>,
    idle_p: *const P,
    pub(crate) idle_m: Vec<*const M>,
    /// Every worker ever made. Spec: M-5.
    #[allow(
        clippy::vec_box,
        reason = "workers are pointed to: growing the list must not move them"
    )]
    pub(crate) workers: Vec<Box<M>>,
    /// Workers whose thread has ended.
    pub(crate) ended: usize,
    /// Workers parked as owners of a locked goroutine. Spec: M-2 (d).
    pub(crate) idle_locked: isize,
    /// Threads blocked in `block_on`, waiting for a main goroutine.
    pub(crate) callers: isize,
}

/// The scheduler of one runtime.
pub(crate) struct Sched {
    pub(crate) policy: Policy,
    /// The policy is the reference: run the copy that has it as constants.
    pub(crate) is_go: bool,
    pub(crate) procs: Box<[P]>,
    pub(crate) order: StealOrder,
    lock: RawLock,
    central: UnsafeCell<Central>,
    /// Length of the global queue; written under the lock, read as a hint.
    pub(crate) global_len: AtomicUsize,
    pub(crate) idle_procs: AtomicU32,
    pub(crate) spinners: AtomicU32,
    pub(crate) need_spinning: AtomicBool,
    idle_mask: Box<[AtomicU64]>,
    timer_mask: Box<[AtomicU64]>,
    pub(crate) poller: Poller,
    pub(crate) sysmon: SysmonState,
    /// The runtime ends.
    pub(crate) stop: AtomicBool,
    /// Somebody forked once (`prim::join`): thieves look for offers.
    pub(crate) forks_used: AtomicBool,
    /// The kernel has an asymmetric fence, so that an offer needs none.
    pub(crate) light_offers: bool,
    /// Where goroutines live, and the shared part of the cache of dead ones.
    pub(crate) arena: Mutex<Arena>,
    pub(crate) free: Mutex<Vec<*mut G>>,
    /// Where stacks come from, and the shared part of the cache of unused ones.
    pub(crate) pool: Mutex<Pool>,
    pub(crate) free_stacks: Mutex<Vec<*mut Stack>>,
    pub(crate) next_id: AtomicU64,
    pub(crate) count: Counters,
    pub(crate) max_threads: u32,
    pub(crate) deadlock: crate::sched::deadlock::DeadlockReport,
    /// Workers and sysmon that still live; the last to leave wakes who waits.
    pub(crate) threads: Threads,
}

/// How sysmon sleeps and is woken. Spec: SYS-3.
pub(crate) struct SysmonState {
    pub(crate) note: Note,
    pub(crate) deep: AtomicBool,
}

/// Counts living threads of the runtime.
pub(crate) struct Threads {
    pub(crate) live: Mutex<u32>,
    pub(crate) none: Condvar,
}

// SAFETY: `central` is touched under `lock` only; the raw pointers inside follow I3.
unsafe impl Sync for Sched {}
// SAFETY: as above.
unsafe impl Send for Sched {}

/// What a runtime is built from.
pub(crate) struct Plan {
    pub(crate) procs: usize,
    pub(crate) policy: Policy,
    pub(crate) stack_bytes: usize,
    pub(crate) guard: crate::coro::stack::Guard,
    pub(crate) max_threads: u32,
    pub(crate) deadlock: crate::sched::deadlock::DeadlockReport,
}

impl P {
    fn new(id: u32) -> P {
        P {
            id,
            ring: Ring::new(),
            status: AtomicU32::new(pstatus::IDLE),
            tick: AtomicU32::new(0),
            syscall_tick: AtomicU32::new(0),
            preempt: AtomicBool::new(false),
            m: AtomicPtr::new(ptr::null_mut()),
            forks: AtomicPtr::new(ptr::null_mut()),
            timers: Timers::new(),
            count: ProcCounters::default(),
            own: UnsafeCell::new(OwnP {
                free: Vec::new(),
                stacks: Vec::new(),
                next_id: 0,
                end_id: 0,
            }),
            idle_link: Cell::new(ptr::null()),
            seen: UnsafeCell::new(Seen::default()),
        }
    }
}

impl M {
    pub(crate) fn new(id: u32, sched: &Sched) -> M {
        M {
            id,
            sched,
            p: AtomicPtr::new(ptr::null_mut()),
            next_p: AtomicPtr::new(ptr::null_mut()),
            old_p: Cell::new(ptr::null()),
            spinning: AtomicBool::new(false),
            cur: AtomicPtr::new(ptr::null_mut()),
            locked_g: AtomicPtr::new(ptr::null_mut()),
            note: Note::new(),
            rng: Cell::new(seed(id)),
            action: Cell::new(Action::None),
        }
    }

    #[inline]
    pub(crate) fn sched(&self) -> &Sched {
        // SAFETY: a scheduler outlives its workers (I3).
        unsafe { &*self.sched }
    }

    /// The P that this worker holds, if it holds one.
    #[inline]
    pub(crate) fn p(&self) -> Option<&P> {
        // Ordering: Acquire: sysmon may have taken it (syscall exit reads); own store otherwise.
        // SAFETY: Ps live as long as the scheduler (I3).
        unsafe { self.p.load(Acquire).as_ref() }
    }

    /// The P, where holding one is certain.
    ///
    /// # Panics
    /// M-3, if the worker holds none.
    #[inline]
    pub(crate) fn held(&self) -> &P {
        self.p().expect("M-3: a worker without a P runs user code")
    }

    /// The next number of the worker's own generator (xorshift64*, upper half).
    #[inline]
    pub(crate) fn random(&self) -> u32 {
        let mut x = self.rng.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.rng.set(x);
        (x.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32
    }
}

/// Differs between workers and between runs; never 0.
fn seed(id: u32) -> u64 {
    let x = crate::shim::now() ^ (u64::from(id) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x | 1
}

impl Sched {
    /// All Ps idle, lowest id first on top of the pushed order, so the highest is woken first. Spec: P-5.
    pub(crate) fn new(plan: Plan) -> Sched {
        let n = u32::try_from(plan.procs).expect("the builder limits the number of Ps");
        let words = (plan.procs).div_ceil(64);
        let masks = || (0..words).map(|_| AtomicU64::new(0)).collect::<Box<[AtomicU64]>>();
        let sched = Sched {
            // Whether sysmon preempts is asked of the value, never of `Rules`.
            is_go: Policy { preempt: true, ..plan.policy.clone() } == Policy::go(),
            policy: plan.policy,
            procs: (0..n).map(P::new).collect(),
            order: StealOrder::new(n),
            lock: RawLock::new(),
            central: UnsafeCell::new(Central {
                queue: List::new(),
                idle_p: ptr::null(),
                idle_m: Vec::new(),
                workers: Vec::new(),
                ended: 0,
                idle_locked: 0,
                callers: 0,
            }),
            global_len: AtomicUsize::new(0),
            idle_procs: AtomicU32::new(0),
            spinners: AtomicU32::new(0),
            need_spinning: AtomicBool::new(false),
            idle_mask: masks(),
            timer_mask: masks(),
            poller: Poller::new(),
            sysmon: SysmonState { note: Note::new(), deep: AtomicBool::new(false) },
            stop: AtomicBool::new(false),
            forks_used: AtomicBool::new(false),
            light_offers: crate::shim::heavy_fence_available(),
            arena: Mutex::new(Arena::new()),
            free: Mutex::new(Vec::new()),
            pool: Mutex::new(Pool::new(plan.stack_bytes, plan.guard)),
            free_stacks: Mutex::new(Vec::new()),
            next_id: AtomicU64::new(1),
            count: Counters::default(),
            max_threads: plan.max_threads,
            deadlock: plan.deadlock,
            threads: Threads { live: Mutex::new(0), none: Condvar::new() },
        };
        sched.locked(|central| sched.procs.iter().for_each(|p| sched.put_idle(central, p)));
        sched
    }

    /// Runs `f` under the scheduler's lock (S-2: short, and nothing is readied, polled or created in it).
    pub(crate) fn locked<R>(&self, f: impl FnOnce(&mut Central) -> R) -> R {
        self.lock();
        // SAFETY: the lock is held, and released below; a panic in `f` ends the process or the test.
        let result = f(unsafe { &mut *self.central.get() });
        self.unlock();
        result
    }

    pub(crate) fn lock(&self) {
        self.lock.lock();
    }

    pub(crate) fn unlock(&self) {
        // SAFETY: `Hub`'s contract (I1 of `world`): paired with `lock`.
        unsafe { self.lock.unlock() }
    }

    /// What the lock protects.
    ///
    /// # Safety
    /// 1. The caller holds the lock and has no other reference to it.
    #[allow(clippy::mut_from_ref, reason = "the lock, not the reference, is the permission")]
    pub(crate) unsafe fn central(&self) -> &mut Central {
        // SAFETY: (1).
        unsafe { &mut *self.central.get() }
    }

    // ---- Masks: hints for thieves, changed under the lock. Spec: P-4.

    fn mask_set(mask: &[AtomicU64], id: u32, on: bool) {
        let (word, bit) = (&mask[(id / 64) as usize], 1u64 << (id % 64));
        // Ordering: Release so that who sees the bit sees what led to it; hints need no more (P-4).
        if on {
            word.fetch_or(bit, Release)
        } else {
            word.fetch_and(!bit, Release)
        };
    }
    fn mask_get(mask: &[AtomicU64], id: u32) -> bool {
        // Ordering: Acquire pairs with `mask_set`.
        mask[(id / 64) as usize].load(Acquire) & (1u64 << (id % 64)) != 0
    }
    pub(crate) fn is_idle(&self, id: u32) -> bool {
        Self::mask_get(&self.idle_mask, id)
    }
    pub(crate) fn may_have_timers(&self, id: u32) -> bool {
        Self::mask_get(&self.timer_mask, id)
    }

    /// Spec: P-3, P-4. Go: `pidleput`.
    ///
    /// # Panics
    /// P-3, if its queue is not empty.
    pub(crate) fn put_idle(&self, central: &mut Central, p: &P) {
        assert!(p.ring.is_empty(), "P-3: an idle P with work in its queue");
        p.status.store(pstatus::IDLE, Release); // Ordering: sysmon's look; see `sysmon`.
        p.m.store(ptr::null_mut(), Release);
        if p.timers.deadline() == 0 {
            Self::mask_set(&self.timer_mask, p.id, false);
        }
        Self::mask_set(&self.idle_mask, p.id, true);
        p.idle_link.set(central.idle_p);
        central.idle_p = p;
        self.idle_procs.fetch_add(1, Release); // Ordering: hint for wakep, ordered by its fences.
    }

    /// Most recently idle first. Spec: P-3, P-4. Go: `pidleget`.
    pub(crate) fn take_idle<'a>(&'a self, central: &mut Central) -> Option<&'a P> {
        // SAFETY: Ps live as long as the scheduler (I3).
        let p = unsafe { central.idle_p.as_ref() }?;
        central.idle_p = p.idle_link.get();
        Self::mask_set(&self.timer_mask, p.id, true);
        Self::mask_set(&self.idle_mask, p.id, false);
        self.idle_procs.fetch_sub(1, Release); // Ordering: as in `put_idle`.
        Some(p)
    }

    /// No P is idle any more: the end of the runtime has taken them all.
    pub(crate) fn forget_idle(&self, central: &mut Central) {
        while self.take_idle(central).is_some() {}
    }

    /// The global queue's tail. Spec: GQ-2.
    ///
    /// # Safety
    /// 1. `g` is live, runnable and on no list.
    pub(crate) unsafe fn push_global(&self, central: &mut Central, g: *mut G) {
        // SAFETY: (1).
        unsafe { central.queue.push_back(g) };
        self.global_len.store(central.queue.len(), Relaxed); // Ordering: a hint (GQ-1).
    }

    pub(crate) fn pop_global(&self, central: &mut Central) -> Option<*mut G> {
        let g = central.queue.pop_front();
        self.global_len.store(central.queue.len(), Relaxed); // Ordering: a hint (GQ-1).
        g
    }
}
