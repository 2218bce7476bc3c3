//! PARK-1, PARK-2, READY-1 under every order that the model knows: a goroutine goes from the worker that
//! stopped it through a wait structure and a ring to the worker that runs it next.
//!
//! The steps are the product's (`commit_park`, `make_runnable`, `Ring`); what is modelled is the lock of the
//! wait structure, and the saved context: a cell that fails on any access that nothing orders.

use super::*;
use crate::limits::RING_SLOTS;
use crate::runq::{Ring, local::NextRule};
use crate::sched::worker::commit_park;
use crate::shim::{ModelLock, explore};
use loom::cell::UnsafeCell as Checked;
use loom::thread;
use std::sync::Arc;

/// A wait structure: its lock, and who waits.
struct Waiting {
    lock: ModelLock,
    g: Checked<Option<*mut G>>,
}

impl Waiting {
    fn new() -> Waiting {
        Waiting { lock: ModelLock::new(), g: Checked::new(None) }
    }
    /// Records `g` and keeps the lock: the commit releases it.
    fn enter(&self, g: *mut G) -> *mut () {
        self.lock.lock();
        // SAFETY: under the lock.
        self.g.with_mut(|p| unsafe { *p = Some(g) });
        ptr::from_ref(self).cast_mut().cast()
    }
    /// Takes out who waits, if somebody does yet.
    fn take(&self) -> Option<*mut G> {
        self.lock.lock();
        // SAFETY: under the lock.
        let g = self.g.with_mut(|p| unsafe { (*p).take() });
        self.lock.unlock();
        g
    }
}

unsafe fn release(_: *mut G, waiting: *mut ()) -> bool {
    // SAFETY: `enter` made it, and holds the lock.
    unsafe { (*waiting.cast::<Waiting>()).lock.unlock() };
    true
}

/// A wait structure, one goroutine, and the ring of the waker's P.
struct Model {
    g: G,
    context: Checked<u32>,
    waiting: Waiting,
    ring: Ring<G>,
}

// SAFETY: the goroutine is passed from hand to hand; the cells check that.
unsafe impl Sync for Model {}
// SAFETY: as above.
unsafe impl Send for Model {}

impl Model {
    fn new() -> Arc<Model> {
        let g = G::new(false, ptr::null());
        g.status.store(status::RUNNING, Relaxed);
        Arc::new(Model { g, context: Checked::new(0), waiting: Waiting::new(), ring: Ring::new() })
    }
    fn g(&self) -> *mut G {
        ptr::from_ref(&self.g).cast_mut()
    }

    /// The goroutine records itself; from here on wakers queue for the lock.
    fn enter(&self) -> *mut () {
        self.waiting.enter(self.g())
    }
    /// It leaves, and its worker commits.
    fn leave(&self, arg: *mut ()) {
        // SAFETY: we are its worker.
        self.context.with_mut(|p| unsafe { *p = 1 }); // The switch saves the context.
        // SAFETY: off its stack, ours; the commit releases the lock as its last act.
        assert!(unsafe { commit_park(self.g(), release, arg) });
    }

    /// Takes the waiter out and makes it ready, as runnext of the waker's P.
    fn wake(&self) {
        let g = self.waiting.take().expect("recorded before the lock was released");
        // SAFETY: taken out: it is ours to make ready.
        unsafe { make_runnable(g) };
        assert!(self.ring.swap_next(g).is_null());
    }

    /// Runs it: the context must be all there.
    fn run(&self, g: *mut G) {
        assert_eq!(self.g.status.load(Relaxed), status::RUNNABLE, "G-3: in a queue, so runnable");
        // SAFETY: out of a queue, so ours.
        unsafe { (*g).status.store(status::RUNNING, Release) };
        // SAFETY: as above.
        self.context.with_mut(|p| unsafe { *p += 1 });
    }
}

/// Goal: PARK-2, READY-1: a waker meets a goroutine that waits, never one that is still leaving; who runs it
/// next, the waker's worker, sees the saved context.
#[test]
fn park2_a_waker_meets_a_whole_context() {
    explore(2, || {
        let model = Model::new();
        let arg = model.enter();
        let waker = {
            let model = model.clone();
            thread::spawn(move || {
                model.wake();
                model.ring.take_next().into_iter().for_each(|g| model.run(g));
            })
        };
        model.leave(arg);
        waker.join().unwrap();
        assert_eq!(model.g.status.load(Relaxed), status::RUNNING, "READY-1: it ran again");
    });
}

/// Goal: the same where a third worker steals it out of runnext.
#[test]
fn park2_a_thief_meets_a_whole_context() {
    explore(20, || {
        let model = Model::new();
        let arg = model.enter();
        let waker = {
            let model = model.clone();
            thread::spawn(move || model.wake())
        };
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                let mut rule = NextRule::TakeAfter(thread::yield_now);
                let loot = model.ring.steal(&Ring::new(), |n| n.min(RING_SLOTS / 2), &mut rule);
                loot.map(|(g, _)| model.run(g)).is_some()
            })
        };
        model.leave(arg);
        waker.join().unwrap();
        let stolen = thief.join().unwrap();
        assert_ne!(stolen, model.ring.take_next().is_some(), "G-3: on one queue or run");
    });
}

/// Goal: a plain thread's stand-in: what the waker wrote before `ready` is seen after `park`, and a wake-up
/// that comes before the park is not lost.
#[test]
fn ready1_a_parked_thread_sees_what_its_waker_wrote() {
    struct Slot {
        waiting: Waiting,
        value: Checked<u32>,
    }
    // SAFETY: the value is the waker's until `ready`, then the parked thread's; the cell checks that.
    unsafe impl Sync for Slot {}
    // SAFETY: as above.
    unsafe impl Send for Slot {}
    explore(4, || {
        let slot = Arc::new(Slot { waiting: Waiting::new(), value: Checked::new(0) });
        let arg = slot.waiting.enter(me());
        let waker = {
            let slot = slot.clone();
            thread::spawn(move || {
                let g = slot.waiting.take().expect("recorded before the lock was released");
                // SAFETY: taken out: ours to write for, and to make ready once.
                unsafe {
                    slot.value.with_mut(|p| *p = 7);
                    ready(g);
                }
            })
        };
        // SAFETY: the commit releases the lock; the waker is one.
        let parked = unsafe { park(WaitReason::ChanReceive, true, release, arg) };
        assert_eq!(parked, Parked::Ready);
        // SAFETY: made ready: the waker is done with it.
        assert_eq!(slot.value.with(|p| unsafe { *p }), 7);
        waker.join().unwrap();
    });
}
