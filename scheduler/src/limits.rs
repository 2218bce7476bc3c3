//! Every constant of the algorithm, with its unit in the name and the Go symbol it answers to.

/// Slots of a P's ring. Spec: RQ-1. Go: `p.runq`.
#[cfg(not(all(test, sched_loom)))]
pub(crate) const RING_SLOTS: u32 = 256;
/// Small enough for the model to wrap.
#[cfg(all(test, sched_loom))]
pub(crate) const RING_SLOTS: u32 = 4;
/// Most goroutines taken from the global queue at once. Spec: GQ-4. Go: `len(pp.runq)/2`.
pub(crate) const GLOBAL_BATCH: u32 = RING_SLOTS / 2;
/// Fresh runs between two looks at the global queue. Spec: GQ-5. Go: `schedule`, the 61.
pub const FAIRNESS_TICKS: u32 = 61;
/// Passes of one search over all Ps. Spec: STEAL-1. Go: `stealTries`.
pub(crate) const STEAL_PASSES: u32 = 4;
/// Nominal pause before runnext of a busy P is stolen, in nanoseconds. Spec: RQ-11. Go: `runqgrab`, usleep(3).
pub(crate) const NEXT_STEAL_PAUSE_NS: u64 = 3_000;
/// Longest run of one goroutine before sysmon asks it to yield, in nanoseconds (10 ms).
/// Spec: SLICE-1. Go: `forcePreemptNS`.
pub const FORCE_PREEMPT_NS: u64 = 10_000_000;
/// Shortest sleep of sysmon between rounds, in nanoseconds. Spec: SYS-2. Go: `sysmon`, 20 us.
pub(crate) const SYSMON_MIN_SLEEP_NS: u64 = 20_000;
/// Longest sleep of sysmon between rounds, in nanoseconds. Spec: SYS-2. Go: `sysmon`, 10 ms.
pub(crate) const SYSMON_MAX_SLEEP_NS: u64 = 10_000_000;
/// Rounds without a retake before sysmon's sleep doubles. Spec: SYS-2.
pub(crate) const SYSMON_IDLE_ROUNDS: u32 = 50;
/// Longest deep sleep of sysmon, in nanoseconds (60 s). Spec: SYS-3. Go: `forcegcperiod / 2`.
pub(crate) const SYSMON_DEEP_SLEEP_NS: u64 = 60_000_000_000;
/// A P whose goroutine is in a system call is left alone for this long when nothing waits for it,
/// in nanoseconds. Spec: RETAKE-1. Go: `retake`, 10 ms.
pub(crate) const RETAKE_IDLE_NS: u64 = 10_000_000;
/// Ms that may exist at once. Spec: M-5. Go: `sched.maxmcount`.
pub const MAX_THREADS: u32 = 10_000;
/// Goroutine ids that a P reserves at a time. Spec: G-6. Go: `_GoidCacheBatch`.
pub(crate) const GOID_BATCH: u64 = 16;
/// Free goroutines that a P keeps before it spills. Spec: NEW-5. Go: `gfput`.
pub(crate) const FREE_G_SPILL_AT: usize = 64;
/// What is left after a spill, and the size of a refill. Spec: NEW-5. Go: `gfput`, `gfget`.
pub(crate) const FREE_G_KEEP: usize = 32;
/// Children of a node in the timer heap. Spec: TIMER-2. Go: `timerHeapN`.
pub(crate) const TIMER_HEAP_ARITY: usize = 4;
/// Rounds of active spinning on a goroutine mutex. Spec: MUTEX-2. Go: `active_spin`.
pub(crate) const MUTEX_SPIN_ROUNDS: u32 = 4;
/// PAUSE instructions of one such round. Spec: MUTEX-2. Go: `active_spin_cnt`.
pub(crate) const MUTEX_SPIN_PAUSES: u32 = 30;
/// Wait after which a mutex starves newcomers, in nanoseconds. Spec: MUTEX-5. Go: `starvationThresholdNs`.
pub(crate) const MUTEX_STARVING_NS: u64 = 1_000_000;

/// Bytes of address space reserved for a goroutine's stack by default, its guard included (256 KiB).
/// Ours: Go's stacks are copied as they grow, Rust's cannot move (NEW-6).
pub const DEFAULT_STACK_BYTES: usize = 256 << 10;
/// Smallest stack that can be asked for, its guard included, in bytes.
pub const MIN_STACK_BYTES: usize = 16 << 10;
/// Pending forks that one goroutine offers to thieves; deeper forks run inline. Ours.
#[cfg(not(all(test, sched_loom)))]
pub(crate) const JOB_SLOTS: usize = 256;
/// Small enough for the model to wrap.
#[cfg(all(test, sched_loom))]
pub(crate) const JOB_SLOTS: usize = 2;
