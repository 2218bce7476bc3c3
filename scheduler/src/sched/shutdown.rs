//! How a runtime ends: threads first, then every goroutine that is left, then memory.
//!
//! Go has no such thing: its process ends. A library must give back what it took. Spec: none; FC-22.
//!
//! # Invariants
//! - I1 Goroutines are unwound only when no worker thread is left: nobody else runs them, makes them ready or
//!   reads their queues.
//! - I2 A goroutine that waits for borrowed data to come back (`scope`, `join`) is not cut short: it goes on
//!   when the goroutines that borrow have ended.
//! - I3 Memory is given back only if every goroutine has ended; otherwise all of it stays.
//! # Not here
//! What a cut-short wait does to its wait structure: each file of `prim`.

use crate::sched::park::{Action, current, flush_outside, set_current};
use crate::sched::runtime::Unfinished;
use crate::sched::state::{M, Sched};
use crate::sched::{spawn, worker};
use crate::shim::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::task::{G, Stack, status};
use std::collections::VecDeque;
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long dropping a runtime waits for threads that still run.
pub(crate) const DROP_LIMIT: Duration = Duration::from_secs(1);

/// Yields and hand-overs that one ending may take for each goroutine before it counts as endless.
const STEPS_PER_GOROUTINE: usize = 1_000;

/// Ends `sched`. See [`Runtime::shutdown`](crate::Runtime::shutdown).
pub(crate) fn end(sched: &Arc<Sched>, limit: Duration) -> Result<(), Unfinished> {
    let here = current();
    let same = here.is_some_and(|m| ptr::eq(m.sched, Arc::as_ptr(sched)));
    assert!(!same, "a runtime cannot be ended by its own goroutine");
    stop_threads(sched);
    flush_outside(); // Whoever passed the gate before the flag was up has started its goroutine.
    let until = Instant::now() + limit;
    let mut live = sched.threads.live.lock();
    let all_gone = sched.threads.none.wait_until(&mut live, until, |&n| n == 0);
    let left = *live as usize;
    drop(live);
    if !all_gone {
        std::mem::forget(sched.clone()); // Its threads still use it (I3).
        let goroutines = on_threads(sched);
        return Err(Unfinished { threads: left, goroutines, waited: limit });
    }
    let all_ended = Undertaker::new(sched).bury();
    set_current(here);
    if all_ended {
        give_memory_back(sched);
    } else {
        std::mem::forget(sched.clone()); // I3
    }
    Ok(())
}

fn stop_threads(sched: &Sched) {
    let workers: Vec<*const M> = sched.locked(|central| {
        sched.stop.store(true, Release); // Ordering: read under the lock, or at the next look.
        central.idle_m.clear();
        central.workers.iter().map(|m| ptr::from_ref::<M>(m)).collect()
    });
    for p in &sched.procs {
        p.preempt.store(true, Relaxed); // Ordering: a request.
    }
    for m in workers {
        // SAFETY: workers live as long as the scheduler (I3 of `state`).
        unsafe { (*m).note.wake() };
    }
    sched.poller.interrupt();
    sched.sysmon.note.wake();
}

/// What still runs on a thread, for the error.
fn on_threads(sched: &Sched) -> Vec<(u64, &'static str)> {
    goroutines(sched)
        .iter()
        // SAFETY: goroutines live as long as the scheduler.
        .map(|&g| unsafe { &*g })
        .filter_map(|g| match g.status.load(Acquire) & !status::SCAN {
            status::RUNNING => Some((g.id.load(Relaxed), "running")),
            status::SYSCALL => Some((g.id.load(Relaxed), "syscall")),
            _ => None,
        })
        .collect()
}

fn goroutines(sched: &Sched) -> Vec<*mut G> {
    sched.arena.lock().all().map(|g| ptr::from_ref(g).cast_mut()).collect()
}

/// Runs what is left of every goroutine, on the thread that ends the runtime.
struct Undertaker<'a> {
    sched: &'a Sched,
    m: &'a M,
}

impl<'a> Undertaker<'a> {
    fn new(sched: &'a Sched) -> Undertaker<'a> {
        let m = sched.locked(|central| {
            sched.forget_idle(central); // One P goes on, and nobody is to be woken.
            worker::reserve(sched, central)
        });
        // SAFETY: workers live as long as the scheduler (I3 of `state`).
        let m = unsafe { &*m };
        m.note.bind();
        set_current(Some(m));
        for p in &sched.procs {
            p.timers.clear(); // Nobody is woken by time any more.
            p.m.store(ptr::null_mut(), Relaxed); // Ordering: no other thread is left (I1).
        }
        m.take_p(&sched.procs[0]);
        Undertaker { sched, m }
    }

    /// `true`: every goroutine has ended.
    fn bury(&self) -> bool {
        let all = goroutines(self.sched);
        let mut steps = all.len() * STEPS_PER_GOROUTINE + STEPS_PER_GOROUTINE;
        let mut ready = self.drain_queues();
        let mut cut_short = all.into_iter();
        loop {
            while let Some(g) = ready.pop_front() {
                if steps == 0 {
                    return false;
                }
                steps -= 1;
                self.run(g);
                ready.extend(self.drain_queues());
            }
            // Nobody can go on by himself: cut the next wait short.
            let Some(g) = cut_short.next() else { break };
            if self.may_cut_short(g) {
                ready.push_back(g);
            }
        }
        self.sched.arena.lock().all().all(|g| {
            let word = g.status.load(Relaxed); // Ordering: no thread is left (I1).
            word == status::DEAD || word == status::IDLE
        })
    }

    /// Takes a waiting goroutine for unwinding, unless it waits for borrowed data (I2).
    fn may_cut_short(&self, g: *mut G) -> bool {
        // SAFETY: live; no thread runs it (I1).
        unsafe {
            if !(*g).interruptible.get() || (*g).unwind.load(Relaxed) {
                return false;
            }
            // Ordering: AcqRel: a plain thread may be making it ready; one of us wins.
            let word = &(*g).status;
            word.compare_exchange(status::WAITING, status::RUNNABLE, AcqRel, Relaxed).is_ok()
        }
    }

    fn run(&self, g: *mut G) {
        // SAFETY: live, out of every queue, and ours (I1).
        unsafe { (*g).unwind.store(true, Relaxed) };
        self.m.held().preempt.store(true, Relaxed); // Every runtime entry looks at `unwind`.
        worker::enter(self.m, g);
        match self.m.action.replace(Action::None) {
            Action::Exit => spawn::retire(self.m, g),
            Action::Park { commit, arg } => {
                // SAFETY: off its stack, ours; `park`'s contract.
                unsafe {
                    (*g).status.store(status::WAITING, Relaxed);
                    if !commit(g, arg) {
                        (*g).status.store(status::RUNNABLE, Relaxed);
                        self.requeue(g);
                    }
                }
            }
            _ => {
                // SAFETY: as above.
                unsafe { (*g).status.store(status::RUNNABLE, Relaxed) };
                self.requeue(g);
            }
        }
    }

    fn requeue(&self, g: *mut G) {
        // SAFETY: runnable, on no queue.
        self.sched.locked(|central| unsafe { self.sched.push_global(central, g) });
    }

    /// Everything that is on a queue.
    fn drain_queues(&self) -> VecDeque<*mut G> {
        let mut all = VecDeque::new();
        for p in &self.sched.procs {
            all.extend(std::iter::from_fn(|| p.ring.take_next()));
            all.extend(std::iter::from_fn(|| p.ring.pop()));
        }
        self.sched.locked(|central| {
            all.extend(std::iter::from_fn(|| self.sched.pop_global(central)));
        });
        all
    }
}

impl Drop for Undertaker<'_> {
    fn drop(&mut self) {
        set_current(None);
    }
}

fn give_memory_back(sched: &Sched) {
    flush_outside(); // Nobody still holds a goroutine that was cut short under his hands.
    for g in goroutines(sched) {
        // SAFETY: no worker is left.
        unsafe { crate::prim::join::free_offers(&*g) };
    }
    sched.free.lock().clear();
    sched.free_stacks.lock().clear();
    for p in &sched.procs {
        // SAFETY: no worker is left (I4 of `state`).
        let own = unsafe { &mut *p.own.get() };
        own.free.clear();
        own.stacks.clear();
    }
    let mut pool = sched.pool.lock();
    for head in pool.headers() {
        // SAFETY: every goroutine has ended, so a stack holds only the frames of `body`'s loop.
        unsafe { head.cast::<Stack>().as_ref().abandon() };
    }
    // SAFETY: every goroutine has ended and was abandoned; queues and caches are empty.
    unsafe { pool.unmap() };
}
