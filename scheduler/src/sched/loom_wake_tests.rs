//! FC-07 (3): "submit, look for sleepers, wake" against "stop spinning, look again, sleep", with the product's
//! `find_runnable`, `wakep`, `inject`, `reset_spinning` and `wake_poller` on model threads.
//!
//! A wake-up that is lost leaves every thread asleep: the model calls that a deadlock and fails. Which
//! weakening each test catches: `docs/orderings.md`.

use super::find::{Found, find_runnable};
use super::loom_world::{Shared, Start, Thread};
use super::wake::{inject, reset_spinning, wake_poller, wakep};
use super::world::World;
use crate::shim::Ordering::Release;
use crate::shim::{explore, explore_bounded};
use loom::thread;
use std::sync::Arc;

/// Finds and runs goroutines, as `worker` does, until there is none left to come; or just the first, and is
/// busy with it from then on.
fn work(hub: &Shared, id: usize, p: Option<u32>, all: bool) {
    let w = Thread::new(hub, id, p);
    if p.is_none() && !w.stop_worker() {
        return;
    }
    while let Found::Run { g, .. } = find_runnable(&w) {
        if w.is_spinning() {
            reset_spinning(&w);
        }
        hub.run(g);
        if !all {
            return;
        }
    }
}

fn spawn(hub: &Arc<Shared>, id: usize, p: Option<u32>, all: bool) -> thread::JoinHandle<()> {
    let hub = hub.clone();
    thread::spawn(move || work(&hub, id, p, all))
}

/// The holder of P 0 submits a goroutine to its ring and goes on with something long.
fn submit(hub: &Shared) {
    hub.procs[0].ring.push(hub.make()).expect("room");
    wakep(hub, true);
}

/// Goal: SPIN-8, SPIN-9: a submitter and the only other worker, which finds nothing, leaves and would sleep:
/// it must come to run the goroutine, whether it was admitted to stealing or kept away by the submitter's own
/// passing count (needspinning, issue 45867).
#[test]
fn spin8_a_submission_meets_the_last_searcher() {
    explore_bounded(1_500, 4, || {
        let hub = Shared::new(Start { procs: 2, workers: 1, tasks: 1, ..Start::default() });
        let worker = spawn(&hub, 0, Some(1), false);
        submit(&hub);
        worker.join().unwrap();
    });
}

/// Goal: the same with the other worker asleep already or on its way there, its P idle.
#[test]
fn wake1_a_submission_meets_a_sleeper() {
    explore(10, || {
        let start = Start { procs: 2, workers: 1, tasks: 1, idle: &[1], ..Start::default() };
        let hub = Shared::new(start);
        let worker = spawn(&hub, 0, None, false);
        submit(&hub);
        worker.join().unwrap();
    });
}

/// Goal: SPIN-5, SPIN-7: two goroutines, two more Ps: the searcher that finds one must see to it that
/// somebody comes for the other, although the submitter was silent while it searched.
#[test]
fn spin5_the_searcher_hands_the_search_on() {
    explore_bounded(30_000, 1, || {
        let start = Start { procs: 3, workers: 2, tasks: 2, idle: &[2], ..Start::default() };
        let hub = Shared::new(start);
        let workers = [spawn(&hub, 0, Some(1), false), spawn(&hub, 1, None, false)];
        submit(&hub);
        submit(&hub);
        workers.into_iter().for_each(|w| w.join().unwrap());
    });
}

/// Goal: FC-07 (2), INJ-1: an outsider makes a goroutine ready just as the last worker goes to sleep.
#[test]
fn inj1_an_outsider_meets_the_last_worker() {
    explore(100, || {
        let hub = Shared::new(Start { procs: 1, workers: 1, tasks: 1, ..Start::default() });
        let worker = spawn(&hub, 0, Some(0), true);
        inject(&*hub, &[hub.make()]);
        worker.join().unwrap();
    });
}

/// `count` goroutines from an outsider, one by one, to two workers that run whatever they find.
fn outsider_and_two_workers(count: usize) {
    let hub = Shared::new(Start { procs: 2, workers: 2, tasks: count, ..Start::default() });
    let workers = [spawn(&hub, 0, Some(0), true), spawn(&hub, 1, Some(1), true)];
    (0..count).for_each(|_| inject(&*hub, &[hub.make()]));
    workers.into_iter().for_each(|w| w.join().unwrap());
}

/// Goal: FC-07 (3): two workers and an outsider with a goroutine: one of them runs it, both may sleep then.
#[test]
fn inj1_an_outsider_and_two_workers() {
    explore_bounded(30_000, 2, || outsider_and_two_workers(1));
}

/// Goal: the same with two goroutines: the second comes while the first is being fetched.
#[test]
fn inj1_two_from_an_outsider_to_two_workers() {
    explore_bounded(10_000, 1, || outsider_and_two_workers(2));
}

/// Goal: SPIN-12, WAKE-5, FIND-15 (d): a timer set by a busy P while the other worker goes to sleep is run.
#[test]
fn spin12_a_timer_meets_the_last_searcher() {
    explore_bounded(300, 3, || {
        let start = Start { procs: 2, workers: 1, tasks: 1, timers: true, ..Start::default() };
        let hub = Shared::new(start);
        let worker = spawn(&hub, 0, Some(1), false);
        hub.procs[0].deadline.store(50, Release);
        wake_poller(&*hub, 50);
        worker.join().unwrap();
    });
}
