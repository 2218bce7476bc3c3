//! The ring under every order that the model knows: RQ-3, RQ-4, RQ-6, RQ-11, RQ-13 with real orderings.
//!
//! Each test has a payload behind the pointers, in a cell that fails on any access without a happens-before
//! edge: so an edge that is too weak fails even where the pointer itself arrives. `RING_SLOTS` is 4 here.
//! Which weakening each test catches: `docs/orderings.md`.

use super::Ring;
use super::local::NextRule;
use crate::limits::RING_SLOTS;
use crate::shim::{explore, explore_bounded};
use loom::cell::UnsafeCell;
use loom::thread;
use std::sync::Arc;

/// What a pointer in a ring leads to.
struct Task(UnsafeCell<usize>);

/// A ring and the tasks that pass through it.
struct Model {
    ring: Ring<Task>,
    tasks: Vec<Task>,
}

// SAFETY: tasks are read and written only by who holds their pointer; the cells check just that.
unsafe impl Sync for Model {}
// SAFETY: as above.
unsafe impl Send for Model {}

impl Model {
    fn new(tasks: usize) -> Arc<Model> {
        let tasks = (0..tasks).map(|_| Task(UnsafeCell::new(usize::MAX))).collect();
        Arc::new(Model { ring: Ring::new(), tasks })
    }
    /// Writes task `n`, as its creator does just before it submits it.
    fn made(&self, n: usize) -> *mut Task {
        let task = &self.tasks[n];
        // SAFETY: not submitted yet.
        task.0.with_mut(|p| unsafe { *p = n });
        std::ptr::from_ref(task).cast_mut()
    }
    fn push(&self, n: usize) {
        self.ring.push(self.made(n)).expect("room in the ring");
    }
}

/// The number in a task that left a ring. Fails in the model if nothing orders this read after the write.
fn number(task: *mut Task) -> usize {
    assert!(!task.is_null(), "I3: a slot without a goroutine left the ring");
    // SAFETY: it left by our claim, so it is ours; the model's tasks outlive the threads.
    unsafe { (*task).0.with(|p| *p) }
}

fn half(len: u32) -> u32 {
    len - len / 2
}

/// One theft into an own ring, which is then emptied: all that was taken.
fn rob(victim: &Ring<Task>, next: bool) -> Vec<usize> {
    let mine = Ring::new();
    let pause = || {};
    let mut rule = if next { NextRule::TakeAfter(pause) } else { NextRule::Leave };
    let mut got: Vec<usize> =
        victim.steal(&mine, half, &mut rule).map(|(task, _)| number(task)).into_iter().collect();
    got.extend(pop_all(&mine));
    got
}

fn pop_all(ring: &Ring<Task>) -> Vec<usize> {
    std::iter::from_fn(|| ring.pop()).map(number).collect()
}

/// Everything left exactly once.
fn assert_once(mut got: Vec<usize>, count: usize) {
    got.sort_unstable();
    assert_eq!(got, (0..count).collect::<Vec<_>>(), "I3: each leaves exactly once");
}

/// Goal: RQ-4 across the wrap. Method: the owner puts more through the ring than it has slots, a thief
/// takes half at a time.
#[test]
fn rq4_each_task_leaves_once_by_owner_or_thief() {
    explore_bounded(5_000, 3, || {
        let model = Model::new(6);
        (0..3).for_each(|n| model.push(n));
        let thief = {
            let model = model.clone();
            thread::spawn(move || [rob(&model.ring, false), rob(&model.ring, false)].concat())
        };
        let mut got = pop_all(&model.ring);
        (3..6).for_each(|n| model.push(n));
        got.extend(pop_all(&model.ring));
        got.extend(thief.join().unwrap());
        assert_once(got, 6);
    });
}

/// Goal: E1 of `push`, alone and unbounded: what a thief finds is published, goroutine and slot.
#[test]
fn rq3_a_stolen_task_was_published() {
    explore(20, || {
        let model = Model::new(2);
        let thief = {
            let model = model.clone();
            thread::spawn(move || rob(&model.ring, false))
        };
        (0..2).for_each(|n| model.push(n));
        let mut got = thief.join().unwrap();
        got.extend(pop_all(&model.ring));
        assert_once(got, 2);
    });
}

/// Goal: E1 of `put_batch`: one publish for all of them.
#[test]
fn rq7_a_batch_is_published_whole() {
    explore(4, || {
        let model = Model::new(2);
        let thief = {
            let model = model.clone();
            thread::spawn(move || rob(&model.ring, false))
        };
        let mut next = 0..2;
        model.ring.put_batch(|| next.next().map(|n| model.made(n)));
        let mut got = thief.join().unwrap();
        got.extend(pop_all(&model.ring));
        assert_once(got, 2);
    });
}

/// Goal: E1 of `steal`: loot that a thief publishes in its ring can be stolen on. Method: a chain of two
/// thieves over four goroutines.
#[test]
fn rq12_loot_can_be_stolen_again() {
    explore(10, || {
        let model = Model::new(4);
        (0..4).for_each(|n| model.push(n));
        let first = Model::new(0);
        let thief = {
            let (model, first) = (model.clone(), first.clone());
            thread::spawn(move || {
                let loot = model.ring.steal(&first.ring, half, &mut NextRule::<fn()>::Leave);
                loot.map(|(task, _)| number(task)).into_iter().collect::<Vec<_>>()
            })
        };
        let second = {
            let first = first.clone();
            thread::spawn(move || rob(&first.ring, false))
        };
        let mut got = thief.join().unwrap();
        got.extend(second.join().unwrap());
        got.extend(pop_all(&first.ring));
        got.extend(pop_all(&model.ring));
        assert_once(got, 4);
    });
}

/// Goal: two thieves at one victim never take the same one (RQ-10 (6)).
#[test]
fn rq10_two_thieves_share_the_loot() {
    explore(10, || {
        let model = Model::new(3);
        (0..3).for_each(|n| model.push(n));
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let model = model.clone();
                thread::spawn(move || rob(&model.ring, false))
            })
            .collect();
        let mut got: Vec<usize> = thieves.into_iter().flat_map(|t| t.join().unwrap()).collect();
        got.extend(pop_all(&model.ring));
        assert_once(got, 3);
    });
}

/// Goal: RQ-6: overflow and a thief: either the oldest half moves, or the thief made room.
#[test]
fn rq6_overflow_races_a_thief() {
    explore(40, || {
        let full = RING_SLOTS as usize;
        let model = Model::new(full + 1);
        (0..full).for_each(|n| model.push(n));
        let thief = {
            let model = model.clone();
            thread::spawn(move || rob(&model.ring, false))
        };
        let (mut got, mut task) = (Vec::new(), model.made(full));
        while let Err(back) = model.ring.push(task) {
            task = back;
            if model.ring.take_oldest_half(|old| got.push(number(old))) {
                got.push(number(task));
                break;
            }
        }
        got.extend(pop_all(&model.ring));
        got.extend(thief.join().unwrap());
        assert_once(got, full + 1);
    });
}

/// Goal: RQ-8 (1), RQ-11, E3: runnext is taken by its owner or by a thief, never both, with its goroutine.
/// Method: the thief may come at any time; the owner displaces one and takes the other.
#[test]
fn rq11_runnext_goes_to_owner_or_thief() {
    explore(150, || {
        let model = Model::new(2);
        let thief = {
            let model = model.clone();
            thread::spawn(move || rob(&model.ring, true))
        };
        assert!(model.ring.swap_next(model.made(0)).is_null());
        let displaced = model.ring.swap_next(model.made(1));
        if !displaced.is_null() {
            model.ring.push(displaced).expect("room");
        }
        let mut got: Vec<usize> = model.ring.take_next().map(number).into_iter().collect();
        got.extend(pop_all(&model.ring));
        got.extend(thief.join().unwrap());
        assert_once(got, 2);
    });
}

/// Goal: RQ-13: while a goroutine is there all the time, nobody ever reads "empty", although it moves from
/// runnext to the ring between two reads.
#[test]
fn rq13_never_wrongly_empty() {
    explore(20, || {
        let model = Model::new(2);
        model.ring.swap_next(model.made(0));
        let looker = {
            let model = model.clone();
            thread::spawn(move || assert!(!model.ring.is_empty(), "RQ-13: wrongly empty"))
        };
        let displaced = model.ring.swap_next(model.made(1));
        model.ring.push(displaced).expect("room");
        assert_eq!(model.ring.take_next().map(number), Some(1));
        looker.join().unwrap();
        assert_eq!(pop_all(&model.ring), [0]);
    });
}
