//! The world of real threads: [`Hub`] and [`World`] over the shared state.
//!
//! Question: what do the rules' verbs come to on a machine? Each method is one step without a choice.
//!
//! # Not here
//! Decisions: `find` and `wake`.

use crate::limits::{GLOBAL_BATCH, MAX_THREADS, NEXT_STEAL_PAUSE_NS};
use crate::policy::{GoRules, NextSteal, Rules, VictimOrder};
use crate::runq::local::NextRule;
use crate::runq::order::Walk;
use crate::sched::park::ready_on;
use crate::sched::state::{M, P, Sched, pstatus};
use crate::sched::timers::Due;
use crate::sched::world::{Hub, Rob, Timed, World};
use crate::sched::{deadlock, worker};
use crate::shim::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use crate::shim::{fence, heavy_fence, now, thread_sleep};
use crate::task::{G, status};
use std::ptr;

/// The shared state under the policy `L`, as a caller without a P sees it.
pub(crate) struct Outside<'a, L> {
    pub(crate) sched: &'a Sched,
    pub(crate) rules: &'a L,
}

/// A worker thread under the policy `L`.
pub(crate) struct Worker<'a, L> {
    pub(crate) m: &'a M,
    pub(crate) rules: &'a L,
    outside: Outside<'a, L>,
}

impl<'a> Outside<'a, GoRules> {
    pub(crate) fn go(sched: &'a Sched) -> Self {
        Outside { sched, rules: &GoRules }
    }
}

impl<'a, L> Outside<'a, L> {
    pub(crate) fn with(sched: &'a Sched, rules: &'a L) -> Self {
        Outside { sched, rules }
    }
}

impl<'a, L> Worker<'a, L> {
    pub(crate) fn new(m: &'a M, rules: &'a L) -> Self {
        Worker { m, rules, outside: Outside { sched: m.sched(), rules } }
    }
    pub(crate) fn outside(&self) -> &Outside<'a, L> {
        &self.outside
    }
}

/// Runs `$body` with `$w` a [`Worker`] of the policy in force: the one place where the policy's type is
/// chosen on a worker. Two copies of the code exist: the reference as constants, and the rest.
macro_rules! with_rules {
    ($m:expr, |$w:ident| $body:expr) => {{
        let m: &$crate::sched::state::M = $m;
        if m.sched().is_go {
            let $w = $crate::sched::real::Worker::new(m, &$crate::policy::GoRules);
            $body
        } else {
            let policy: &$crate::policy::Policy = &m.sched().policy;
            let $w = $crate::sched::real::Worker::new(m, policy);
            $body
        }
    }};
}
pub(crate) use with_rules;

impl<'a, L: Rules> Hub for Outside<'a, L> {
    type G = *mut G;
    type P = &'a P;
    type R = L;

    #[inline]
    fn rules(&self) -> &L {
        self.rules
    }
    #[inline]
    fn procs(&self) -> u32 {
        self.sched.procs.len() as u32
    }
    #[inline]
    fn fence(&self) {
        fence(SeqCst);
    }
    #[inline]
    fn spinners(&self) -> u32 {
        self.sched.spinners.load(Relaxed) // Ordering: by the fences F1 and F2.
    }
    fn first_spinner(&self) -> bool {
        // Ordering: Relaxed: the count publishes nothing; F1 and F2 order it.
        let first = self.sched.spinners.compare_exchange(0, 1, Relaxed, Relaxed).is_ok();
        if first {
            self.sched.note_spinners(1);
        }
        first
    }
    fn add_spinner(&self) {
        let before = self.sched.spinners.fetch_add(1, Relaxed); // Ordering: as `first_spinner`.
        self.sched.note_spinners(before + 1);
    }
    fn drop_spinner(&self) {
        // Ordering: F2 makes it visible in time.
        let before = self.sched.spinners.fetch_sub(1, Relaxed);
        assert!(before > 0, "SPIN-1: more left spinning than entered");
    }
    #[inline]
    fn idle_procs(&self) -> u32 {
        self.sched.idle_procs.load(Relaxed) // Ordering: a hint, ordered by the fences.
    }
    #[inline]
    fn need_spinning(&self) -> bool {
        self.sched.need_spinning.load(Relaxed) // Ordering: written under the lock or with F2 to follow.
    }
    fn set_need_spinning(&self, on: bool) {
        self.sched.need_spinning.store(on, Relaxed); // Ordering: as above.
    }
    #[inline]
    fn global_looks_empty(&self) -> bool {
        self.sched.global_len.load(Relaxed) == 0 // Ordering: a hint (GQ-1).
    }
    #[inline]
    fn rouse_watch(&self) {
        // Ordering: Relaxed: a missed look is made up by the next submission (SYS-4).
        if self.sched.sysmon.deep.load(Relaxed) && self.idle_procs() < self.procs() {
            self.sched.rouse_sysmon();
        }
    }

    fn lock(&self) {
        self.sched.lock();
    }
    fn unlock(&self) {
        self.sched.unlock();
    }
    fn locked_global_is_empty(&self) -> bool {
        // SAFETY: called under the lock (I1 of `world`).
        unsafe { self.sched.central().queue.is_empty() }
    }
    fn locked_take_idle(&self) -> Option<&'a P> {
        // SAFETY: as above.
        self.sched.take_idle(unsafe { self.sched.central() })
    }
    fn locked_put_idle(&self, p: &'a P) {
        // SAFETY: as above.
        self.sched.put_idle(unsafe { self.sched.central() }, p);
    }
    fn locked_push_global(&self, g: *mut G) {
        // SAFETY: under the lock; submitters push live, runnable goroutines that are on no queue (G-3).
        unsafe { self.sched.push_global(self.sched.central(), g) }
    }

    fn start_worker(&self, p: &'a P, spinning: bool) {
        start_worker(self.sched, p, spinning);
    }
    fn has_work(&self, p: &'a P) -> bool {
        !p.ring.is_empty()
    }
    fn timer_deadline(&self, p: &'a P) -> u64 {
        p.timers.deadline()
    }
    fn poller_is_occupied(&self) -> bool {
        self.sched.poller.is_occupied()
    }
    fn poll_until(&self) -> u64 {
        self.sched.poller.until()
    }
    fn break_poll(&self) {
        self.sched.poller.interrupt();
    }
}

/// Gives `p` to an idle worker, or to a new one. Spec: WAKE-2, M-6. Go: `startm`.
pub(crate) fn start_worker(sched: &Sched, p: &P, spinning: bool) {
    assert!(!spinning || p.ring.is_empty(), "WAKE-2: a spinning start with work in the queue");
    sched.count.wakes.fetch_add(1, Relaxed); // Ordering: a number for people.
    let found = sched.locked(|central| {
        if sched.stop.load(Relaxed) {
            return None; // Ordering: under the lock. The runtime ends: nobody is started any more.
        }
        Some(central.idle_m.pop().ok_or_else(|| {
            // Reserved under the lock, so that the deadlock check and the end of the runtime count it.
            sched.threads.enter();
            worker::reserve(sched, central)
        }))
    });
    let Some(found) = found else { return };
    // SAFETY: workers live as long as the scheduler (I3 of `state`).
    let m: &M = unsafe { &*found.unwrap_or_else(|m| m) };
    m.spinning.store(spinning, Relaxed); // Ordering: published by the note or the new thread.
    sched.count.starting.fetch_add(1, Relaxed); // Ordering: a number for people.
    m.next_p.store(ptr::from_ref(p).cast_mut(), Release); // Ordering: as above.
    match found {
        Ok(_) => m.note.wake(),
        Err(_) => worker::launch(m),
    }
}

/// Spec: RQ-11. Without it a ping-pong pair would be torn apart at every exchange.
fn pause_before_next_steal(victim: &P) {
    // Ordering: hints about the victim; either answer is safe.
    if victim.status.load(Relaxed) != pstatus::RUNNING {
        return;
    }
    // SAFETY: workers and goroutines live as long as the scheduler (I3 of `state`).
    let cur = unsafe { victim.m.load(Acquire).as_ref() }.map(|m| m.cur.load(Acquire));
    // SAFETY: as above.
    let in_syscall = cur.and_then(|g| unsafe { g.as_ref() }).is_some_and(|g| {
        g.status.load(Relaxed) & !status::SCAN == status::SYSCALL // Ordering: a hint.
    });
    if cur.is_some() && !in_syscall {
        thread_sleep(NEXT_STEAL_PAUSE_NS);
    }
}

/// One pass over the Ps: the coprime walk, or random picks. Spec: STEAL-2, AB-2.
pub(crate) enum Pass<'a> {
    Coprime(Walk),
    Random { m: &'a M, left: u32, procs: u32 },
}

impl Iterator for Pass<'_> {
    type Item = u32;
    fn next(&mut self) -> Option<u32> {
        match self {
            Pass::Coprime(walk) => walk.next(),
            Pass::Random { m, left, procs } => {
                *left = left.checked_sub(1)?;
                Some(m.random() % *procs)
            }
        }
    }
}

impl<'a, L: Rules> Worker<'a, L> {
    fn sched(&self) -> &'a Sched {
        self.outside.sched
    }
    fn proc(&self, p: u32) -> &'a P {
        &self.sched().procs[p as usize]
    }
    /// Runs due timers of `p` here; what they make ready lands on this worker's P. Spec: TIMER-10.
    fn run_timers(&self, p: &P) -> Timed {
        if p.timers.deadline() == 0 {
            return Timed::default();
        }
        p.timers.run(now(), |due| match due {
            // SAFETY: the goroutine waits for this timer alone, and the timer is out of the heap.
            Due::Ready(g) => unsafe { ready_on(self.m, g) },
            Due::Call(f) => f(),
        })
    }
}

impl<'a, L: Rules> World for Worker<'a, L> {
    type G = *mut G;
    type H = Outside<'a, L>;
    type Walk = Pass<'a>;

    #[inline]
    fn hub(&self) -> &Outside<'a, L> {
        &self.outside
    }
    #[inline]
    fn stop_pending(&self) -> bool {
        self.sched().stop.load(Acquire) // Ordering: pairs with `shutdown`.
    }
    #[inline]
    fn is_spinning(&self) -> bool {
        self.m.spinning.load(Relaxed) // Ordering: set by the waker before the wake, else own.
    }
    fn set_spinning(&self, on: bool) {
        self.m.spinning.store(on, Relaxed); // Ordering: as above.
    }
    #[inline]
    fn proc_id(&self) -> u32 {
        self.m.held().id
    }
    #[inline]
    fn tick(&self) -> u32 {
        self.m.held().tick.load(Relaxed) // Ordering: own store.
    }
    #[inline]
    fn run_own_timers(&self) -> Timed {
        self.run_timers(self.m.held())
    }
    #[inline]
    fn take_next(&self) -> Option<*mut G> {
        self.m.held().ring.take_next()
    }
    #[inline]
    fn pop(&self) -> Option<*mut G> {
        self.m.held().ring.pop()
    }
    fn global_one(&self) -> Option<*mut G> {
        self.sched().locked(|central| self.sched().pop_global(central)).inspect(|_| {
            self.m.held().count.global_gets.add(1);
        })
    }
    fn locked_global_batch(&self) -> Option<*mut G> {
        let (sched, p) = (self.sched(), self.m.held());
        // SAFETY: under the lock (I1 of `world`).
        let central = unsafe { sched.central() };
        let size = central.queue.len();
        let mut n = (size / sched.procs.len() + 1).min(size).min(GLOBAL_BATCH as usize); // GQ-4
        let first = sched.pop_global(central)?;
        p.ring.put_batch(|| {
            n = n.checked_sub(1).filter(|&left| left > 0)?;
            sched.pop_global(central)
        });
        p.count.global_gets.add(1);
        Some(first)
    }
    fn locked_release(&self) {
        let p = self.m.held();
        self.m.p.store(ptr::null_mut(), Release); // Ordering: own word; sysmon's look.
        p.forks.store(ptr::null_mut(), Release);
        self.hub().locked_put_idle(p);
    }
    fn acquire(&self, p: &'a P) {
        self.m.take_p(p);
    }

    fn walk(&self) -> Pass<'a> {
        let sched = self.sched();
        match self.rules.victim_order() {
            VictimOrder::Coprime => Pass::Coprime(sched.order.walk(self.m.random())),
            VictimOrder::Random => {
                let procs = sched.procs.len() as u32;
                Pass::Random { m: self.m, left: procs, procs }
            }
        }
    }
    fn is_idle(&self, p: u32) -> bool {
        self.sched().is_idle(p)
    }
    fn may_have_timers(&self, p: u32) -> bool {
        self.sched().may_have_timers(p)
    }
    fn queue_is_empty(&self, p: u32) -> bool {
        self.proc(p).ring.is_empty()
    }
    fn run_timers_of(&self, p: u32) -> Timed {
        self.run_timers(self.proc(p))
    }
    fn deadline_of(&self, p: u32) -> u64 {
        self.proc(p).timers.deadline()
    }
    fn rob(&self, victim: u32, what: Rob) -> Option<*mut G> {
        let (mine, victim) = (self.m.held(), self.proc(victim));
        let pausing = self.rules.next_steal() == NextSteal::AfterPause;
        let mut next = match what {
            Rob::RingThenNext if self.rules.next_steal() != NextSteal::Never => {
                NextRule::TakeAfter(|| {
                    if pausing {
                        pause_before_next_steal(victim);
                    }
                })
            }
            _ => NextRule::Leave,
        };
        let amount = |len| self.rules.steal_amount(len);
        let (g, n) = victim.ring.steal(&mine.ring, amount, &mut next)?;
        mine.count.steals.add(1);
        mine.count.stolen.add(u64::from(n));
        Some(g)
    }

    #[inline]
    fn forks_in_use(&self) -> bool {
        self.sched().forks_used.load(Relaxed) // Ordering: rises once; a late look costs a search.
    }
    fn has_fork(&self, p: u32) -> bool {
        crate::prim::join::on_offer(self.proc(p))
    }
    fn rob_fork(&self, p: u32) -> Option<*mut G> {
        crate::prim::join::take_offer(self.m, self.proc(p))
    }

    fn poll_now(&self) -> Option<*mut G> {
        None // No file descriptors yet: nothing but time is waited for in the poller.
    }
    fn enter_poll(&self, until: u64) -> bool {
        self.sched().poller.enter(until)
    }
    fn block_in_poll(&self, until: u64) {
        // Ordering: the fence in `enter` came before this look. Down: the end's interrupt comes later, and finds
        // us inside. Up: whoever was inside before us may have taken the interrupt for himself.
        let until = if self.stop_pending() { 0 } else { until };
        self.sched().poller.wait(until);
    }
    fn stop_worker(&self) -> bool {
        let sched = self.sched();
        let go_on = sched.locked(|central| {
            if self.stop_pending() {
                return false;
            }
            central.idle_m.push(self.m);
            true
        });
        if !go_on {
            return false;
        }
        sched.count.parks.fetch_add(1, Relaxed); // Ordering: a number for people.
        deadlock::check(sched);
        self.m.note.sleep();
        self.m.take_next_p()
    }
    fn leave_fence(&self) {
        if self.forks_in_use() && self.sched().light_offers {
            heavy_fence();
        }
        fence(SeqCst); // F2
    }
}

impl M {
    /// Makes `p` this worker's. I1 of `state`.
    pub(crate) fn take_p(&self, p: &P) {
        let before = p.m.swap(ptr::from_ref(self).cast_mut(), AcqRel);
        assert!(before.is_null(), "M-3: a P with two workers");
        p.status.store(pstatus::RUNNING, Release); // Ordering: sysmon's look.
        self.p.store(ptr::from_ref(p).cast_mut(), Release); // Ordering: own word; sysmon's look.
    }

    /// Takes the P that a waker left. `false`: it left none, the runtime ends.
    pub(crate) fn take_next_p(&self) -> bool {
        // Ordering: Acquire pairs with `start_worker` (by the note, too).
        let next = self.next_p.swap(ptr::null_mut(), Acquire);
        // SAFETY: Ps live as long as the scheduler (I3 of `state`).
        unsafe { next.as_ref() }.is_some_and(|p| {
            self.take_p(p);
            self.sched().count.starting.fetch_sub(1, Relaxed); // Ordering: a number for people.
            true
        })
    }
}

const _: () = assert!(MAX_THREADS < u32::MAX / 2, "ids and counts of workers fit");
