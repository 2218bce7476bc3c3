//! Offers and latches under every order that the model knows, with full fences on both sides (`light` off:
//! `membarrier` is the kernel's, and no model has it). `JOB_SLOTS` is 2 here.
//! Which weakening each test catches: `docs/orderings.md`.

use super::*;
use crate::sched::park::me;
use crate::shim::{explore, explore_bounded};
use loom::cell::UnsafeCell as Checked;
use loom::thread;
use std::sync::Arc;

/// Jobs as the deque sees them, pointers that it never follows, with a payload that orders are checked on.
struct Model {
    offers: Box<Offers>,
    jobs: Vec<Checked<usize>>,
}

// SAFETY: a job is written by its owner before the push and read by whoever took it; the cells check that.
unsafe impl Sync for Model {}
// SAFETY: as above.
unsafe impl Send for Model {}

impl Model {
    fn new(jobs: usize) -> Arc<Model> {
        let jobs = (0..jobs).map(|_| Checked::new(usize::MAX)).collect();
        Arc::new(Model { offers: Offers::new(false), jobs })
    }
    /// Owner: offers job `n`.
    fn push(&self, n: usize) -> bool {
        // SAFETY: not offered yet.
        self.jobs[n].with_mut(|p| unsafe { *p = n });
        self.offers.push(ptr::from_ref(&self.jobs[n]).cast_mut().cast())
    }
    /// Thief: what it took.
    fn steal(&self) -> Option<usize> {
        let job = self.offers.steal(true)?.cast::<Checked<usize>>();
        assert!(!job.is_null(), "E1: an offer without a job");
        // SAFETY: it left by our steal.
        Some(unsafe { (*job).with(|p| *p) })
    }
    fn thief(self: &Arc<Model>) -> thread::JoinHandle<Option<usize>> {
        let model = self.clone();
        thread::spawn(move || model.steal())
    }
}

fn assert_once(mut got: Vec<usize>, count: usize) {
    got.sort_unstable();
    assert_eq!(got, (0..count).collect::<Vec<_>>(), "I1: each leaves exactly once");
}

/// Goal: I1 over the last element (F3, F4). Method: one offer, the owner takes it back while a thief is at it.
#[test]
fn join_the_last_offer_goes_to_owner_or_thief() {
    explore(20, || {
        let model = Model::new(1);
        let thief = model.thief();
        assert!(model.push(0));
        let mut got: Vec<usize> = model.offers.pop().then_some(0).into_iter().collect();
        got.extend(thief.join().unwrap());
        assert_once(got, 1);
    });
}

/// Goal: I1 where store buffering bites: two offers, the owner takes back both, two thieves take one each.
/// Without the fences a thief reads the old `bottom` and the owner the old `top`.
#[test]
fn join_two_offers_two_thieves() {
    explore_bounded(1_000, 3, || {
        let model = Model::new(2);
        assert!(model.push(0) && model.push(1));
        let thieves = [model.thief(), model.thief()];
        let mut got = Vec::new();
        for n in [1, 0] {
            if model.offers.pop() {
                got.push(n);
            }
        }
        got.extend(thieves.into_iter().filter_map(|t| t.join().unwrap()));
        assert_once(got, 2);
    });
}

/// Goal: the slots wrap, and a full deque takes no more. Method: a thief empties what the owner fills twice.
#[test]
fn join_offers_wrap_and_refuse_when_full() {
    explore_bounded(1_000, 3, || {
        let model = Model::new(4);
        let thief = {
            let model = model.clone();
            thread::spawn(move || [model.steal(), model.steal()].into_iter().flatten().collect())
        };
        let (mut got, mut mine) = (Vec::new(), Vec::new());
        for n in 0..4 {
            if model.push(n) { mine.push(n) } else { got.push(n) } // Refused: runs inline.
        }
        assert!(mine.len() >= JOB_SLOTS);
        while let Some(n) = mine.pop() {
            if !model.offers.pop() {
                break;
            }
            got.push(n);
        }
        let stolen: Vec<usize> = thief.join().unwrap();
        got.extend(stolen);
        assert_once(got, 4);
    });
}

/// A result, and the latch that says it is there.
struct Answer {
    latch: Latch,
    value: Checked<u32>,
}

/// Goal: E2 and no lost wake-up between the latch and the park. Method: the owner is a plain thread with its
/// real stand-in, so `park`, its commit, `ready` and the unpark are the product's; a lost wake-up deadlocks.
#[test]
fn join_a_set_latch_wakes_its_owner_with_the_result() {
    struct Shared(*const Answer);
    // SAFETY: the answer is leaked to the owner until the latch is set.
    unsafe impl Send for Shared {}
    explore(20, || {
        let answer = Box::new(Answer { latch: Latch::new(me()), value: Checked::new(0) });
        let shared = Shared(&raw const *answer);
        let setter = thread::spawn(move || {
            let shared = { shared }.0;
            // SAFETY: live until set; set once.
            unsafe {
                (*shared).value.with_mut(|p| *p = 7);
                Latch::set(&raw const (*shared).latch);
            }
        });
        answer.latch.wait();
        // SAFETY: the latch is set: the setter is gone.
        assert_eq!(answer.value.with(|p| unsafe { *p }), 7);
        setter.join().unwrap();
    });
}
