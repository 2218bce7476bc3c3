//! What the scheduler counts of itself: cheap enough to be always on.
//!
//! # Invariants
//! - I1 A [`ProcCounters`] cell is written by the holder of its P only, so counting is a plain add.
//! - I2 Everything is an approximate snapshot and need not add up (METRIC-2).

use crate::sched::state::Sched;
use crate::shim::AtomicU64;
use crate::shim::Ordering::Relaxed;
use crate::task::G;

/// A counter with one writer.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Adds `n`. The caller is the only writer.
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed) + n, Relaxed); // Ordering: a number for people.
    }
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed) // Ordering: a number for people.
    }
}

/// Counted by the holder of a P (I1).
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct ProcCounters {
    pub(crate) created: Count,
    pub(crate) finished: Count,
    pub(crate) steals: Count,
    pub(crate) stolen: Count,
    pub(crate) searches: Count,
    pub(crate) global_gets: Count,
    pub(crate) overflows: Count,
    pub(crate) forks_stolen: Count,
    pub(crate) preempted: Count,
}

/// Counted from anywhere: rare events.
pub(crate) struct Counters {
    pub(crate) created_outside: AtomicU64,
    pub(crate) wakes: AtomicU64,
    pub(crate) parks: AtomicU64,
    pub(crate) handoffs: AtomicU64,
    pub(crate) retakes: AtomicU64,
    /// Workers given a P that have not begun to look for work.
    pub(crate) starting: AtomicU64,
    pub(crate) in_syscall_without_p: AtomicU64,
    pub(crate) most_spinning: AtomicU64,
}

impl Default for Counters {
    fn default() -> Counters {
        let zero = || AtomicU64::new(0);
        Counters {
            created_outside: zero(),
            wakes: zero(),
            parks: zero(),
            handoffs: zero(),
            retakes: zero(),
            starting: zero(),
            in_syscall_without_p: zero(),
            most_spinning: zero(),
        }
    }
}

/// A snapshot of a runtime's counters. Counts are since the start; names end in their unit where it is not
/// a count of events. Spec: METRIC-1, METRIC-2.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Goroutines started.
    pub goroutines_created: u64,
    /// Goroutines that live now (a gauge).
    pub goroutines: u64,
    /// Runnable goroutines in rings, runnext slots and the global queue now (a gauge).
    pub runnable: u64,
    /// Worker threads made, sysmon included.
    pub threads: u64,
    /// Successful steals from a ring or a runnext slot.
    pub steals: u64,
    /// Goroutines moved by them.
    pub stolen: u64,
    /// Searches over the other Ps (FIND-11).
    pub searches: u64,
    /// Batches and single goroutines taken from the global queue.
    pub global_gets: u64,
    /// Full rings that spilled half into the global queue (RQ-6).
    pub overflows: u64,
    /// Forks of `join` taken by another P.
    pub jobs_stolen: u64,
    /// Idle or new threads started to run a P.
    pub wakes: u64,
    /// Times a worker thread parked for want of work.
    pub parks: u64,
    /// Ps handed off by a goroutine that blocks in the kernel.
    pub handoffs: u64,
    /// Ps that sysmon took from a goroutine in a system call.
    pub retakes: u64,
    /// Time slices that ended in a yield.
    pub preempts: u64,
    /// Most threads that searched at once.
    pub most_spinning: u64,
    /// Threads that search now (a gauge).
    pub spinning: u64,
    /// Threads that were given a P and have not begun to look for work (a gauge).
    pub starting: u64,
    /// Ps idle now (a gauge).
    pub idle_procs: u64,
    /// Stacks ever made; they are reused, never freed.
    pub stacks: u64,
}

impl Sched {
    /// Raises the high-water mark of searchers.
    pub(crate) fn note_spinners(&self, now: u32) {
        self.count.most_spinning.fetch_max(u64::from(now), Relaxed); // Ordering: a number for people.
    }

    /// Numbers of the goroutines on queues. Goroutines are never freed, so a stale pointer is still one.
    pub(crate) fn queued(&self) -> Vec<u64> {
        let mut all = Vec::new();
        // SAFETY: G-7: goroutines live as long as the scheduler. Ordering: numbers for people.
        let mut id = |g: *mut G| all.push(unsafe { (*g).id.load(Relaxed) });
        self.procs.iter().for_each(|p| p.ring.for_each(&mut id));
        self.locked(|central| central.queue.for_each(id));
        all
    }

    pub(crate) fn snapshot(&self) -> Metrics {
        let sum = |f: fn(&ProcCounters) -> &Count| -> u64 {
            self.procs.iter().map(|p| f(&p.count).get()).sum()
        };
        let get = |c: &AtomicU64| c.load(Relaxed); // Ordering: numbers for people.
        let created = sum(|c| &c.created) + get(&self.count.created_outside);
        let in_rings: u64 = self.procs.iter().map(|p| u64::from(p.ring.len())).sum();
        let global = self.global_len.load(Relaxed) as u64; // Ordering: a number for people.
        Metrics {
            goroutines_created: created,
            goroutines: created.saturating_sub(sum(|c| &c.finished)),
            runnable: in_rings
                + global
                + self.procs.iter().filter(|p| p.ring.has_next()).count() as u64,
            threads: self.locked(|c| c.workers.len() as u64 + 1),
            steals: sum(|c| &c.steals),
            stolen: sum(|c| &c.stolen),
            searches: sum(|c| &c.searches),
            global_gets: sum(|c| &c.global_gets),
            overflows: sum(|c| &c.overflows),
            jobs_stolen: sum(|c| &c.forks_stolen),
            wakes: get(&self.count.wakes),
            parks: get(&self.count.parks),
            handoffs: get(&self.count.handoffs),
            retakes: get(&self.count.retakes),
            preempts: sum(|c| &c.preempted),
            most_spinning: get(&self.count.most_spinning),
            spinning: u64::from(self.spinners.load(Relaxed)), // Ordering: a number for people.
            starting: get(&self.count.starting),
            idle_procs: u64::from(self.idle_procs.load(Relaxed)), // Ordering: a number for people.
            stacks: self.pool.lock().len() as u64,
        }
    }
}
