//! What the deciding code may sense and do. Spec: §4, §5; design: one source, three worlds.
//!
//! Question: what is the seam between the rules (`find`, `wake`) and a machine? [`Hub`] is what anyone who
//! submits work sees of the shared state; [`World`] is what a worker with a P sees besides. Real threads
//! implement both in `real`; a scripted world drives the same code step by step in tests.
//!
//! # Invariants
//! - I1 Methods named `locked_*` are called only between [`Hub::lock`] and [`Hub::unlock`].
//! - I2 `lock` is never held while a goroutine is made ready, a poll is made, or a thread created (S-2).
//! # Not here
//! No decision: every `if` of the algorithm stands in `find` and `wake`.

use crate::policy::Rules;

/// The shared state, as a submitter of work sees it.
pub(crate) trait Hub {
    /// A goroutine.
    type G: Copy;
    /// A processor.
    type P: Copy;
    /// The policy in force.
    type R: Rules;

    fn rules(&self) -> &Self::R;
    /// GOMAXPROCS.
    fn procs(&self) -> u32;
    /// `fence(SeqCst)`. Spec: SPIN-8.
    fn fence(&self);
    /// nmspinning.
    fn spinners(&self) -> u32;
    /// nmspinning 0 to 1, if it was 0.
    fn first_spinner(&self) -> bool;
    /// nmspinning += 1.
    fn add_spinner(&self);
    /// nmspinning -= 1.
    fn drop_spinner(&self);
    /// npidle.
    fn idle_procs(&self) -> u32;
    fn need_spinning(&self) -> bool;
    /// To `true` only under the lock.
    fn set_need_spinning(&self, on: bool);
    /// May be wrong; the lock decides. Spec: GQ-1.
    fn global_looks_empty(&self) -> bool;

    /// Work was submitted while another P runs: the watcher of time slices must be awake. Spec: SYS-4.
    fn rouse_watch(&self);

    fn lock(&self);
    fn unlock(&self);
    fn locked_global_is_empty(&self) -> bool;
    /// Takes an idle P, most recently idle first. Spec: P-3.
    fn locked_take_idle(&self) -> Option<Self::P>;
    /// Makes `p` idle. Fatal if its queue is not empty. Spec: P-3.
    fn locked_put_idle(&self, p: Self::P);
    /// Appends to the global tail.
    fn locked_push_global(&self, g: Self::G);

    /// Gives `p` to an idle or a new worker. Spec: WAKE-2 (the mechanism).
    fn start_worker(&self, p: Self::P, spinning: bool);
    /// Is there something in the ring or runnext of `p`? Spec: RQ-13.
    fn has_work(&self, p: Self::P) -> bool;
    /// First deadline in the timers of `p`, 0: none.
    fn timer_deadline(&self, p: Self::P) -> u64;
    /// A worker is blocked in the poller (lastpoll = 0).
    fn poller_is_occupied(&self) -> bool;
    /// When that worker means to wake; 0: never or nobody.
    fn poll_until(&self) -> u64;
    /// Interrupts that worker. Spec: POLL-8.
    fn break_poll(&self);
}

/// What running timers came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timed {
    /// Earliest deadline left, 0: none.
    pub(crate) next: u64,
    /// Something ran.
    pub(crate) ran: bool,
}

/// Which part of a victim may be robbed. Spec: STEAL-4, STEAL-5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rob {
    Ring,
    RingThenNext,
}

/// The world of one worker: the shared state, its P, the other Ps, and the outside.
pub(crate) trait World {
    type G: Copy;
    type H: Hub<G = Self::G>;
    /// Positions of Ps in one pass. Spec: STEAL-2.
    type Walk: Iterator<Item = u32>;

    fn hub(&self) -> &Self::H;

    // The worker and its P.
    /// The runtime ends (or the world stops): nothing more is to be found. Spec: FIND-1.
    fn stop_pending(&self) -> bool;
    fn is_spinning(&self) -> bool;
    fn set_spinning(&self, on: bool);
    /// The P that this worker holds.
    fn proc_id(&self) -> u32;
    /// schedtick.
    fn tick(&self) -> u32;
    /// Runs own due timers. Spec: FIND-2, TIMER-8.
    fn run_own_timers(&self) -> Timed;
    /// Runnext. Spec: RQ-8 (1).
    fn take_next(&self) -> Option<Self::G>;
    /// The ring's oldest. Spec: RQ-8 (2).
    fn pop(&self) -> Option<Self::G>;
    /// One from the global queue, under its lock. Spec: GQ-3.
    fn global_one(&self) -> Option<Self::G>;
    /// A batch from the global queue: the first is returned, the others are in the ring. Spec: GQ-4.
    fn locked_global_batch(&self) -> Option<Self::G>;
    /// Gives the P up; under the lock. Spec: FIND-14.
    fn locked_release(&self);
    /// Takes `p` as this worker's.
    fn acquire(&self, p: <Self::H as Hub>::P);

    // The other Ps.
    fn walk(&self) -> Self::Walk;
    fn is_idle(&self, p: u32) -> bool;
    fn may_have_timers(&self, p: u32) -> bool;
    fn queue_is_empty(&self, p: u32) -> bool;
    /// Runs the due timers of `p` here. Spec: STEAL-5 (1).
    fn run_timers_of(&self, p: u32) -> Timed;
    fn deadline_of(&self, p: u32) -> u64;
    /// Spec: RQ-10 to RQ-12.
    fn rob(&self, victim: u32, what: Rob) -> Option<Self::G>;

    // Forks offered by running goroutines: ours, not Go's (`prim::join`).
    /// Nobody ever forked: the two methods below need not be called.
    fn forks_in_use(&self) -> bool;
    /// Is a fork on offer at `p`?
    fn has_fork(&self, p: u32) -> bool;
    /// Takes the oldest fork on offer at `p`, as a goroutine of its own.
    fn rob_fork(&self, p: u32) -> Option<Self::G>;

    // The outside.
    /// Goroutines made ready by I/O, without blocking: the first, the rest injected. Spec: FIND-9.
    fn poll_now(&self) -> Option<Self::G>;
    /// Tries to become the one worker that blocks in the poller. Spec: FIND-16.
    fn enter_poll(&self, until: u64) -> bool;
    /// Blocks in the poller until `until` (0: no limit), an event or a break; leaves the poller.
    fn block_in_poll(&self, until: u64);
    /// Parks as an idle worker until handed a P. `false`: the runtime ends. Spec: FIND-18.
    fn stop_worker(&self) -> bool;
    /// `fence(SeqCst)` after leaving the spinning state, against submitters of goroutines (F1) and, where
    /// forks are in use, against their cheaper offers.
    fn leave_fence(&self);
}
