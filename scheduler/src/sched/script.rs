//! A world that follows a script: [`Hub`] and [`World`] for tests of `find` and `wake`, one step at a time.
//!
//! Question: in which order does the code look and act? Every operation that may look at or change anything
//! is one word of a log; what others do in between is a closure that runs at a named word.
//!
//! # Invariants
//! - I1 The script enforces the seam's own rules: `locked_*` under the lock, nothing slow under it (S-2),
//!   needspinning raised under it only, spinner flag and count in step (SPIN-1).
//! - I2 The worker is on P 0 of three; a pass visits 0, 1, 2.
//! # Not here
//! Threads: the script is as sequential as its log.

use crate::policy::Policy;
use crate::sched::world::{Hub, Rob, Timed, World};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// No test needs more; a loop without end fails instead of filling the memory.
const MOST_WORDS: usize = 1000;

type Reaction = (String, Box<dyn FnOnce(&Script)>);

/// One P: what thieves see of it.
#[derive(Default)]
pub(crate) struct Proc {
    pub(crate) next: Cell<Option<u32>>,
    pub(crate) ring: RefCell<VecDeque<u32>>,
    pub(crate) idle: Cell<bool>,
    pub(crate) has_timers: Cell<bool>,
    /// What its timers come to, and the goroutine that a due one makes ready on the P that runs it.
    pub(crate) timers: Cell<Timed>,
    pub(crate) ready: Cell<Option<u32>>,
    pub(crate) fork: Cell<Option<u32>>,
}

/// The scripted world. Cells are set by the test before, or in a reaction.
pub(crate) struct Script {
    log: RefCell<Vec<String>>,
    reactions: RefCell<Vec<Reaction>>,
    pub(crate) policy: Policy,
    pub(crate) procs: Vec<Proc>,
    pub(crate) mine: Cell<Option<u32>>,
    pub(crate) locked: Cell<bool>,
    pub(crate) stop: Cell<bool>,
    pub(crate) spinning: Cell<bool>,
    pub(crate) spinners: Cell<u32>,
    pub(crate) need_spinning: Cell<bool>,
    pub(crate) tick: Cell<u32>,
    pub(crate) global: RefCell<VecDeque<u32>>,
    /// Idle Ps, most recently idle last.
    pub(crate) idle: RefCell<Vec<u32>>,
    pub(crate) polled: Cell<Option<u32>>,
    pub(crate) forks_in_use: Cell<bool>,
    pub(crate) poll_free: Cell<bool>,
    pub(crate) poll_until: Cell<u64>,
    /// The P that a waker hands over at each sleep; none left: the runtime ends.
    pub(crate) handed: RefCell<VecDeque<u32>>,
}

impl Script {
    /// Three busy Ps, nothing to run anywhere, nobody in the poller, no timers; tick 1.
    pub(crate) fn new() -> Script {
        Script::with(Policy::go(), 3)
    }

    pub(crate) fn with(policy: Policy, procs: usize) -> Script {
        Script {
            log: RefCell::default(),
            reactions: RefCell::default(),
            policy,
            procs: (0..procs).map(|_| Proc::default()).collect(),
            mine: Cell::new(Some(0)),
            locked: Cell::new(false),
            stop: Cell::new(false),
            spinning: Cell::new(false),
            spinners: Cell::new(0),
            need_spinning: Cell::new(false),
            tick: Cell::new(1),
            global: RefCell::default(),
            idle: RefCell::default(),
            polled: Cell::new(None),
            forks_in_use: Cell::new(false),
            poll_free: Cell::new(true),
            poll_until: Cell::new(0),
            handed: RefCell::default(),
        }
    }

    /// The worker is a spinning one already.
    pub(crate) fn spinning(self) -> Script {
        self.spinning.set(true);
        self.spinners.set(self.spinners.get() + 1);
        self
    }

    /// Makes `p` idle before the test begins.
    pub(crate) fn with_idle(self, p: u32) -> Script {
        self.procs[p as usize].idle.set(true);
        self.idle.borrow_mut().push(p);
        self
    }

    /// At the next `word` of the log, before its answer, somebody else does `what`.
    pub(crate) fn at(self, word: &str, what: impl FnOnce(&Script) + 'static) -> Script {
        self.reactions.borrow_mut().push((word.to_string(), Box::new(what)));
        self
    }

    /// A goroutine appears in the ring of `p`.
    pub(crate) fn push(&self, p: u32, g: u32) {
        self.procs[p as usize].ring.borrow_mut().push_back(g);
    }

    /// The log so far, emptied.
    pub(crate) fn take_log(&self) -> String {
        assert!(self.reactions.borrow().is_empty(), "a reaction's word never came");
        self.log.take().join(" ")
    }

    fn op(&self, word: impl Into<String>) {
        let word = word.into();
        let found = self.reactions.borrow().iter().position(|(at, _)| *at == word);
        let reaction = found.map(|i| self.reactions.borrow_mut().remove(i).1);
        let mut log = self.log.borrow_mut();
        assert!(log.len() < MOST_WORDS, "goes round and round: {}", log[..100].join(" "));
        log.push(word);
        drop(log);
        if let Some(what) = reaction {
            what(self);
        }
    }
    fn op_of(&self, word: &str, p: u32) -> &Proc {
        self.op(format!("{word}{p}"));
        &self.procs[p as usize]
    }
    fn under_lock(&self) {
        assert!(self.locked.get(), "world I1: needs the lock");
    }
    fn not_under_lock(&self) {
        assert!(!self.locked.get(), "S-2: not under the lock");
    }
    fn own(&self) -> &Proc {
        &self.procs[self.mine.get().expect("M-3: holds a P") as usize]
    }
    fn run_timers(&self, p: &Proc) -> Timed {
        let timed = p.timers.get();
        if timed.ran {
            self.own().next.set(p.ready.take());
            p.timers.set(Timed { ran: false, ..timed });
        }
        timed
    }
}

impl Hub for Script {
    type G = u32;
    type P = u32;
    type R = Policy;

    fn rules(&self) -> &Policy {
        &self.policy
    }
    fn procs(&self) -> u32 {
        self.procs.len() as u32
    }
    fn fence(&self) {
        self.op("F1");
    }
    fn spinners(&self) -> u32 {
        self.op("spinners?");
        self.spinners.get()
    }
    fn first_spinner(&self) -> bool {
        self.op("spinners:0->1");
        let first = self.spinners.get() == 0;
        if first {
            self.spinners.set(1);
        }
        first
    }
    fn add_spinner(&self) {
        self.op("spinners+1");
        self.spinners.set(self.spinners.get() + 1);
    }
    fn drop_spinner(&self) {
        self.op("spinners-1");
        self.spinners.set(self.spinners.get().checked_sub(1).expect("SPIN-1"));
    }
    fn idle_procs(&self) -> u32 {
        self.op("idle#");
        self.idle.borrow().len() as u32
    }
    fn need_spinning(&self) -> bool {
        self.op("need?");
        self.need_spinning.get()
    }
    fn set_need_spinning(&self, on: bool) {
        if on {
            self.under_lock(); // S-1
        }
        self.op(if on { "need=1" } else { "need=0" });
        self.need_spinning.set(on);
    }
    fn global_looks_empty(&self) -> bool {
        self.op("global?");
        self.global.borrow().is_empty()
    }
    fn rouse_watch(&self) {
        self.op("rouse");
    }
    fn lock(&self) {
        self.op("lock");
        self.not_under_lock();
        self.locked.set(true);
    }
    fn unlock(&self) {
        self.under_lock();
        self.locked.set(false);
        self.op("unlock");
    }
    fn locked_global_is_empty(&self) -> bool {
        self.under_lock();
        self.op("global-empty?");
        self.global.borrow().is_empty()
    }
    fn locked_take_idle(&self) -> Option<u32> {
        self.under_lock();
        self.op("take-idle");
        let p = self.idle.borrow_mut().pop()?;
        self.procs[p as usize].idle.set(false);
        Some(p)
    }
    fn locked_put_idle(&self, p: u32) {
        self.under_lock();
        let proc = self.op_of("put-idle", p);
        assert!(proc.ring.borrow().is_empty() && proc.next.get().is_none(), "P-3");
        proc.idle.set(true);
        self.idle.borrow_mut().push(p);
    }
    fn locked_push_global(&self, g: u32) {
        self.under_lock();
        self.op(format!("push-global({g})"));
        self.global.borrow_mut().push_back(g);
    }
    fn start_worker(&self, p: u32, spinning: bool) {
        self.not_under_lock();
        self.op(format!("start{p}{}", if spinning { "-spinning" } else { "" }));
    }
    fn has_work(&self, p: u32) -> bool {
        let proc = self.op_of("work?", p);
        !proc.ring.borrow().is_empty() || proc.next.get().is_some()
    }
    fn timer_deadline(&self, p: u32) -> u64 {
        self.op_of("deadline", p).timers.get().next
    }
    fn poller_is_occupied(&self) -> bool {
        self.op("occupied?");
        !self.poll_free.get()
    }
    fn poll_until(&self) -> u64 {
        self.op("until?");
        self.poll_until.get()
    }
    fn break_poll(&self) {
        self.not_under_lock();
        self.op("break");
    }
}

impl World for Script {
    type G = u32;
    type H = Script;
    type Walk = std::ops::Range<u32>;

    fn hub(&self) -> &Script {
        self
    }
    fn stop_pending(&self) -> bool {
        self.op("stop?");
        self.stop.get()
    }
    fn is_spinning(&self) -> bool {
        self.spinning.get()
    }
    fn set_spinning(&self, on: bool) {
        self.op(if on { "spin" } else { "unspin" });
        assert_ne!(self.spinning.replace(on), on, "SPIN-1: the flag changes nothing");
    }
    fn proc_id(&self) -> u32 {
        self.mine.get().expect("M-3: holds a P")
    }
    fn tick(&self) -> u32 {
        self.tick.get()
    }
    fn run_own_timers(&self) -> Timed {
        self.op("own-timers");
        self.run_timers(self.own())
    }
    fn take_next(&self) -> Option<u32> {
        self.op("next");
        self.own().next.take()
    }
    fn pop(&self) -> Option<u32> {
        self.op("pop");
        self.own().ring.borrow_mut().pop_front()
    }
    fn global_one(&self) -> Option<u32> {
        self.not_under_lock();
        self.op("global-one");
        self.global.borrow_mut().pop_front()
    }
    fn locked_global_batch(&self) -> Option<u32> {
        self.under_lock();
        self.op("batch");
        let (first, mine) = (self.global.borrow_mut().pop_front(), self.own());
        mine.ring.borrow_mut().extend(self.global.borrow_mut().drain(..));
        first
    }
    fn locked_release(&self) {
        self.op("release");
        self.locked_put_idle(self.mine.take().expect("M-3: holds a P"));
    }
    fn acquire(&self, p: u32) {
        self.op(format!("acquire{p}"));
        assert_eq!(self.mine.replace(Some(p)), None, "M-3: holds two Ps");
    }
    fn walk(&self) -> std::ops::Range<u32> {
        self.op("walk");
        0..self.procs()
    }
    fn is_idle(&self, p: u32) -> bool {
        self.op_of("idle?", p).idle.get()
    }
    fn may_have_timers(&self, p: u32) -> bool {
        self.op_of("timers?", p).has_timers.get()
    }
    fn queue_is_empty(&self, p: u32) -> bool {
        let proc = self.op_of("empty?", p);
        proc.ring.borrow().is_empty() && proc.next.get().is_none()
    }
    fn run_timers_of(&self, p: u32) -> Timed {
        self.not_under_lock();
        let proc = self.op_of("run-timers", p);
        self.run_timers(proc)
    }
    fn deadline_of(&self, p: u32) -> u64 {
        self.op_of("deadline", p).timers.get().next
    }
    fn rob(&self, victim: u32, what: Rob) -> Option<u32> {
        assert!(self.own().ring.borrow().is_empty(), "RQ-12: a thief with work");
        let proc = self.op_of(if what == Rob::Ring { "rob" } else { "rob-next" }, victim);
        let g = proc.ring.borrow_mut().pop_front();
        g.or_else(|| if what == Rob::Ring { None } else { proc.next.take() })
    }
    fn forks_in_use(&self) -> bool {
        self.forks_in_use.get()
    }
    fn has_fork(&self, p: u32) -> bool {
        self.op_of("fork?", p).fork.get().is_some()
    }
    fn rob_fork(&self, p: u32) -> Option<u32> {
        self.op_of("rob-fork", p).fork.take()
    }
    fn poll_now(&self) -> Option<u32> {
        self.not_under_lock();
        self.op("poll");
        self.polled.take()
    }
    fn enter_poll(&self, until: u64) -> bool {
        self.not_under_lock();
        self.op(format!("enter-poll({until})"));
        until != 0 && self.poll_free.get()
    }
    fn block_in_poll(&self, until: u64) {
        self.not_under_lock();
        self.op(format!("block({until})"));
    }
    fn stop_worker(&self) -> bool {
        self.not_under_lock();
        assert_eq!(self.mine.get(), None, "FIND-18: sleeps with a P");
        assert!(!self.spinning.get(), "SPIN-1: sleeps as a spinner");
        self.op("sleep");
        let p = self.handed.borrow_mut().pop_front();
        p.inspect(|&p| self.mine.set(Some(p))).is_some()
    }
    fn leave_fence(&self) {
        self.op("F2");
    }
}
