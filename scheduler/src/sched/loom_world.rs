//! A small world of model threads for the product's `find_runnable`, `wakep` and `inject`.
//!
//! Question: can a goroutine be ready, a P idle, and nobody on the way (SPIN-7)? Words that the protocol
//! turns on are loom's, with the orderings that `real` gives them; rings and notes are the product's.
//!
//! # Invariants
//! - I1 A worker that is needed while none sleeps is a new thread in the product; here the next worker that
//!   would go to sleep takes its place: the same P, the same spinning state, a little later.
//! - I2 A lost wake-up leaves every thread asleep, which the model reports as a deadlock.
//! # Not here
//! Sockets, real time: a deadline is due as soon as somebody looks at it.

use crate::policy::GoRules;
use crate::runq::{Ring, local::NextRule};
use crate::sched::world::{Hub, Rob, Timed, World};
use crate::shim::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use crate::shim::unmodelled::{AtomicBool as Plain, AtomicUsize as PlainCount};
use crate::shim::{AtomicBool, AtomicU32, AtomicU64, ModelLock, Note, fence};
use loom::cell::UnsafeCell as Checked;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ptr;
use std::sync::Arc;

/// A goroutine: a number, in a cell that fails on any access that nothing orders.
pub(crate) struct Task(Checked<u32>);

pub(crate) struct Proc {
    pub(crate) ring: Ring<Task>,
    pub(crate) deadline: AtomicU64,
}

struct Worker {
    note: Note,
    /// The P handed over, plus one.
    next_p: AtomicU32,
    spinning: AtomicBool,
}

#[derive(Default)]
struct Central {
    queue: VecDeque<*mut Task>,
    idle_p: Vec<u32>,
    idle_m: Vec<usize>,
    /// I1.
    wanted: Vec<(u32, bool)>,
}

/// What all threads share.
pub(crate) struct Shared {
    pub(crate) procs: Vec<Proc>,
    workers: Vec<Worker>,
    tasks: Vec<Task>,
    made: PlainCount,
    found: PlainCount,
    timers: bool,
    spinners: AtomicU32,
    need_spinning: AtomicBool,
    idle_procs: AtomicU32,
    idle_mask: AtomicU64,
    global_len: AtomicU32,
    /// lastpoll: 0 while somebody is inside.
    polled: AtomicU64,
    lock: ModelLock,
    central: Checked<Central>,
    stop: Plain,
}

// SAFETY: `central` is touched under `lock` only (the checked cell sees to that), tasks by whoever took them
// out of a queue.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

/// How a scenario begins.
#[derive(Clone, Copy, Default)]
pub(crate) struct Start {
    pub(crate) procs: usize,
    pub(crate) workers: usize,
    pub(crate) tasks: usize,
    /// These Ps are idle; the others belong to whom the test says.
    pub(crate) idle: &'static [u32],
    pub(crate) timers: bool,
}

impl Shared {
    pub(crate) fn new(start: Start) -> Arc<Shared> {
        let mask = start.idle.iter().fold(0, |mask, p| mask | 1 << p);
        let central = Central { idle_p: start.idle.to_vec(), ..Central::default() };
        Arc::new(Shared {
            procs: (0..start.procs)
                .map(|_| Proc { ring: Ring::new(), deadline: AtomicU64::new(0) })
                .collect(),
            workers: (0..start.workers)
                .map(|_| Worker {
                    note: Note::new(),
                    next_p: AtomicU32::new(0),
                    spinning: AtomicBool::new(false),
                })
                .collect(),
            tasks: (0..start.tasks).map(|_| Task(Checked::new(u32::MAX))).collect(),
            made: PlainCount::new(0),
            found: PlainCount::new(0),
            timers: start.timers,
            spinners: AtomicU32::new(0),
            need_spinning: AtomicBool::new(false),
            idle_procs: AtomicU32::new(start.idle.len() as u32),
            idle_mask: AtomicU64::new(mask),
            global_len: AtomicU32::new(0),
            polled: AtomicU64::new(1),
            lock: ModelLock::new(),
            central: Checked::new(central),
            stop: Plain::new(false),
        })
    }

    /// A goroutine just made, on no queue yet.
    pub(crate) fn make(&self) -> *mut Task {
        let n = self.made.fetch_add(1, Relaxed);
        // SAFETY: not submitted yet.
        self.tasks[n].0.with_mut(|p| unsafe { *p = n as u32 });
        ptr::from_ref(&self.tasks[n]).cast_mut()
    }

    /// Runs what a worker found. The last of all goroutines ends the model.
    pub(crate) fn run(&self, task: *mut Task) {
        assert!(!task.is_null(), "a slot without a goroutine");
        // SAFETY: out of a queue: ours.
        unsafe { (*task).0.with_mut(|p| *p = u32::MAX) };
        if self.found.fetch_add(1, Relaxed) + 1 == self.tasks.len() {
            self.end();
        }
    }

    fn end(&self) {
        self.lock();
        self.stop.store(true, Relaxed);
        let sleepers = self.central(|c| std::mem::take(&mut c.idle_m));
        self.unlock();
        sleepers.into_iter().for_each(|m| self.workers[m].note.wake());
    }

    fn central<R>(&self, f: impl FnOnce(&mut Central) -> R) -> R {
        // SAFETY: under the lock, which the checked cell verifies.
        self.central.with_mut(|p| f(unsafe { &mut *p }))
    }

    fn set_idle(&self, p: u32, on: bool) {
        if on {
            self.idle_mask.fetch_or(1 << p, Release);
            self.idle_procs.fetch_add(1, Release);
        } else {
            self.idle_mask.fetch_and(!(1 << p), Release);
            self.idle_procs.fetch_sub(1, Release);
        }
    }
}

impl Hub for Shared {
    type G = *mut Task;
    type P = u32;
    type R = GoRules;

    fn rules(&self) -> &GoRules {
        &GoRules
    }
    fn procs(&self) -> u32 {
        self.procs.len() as u32
    }
    fn fence(&self) {
        fence(SeqCst);
    }
    fn spinners(&self) -> u32 {
        self.spinners.load(Relaxed)
    }
    fn first_spinner(&self) -> bool {
        self.spinners.compare_exchange(0, 1, Relaxed, Relaxed).is_ok()
    }
    fn add_spinner(&self) {
        self.spinners.fetch_add(1, Relaxed);
    }
    fn drop_spinner(&self) {
        assert!(self.spinners.fetch_sub(1, Relaxed) > 0, "SPIN-1");
    }
    fn idle_procs(&self) -> u32 {
        self.idle_procs.load(Relaxed)
    }
    fn need_spinning(&self) -> bool {
        self.need_spinning.load(Relaxed)
    }
    fn set_need_spinning(&self, on: bool) {
        self.need_spinning.store(on, Relaxed);
    }
    fn global_looks_empty(&self) -> bool {
        self.global_len.load(Relaxed) == 0
    }
    fn rouse_watch(&self) {}
    fn lock(&self) {
        self.lock.lock();
    }
    fn unlock(&self) {
        self.lock.unlock();
    }
    fn locked_global_is_empty(&self) -> bool {
        self.central(|c| c.queue.is_empty())
    }
    fn locked_take_idle(&self) -> Option<u32> {
        let p = self.central(|c| c.idle_p.pop())?;
        self.set_idle(p, false);
        Some(p)
    }
    fn locked_put_idle(&self, p: u32) {
        assert!(self.procs[p as usize].ring.is_empty(), "P-3");
        self.central(|c| c.idle_p.push(p));
        self.set_idle(p, true);
    }
    fn locked_push_global(&self, g: *mut Task) {
        let len = self.central(|c| {
            c.queue.push_back(g);
            c.queue.len()
        });
        self.global_len.store(len as u32, Relaxed);
    }
    fn start_worker(&self, p: u32, spinning: bool) {
        self.lock();
        let sleeper = self.central(|c| {
            let sleeper = c.idle_m.pop();
            if sleeper.is_none() {
                c.wanted.push((p, spinning));
            }
            sleeper
        });
        self.unlock();
        if let Some(m) = sleeper {
            let m = &self.workers[m];
            m.spinning.store(spinning, Relaxed);
            m.next_p.store(p + 1, Release);
            m.note.wake();
        }
    }
    fn has_work(&self, p: u32) -> bool {
        !self.procs[p as usize].ring.is_empty()
    }
    fn timer_deadline(&self, p: u32) -> u64 {
        self.procs[p as usize].deadline.load(Acquire)
    }
    fn poller_is_occupied(&self) -> bool {
        self.polled.load(Acquire) == 0
    }
    fn poll_until(&self) -> u64 {
        0
    }
    fn break_poll(&self) {}
}

/// A worker thread of the model.
pub(crate) struct Thread<'a> {
    hub: &'a Shared,
    id: usize,
    p: Cell<Option<u32>>,
}

impl<'a> Thread<'a> {
    /// Worker `id`, holding `p`. On the model thread that it is.
    pub(crate) fn new(hub: &'a Shared, id: usize, p: Option<u32>) -> Thread<'a> {
        hub.workers[id].note.bind();
        Thread { hub, id, p: Cell::new(p) }
    }
    fn own(&self) -> &Proc {
        &self.hub.procs[self.proc_id() as usize]
    }
    /// Everything is due as soon as it is looked at; what it makes ready is this worker's runnext.
    fn run_timers(&self, p: u32) -> Timed {
        let deadline = &self.hub.procs[p as usize].deadline;
        let ran = self.hub.timers && deadline.load(Acquire) != 0 && deadline.swap(0, AcqRel) != 0;
        if ran {
            assert!(self.own().ring.swap_next(self.hub.make()).is_null());
        }
        Timed { next: 0, ran }
    }
}

impl<'a> World for Thread<'a> {
    type G = *mut Task;
    type H = Shared;
    type Walk = std::ops::Range<u32>;

    fn hub(&self) -> &Shared {
        self.hub
    }
    fn stop_pending(&self) -> bool {
        self.hub.stop.load(Relaxed)
    }
    fn is_spinning(&self) -> bool {
        self.hub.workers[self.id].spinning.load(Relaxed)
    }
    fn set_spinning(&self, on: bool) {
        self.hub.workers[self.id].spinning.store(on, Relaxed);
    }
    fn proc_id(&self) -> u32 {
        self.p.get().expect("M-3: holds a P")
    }
    fn tick(&self) -> u32 {
        1
    }
    fn run_own_timers(&self) -> Timed {
        self.run_timers(self.proc_id())
    }
    fn take_next(&self) -> Option<*mut Task> {
        self.own().ring.take_next()
    }
    fn pop(&self) -> Option<*mut Task> {
        self.own().ring.pop()
    }
    fn global_one(&self) -> Option<*mut Task> {
        unreachable!("no tick of this model is a multiple of 61")
    }
    fn locked_global_batch(&self) -> Option<*mut Task> {
        let (first, len) = self.hub.central(|c| {
            let mut n = (c.queue.len() / self.hub.procs.len() + 1).min(c.queue.len()); // GQ-4
            let first = c.queue.pop_front();
            self.own().ring.put_batch(|| {
                n = n.checked_sub(1).filter(|&left| left > 0)?;
                c.queue.pop_front()
            });
            (first, c.queue.len())
        });
        self.hub.global_len.store(len as u32, Relaxed);
        first
    }
    fn locked_release(&self) {
        self.hub.locked_put_idle(self.p.take().expect("M-3: holds a P"));
    }
    fn acquire(&self, p: u32) {
        assert_eq!(self.p.replace(Some(p)), None, "M-3: holds two Ps");
    }
    fn walk(&self) -> std::ops::Range<u32> {
        0..self.hub.procs()
    }
    fn is_idle(&self, p: u32) -> bool {
        self.hub.idle_mask.load(Acquire) & 1 << p != 0
    }
    fn may_have_timers(&self, _: u32) -> bool {
        self.hub.timers
    }
    fn queue_is_empty(&self, p: u32) -> bool {
        self.hub.procs[p as usize].ring.is_empty()
    }
    fn run_timers_of(&self, p: u32) -> Timed {
        self.run_timers(p)
    }
    fn deadline_of(&self, p: u32) -> u64 {
        self.hub.timer_deadline(p)
    }
    fn rob(&self, victim: u32, what: Rob) -> Option<*mut Task> {
        let mut rule = match what {
            Rob::Ring => NextRule::Leave,
            Rob::RingThenNext => NextRule::TakeAfter(|| {}),
        };
        let victim = &self.hub.procs[victim as usize].ring;
        victim.steal(&self.own().ring, |len| len - len / 2, &mut rule).map(|(g, _)| g)
    }
    fn forks_in_use(&self) -> bool {
        false
    }
    fn has_fork(&self, _: u32) -> bool {
        false
    }
    fn rob_fork(&self, _: u32) -> Option<*mut Task> {
        None
    }
    fn poll_now(&self) -> Option<*mut Task> {
        None
    }
    fn enter_poll(&self, until: u64) -> bool {
        let enters = until != 0 && self.hub.polled.swap(0, AcqRel) != 0;
        if enters {
            fence(SeqCst);
        }
        enters
    }
    fn block_in_poll(&self, _: u64) {
        self.hub.polled.store(1, Release);
    }
    fn stop_worker(&self) -> bool {
        let hub = self.hub;
        hub.lock();
        if self.stop_pending() {
            hub.unlock();
            return false;
        }
        let wanted = hub.central(|c| {
            let wanted = c.wanted.pop();
            if wanted.is_none() {
                c.idle_m.push(self.id);
            }
            wanted
        });
        hub.unlock();
        if let Some((p, spinning)) = wanted {
            self.set_spinning(spinning);
            self.acquire(p);
            return true;
        }
        hub.workers[self.id].note.sleep();
        let next = hub.workers[self.id].next_p.swap(0, Acquire);
        next.checked_sub(1).inspect(|&p| self.acquire(p)).is_some()
    }
    fn leave_fence(&self) {
        fence(SeqCst); // F2
    }
}
