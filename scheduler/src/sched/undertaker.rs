//! Runs what is left of every goroutine when no worker thread is left. Spec: none; FC-22.
//!
//! Question: on which thread does a goroutine unwind? The standard library counts panics per thread, so one that
//! waits or yields in a destructor while it unwinds goes on where it began, and nobody else may run there
//! meanwhile: the others move to a fresh thread. The thread that ends the runtime runs none of them.
//!
//! # Invariants
//! - I1 One host works at a time, with the one P; [`Rest`] goes from hand to hand.
//! - I2 A goroutine that unwinds is run by its host only; one whose thread was a worker, now gone, is left.
//! # Not here
//! What a cut-short wait does to its wait structure: each file of `prim`.

use crate::prim::join;
use crate::sched::park::{Action, flush_outside, set_current};
use crate::sched::state::{M, P, Sched};
use crate::sched::{spawn, worker};
use crate::shim::Ordering::{AcqRel, Relaxed};
use crate::task::{G, Stack, status};
use std::collections::VecDeque;
use std::ptr;
use std::sync::mpsc;
use std::thread;

/// Yields and hand-overs that one ending may take for each goroutine before it counts as endless.
const STEPS_PER_GOROUTINE: usize = 1_000;
/// Goroutines that may wait in destructors, each on a thread of its own, before the rest is left as it is.
const MAX_HOSTS: usize = 256;

/// Every goroutine ever made (and some that were never used, in state IDLE).
pub(crate) fn goroutines(sched: &Sched) -> Vec<*mut G> {
    sched.arena.lock().all().map(|g| ptr::from_ref(g).cast_mut()).collect()
}

/// Ends every goroutine that can be ended. `true`: every one has ended. The caller has seen to it that no worker
/// is left.
pub(crate) fn bury(sched: &Sched) -> bool {
    sched.locked(|central| sched.forget_idle(central)); // One P goes on, and nobody is to be woken.
    for p in &sched.procs {
        p.timers.clear(); // Nobody is woken by time any more.
        p.m.store(ptr::null_mut(), Relaxed); // Ordering: no other thread is left.
    }
    if all_ended(sched) {
        return true;
    }
    let mut rest = Box::new(Rest::new(sched));
    thread::scope(|scope| {
        let mut hosts: Vec<Host<'_>> = Vec::new();
        let mut next = Next::Anybody;
        loop {
            let host = match next {
                Next::Nobody => break,
                Next::On(i) => hosts.get(i),
                Next::Anybody => match hosts.iter().position(|h| h.is_free()) {
                    Some(i) => hosts.get(i),
                    None => {
                        let Some(new) = Host::start(scope, sched, hosts.len()) else { break };
                        rest.hosts.push(new.m);
                        hosts.push(new);
                        hosts.last()
                    }
                },
            };
            (rest, next) = host.expect("a host that the rest has named").work(rest);
        }
    });
    all_ended(sched)
}

fn all_ended(sched: &Sched) -> bool {
    goroutines(sched).iter().all(|&g| {
        // SAFETY: goroutines live as long as the scheduler. Ordering: no thread runs them.
        let word = unsafe { (*g).status.load(Relaxed) };
        word == status::DEAD || word == status::IDLE
    })
}

/// Who must go on.
enum Next {
    Nobody,
    /// A host that nobody unwinds on.
    Anybody,
    /// By its place among the hosts.
    On(usize),
}

type Handed<'a> = (Box<Rest<'a>>, Next);

/// A thread that goroutines are ended on.
struct Host<'a> {
    m: &'a M,
    orders: mpsc::Sender<Box<Rest<'a>>>,
    answers: mpsc::Receiver<Handed<'a>>,
}

impl<'a> Host<'a> {
    /// `None`: one thread too many, for us or for the system.
    fn start<'s>(
        scope: &'s thread::Scope<'s, 'a>,
        sched: &'a Sched,
        before: usize,
    ) -> Option<Host<'a>> {
        if before >= MAX_HOSTS {
            return None;
        }
        let m = sched.locked(|central| worker::add(sched, central));
        // SAFETY: workers live as long as the scheduler (I3 of `state`).
        let m: &'a M = unsafe { &*m };
        let (orders, todo) = mpsc::channel::<Box<Rest<'a>>>();
        let (answer, answers) = mpsc::channel();
        let body = move || {
            set_current(Some(m));
            for mut rest in todo {
                let next = rest.work(m, &sched.procs[0]);
                if answer.send((rest, next)).is_err() {
                    break;
                }
            }
            set_current(None);
        };
        let name = format!("gosteal-end{before}");
        thread::Builder::new().name(name).spawn_scoped(scope, body).ok()?;
        Some(Host { m, orders, answers })
    }

    fn is_free(&self) -> bool {
        self.m.locked_g.load(Relaxed).is_null() // Ordering: it has answered, so it does not run.
    }

    fn work(&self, rest: Box<Rest<'a>>) -> Handed<'a> {
        self.orders.send(rest).expect("a host lives until its orders end");
        self.answers.recv().expect("a host answers")
    }
}

/// What is to be run until every goroutine has ended.
struct Rest<'a> {
    sched: &'a Sched,
    ready: VecDeque<*mut G>,
    /// Whose wait may be cut short in this round.
    waiting: std::vec::IntoIter<*mut G>,
    /// A wait was cut short in this round: there is another.
    again: bool,
    steps: usize,
    hosts: Vec<*const M>,
}

// SAFETY: goroutines and hosts live as long as the scheduler; one thread at a time works on them (I1).
unsafe impl Send for Rest<'_> {}

impl<'a> Rest<'a> {
    fn new(sched: &'a Sched) -> Rest<'a> {
        let all = goroutines(sched);
        let steps = (all.len() + 1) * STEPS_PER_GOROUTINE;
        let waiting = all.into_iter();
        let (ready, again) = (VecDeque::new(), false);
        let mut rest = Rest { sched, ready, waiting, again, steps, hosts: Vec::new() };
        rest.drain_queues();
        rest
    }

    /// Runs whom it can on the host `m`; says who must go on.
    fn work(&mut self, m: &M, p: &P) -> Next {
        m.take_p(p);
        let next = self.work_with_p(m);
        p.m.store(ptr::null_mut(), Relaxed); // Ordering: handed on by the answer.
        m.p.store(ptr::null_mut(), Relaxed);
        next
    }

    fn work_with_p(&mut self, m: &M) -> Next {
        loop {
            while let Some(&g) = self.ready.front() {
                // SAFETY: live, out of every queue.
                let owner = unsafe { (*g).locked_m.get() }.cast::<M>().cast_const();
                let free = m.locked_g.load(Relaxed).is_null(); // Ordering: this thread's.
                if owner.is_null() && !free {
                    return Next::Anybody;
                }
                if !owner.is_null() && !ptr::eq(owner, m) {
                    if let Some(i) = self.hosts.iter().position(|&h| ptr::eq(h, owner)) {
                        return Next::On(i);
                    }
                    self.ready.pop_front(); // I2: left as it is.
                    continue;
                }
                if self.steps == 0 {
                    return Next::Nobody;
                }
                self.steps -= 1;
                self.ready.pop_front();
                self.run(m, g);
                self.drain_queues();
            }
            if !self.cut_one_short() {
                return Next::Nobody;
            }
        }
    }

    /// Nobody can go on by himself: cuts a wait short. `false`: none is left.
    fn cut_one_short(&mut self) -> bool {
        loop {
            for g in self.waiting.by_ref() {
                if may_cut_short(g) {
                    self.again = true;
                    self.ready.push_back(g);
                    return true;
                }
            }
            // A plain thread may be just making somebody ready.
            flush_outside();
            self.drain_queues();
            if !std::mem::take(&mut self.again) {
                return !self.ready.is_empty();
            }
            self.waiting = goroutines(self.sched).into_iter();
        }
    }

    fn run(&self, m: &M, g: *mut G) {
        // SAFETY: live, out of every queue, and ours (I1).
        unsafe { (*g).unwind.store(true, Relaxed) };
        m.held().preempt.store(true, Relaxed); // Every runtime entry looks at `unwind`.
        worker::enter(m, g);
        match m.action.replace(Action::None) {
            Action::Exit => spawn::retire(m, g),
            Action::Park { commit, arg } => {
                // SAFETY: off its stack, ours; `park`'s contract.
                unsafe {
                    (*g).status.store(status::WAITING, Relaxed);
                    if !commit(g, arg) {
                        self.requeue(g);
                    }
                }
            }
            _ => self.requeue(g),
        }
    }

    fn requeue(&self, g: *mut G) {
        // SAFETY: off its stack, on no queue, ours.
        unsafe { (*g).status.store(status::RUNNABLE, Relaxed) };
        // SAFETY: as above.
        self.sched.locked(|central| unsafe { self.sched.push_global(central, g) });
    }

    /// Everything that is on a queue.
    fn drain_queues(&mut self) {
        for p in &self.sched.procs {
            self.ready.extend(std::iter::from_fn(|| p.ring.take_next()));
            self.ready.extend(std::iter::from_fn(|| p.ring.pop()));
        }
        self.sched.locked(|central| {
            self.ready.extend(std::iter::from_fn(|| self.sched.pop_global(central)));
        });
    }
}

/// Takes a waiting goroutine for unwinding, unless it waits for borrowed data, or in a destructor while it unwinds.
fn may_cut_short(g: *mut G) -> bool {
    // SAFETY: live; no thread runs it.
    unsafe {
        // Ordering: AcqRel: a plain thread may be making it ready; one of us wins.
        let word = &(*g).status;
        (*g).interruptible.get()
            && word.compare_exchange(status::WAITING, status::RUNNABLE, AcqRel, Relaxed).is_ok()
    }
}

/// Frees what the goroutines have beside their stacks, and forgets their coroutines.
///
/// # Safety
/// 1. Every goroutine has ended, and nobody will look at one again.
pub(crate) unsafe fn abandon_all(sched: &Sched) {
    for g in goroutines(sched) {
        // SAFETY: (1).
        unsafe { join::free_offers(&*g) };
    }
    for head in sched.pool.lock().headers() {
        // SAFETY: (1): a stack holds only the frames of its coroutine's loop.
        unsafe { head.cast::<Stack>().as_ref().abandon() };
    }
}
