//! Do the wakers take the steps of WAKE-1 to WAKE-5, SPIN-3 to SPIN-6 and INJ-1, in order?
//!
//! Method: as `find_tests`; `docs/orderings.md` lists the changes that these tests trip.
//!
//! # Not here
//! WAKE-2's mechanism (`real`), interleavings (`loom_wake_tests`).

use super::script::Script;
use super::wake::{become_spinning, handoffp, inject, reset_spinning, wake_poller, wakep};
use super::world::Timed;
use crate::policy::Policy;

/// One P idle: the rest of `wakep` when it starts a worker.
const START: &str = "spinners:0->1 lock take-idle unlock start2-spinning";

/// Goal: WAKE-1: publish, fence, nobody searches, one spinner is made, an idle P under the lock, started
/// after the lock. The count already stands when the worker starts.
#[test]
fn wake1_starts_one_spinner_for_an_idle_p() {
    let w = Script::new().with_idle(2).at("start2-spinning", |w| assert_eq!(w.spinners.get(), 1));
    wakep(&w, true);
    assert_eq!(w.take_log(), format!("rouse F1 spinners? idle# {START}"));
}

/// Goal: WAKE-1: silent while somebody searches; the fence comes before that look (SPIN-8).
#[test]
fn wake1_is_silent_while_somebody_searches() {
    let w = Script::new().with_idle(2);
    w.spinners.set(1);
    wakep(&w, true);
    assert_eq!(w.take_log(), "rouse F1 spinners?");
}

/// Goal: WAKE-1: the compare-and-swap decides: another waker in between ends it.
#[test]
fn wake1_the_swap_decides_between_two_wakers() {
    let w = Script::new().with_idle(2).at("spinners:0->1", |w| w.spinners.set(1));
    wakep(&w, true);
    assert_eq!(w.take_log(), "rouse F1 spinners? idle# spinners:0->1");
    assert_eq!(w.spinners.get(), 1, "the other's");
}

/// Goal: WAKE-1, SPIN-6: no idle P: needspinning under the lock, then the count is taken back.
#[test]
fn spin6_without_an_idle_p_needspinning_is_raised_under_the_lock() {
    let w = Script::new();
    wakep(&w, true);
    let slow = "spinners:0->1 lock take-idle need=1 unlock spinners-1";
    assert_eq!(w.take_log(), format!("rouse F1 spinners? idle# need? {slow}"));
    assert_eq!(w.spinners.get(), 0);
}

/// Goal: with needspinning raised and no P idle there is nothing left to do; the looks follow the fence.
#[test]
fn spin6_a_raised_needspinning_is_not_raised_again() {
    let w = Script::new();
    w.need_spinning.set(true);
    wakep(&w, true);
    assert_eq!(w.take_log(), "rouse F1 spinners? idle# need?");
}

/// Goal: an idle P is used although needspinning is still up.
#[test]
fn wake1_an_idle_p_is_used_whatever_needspinning_says() {
    let w = Script::new().with_idle(2);
    w.need_spinning.set(true);
    wakep(&w, true);
    assert_eq!(w.take_log(), format!("rouse F1 spinners? idle# {START}"));
}

/// Goal: with one P, held by the caller, the first call raises needspinning and later ones do nothing (SPIN-6);
/// a caller without the P does the whole protocol.
#[test]
fn spin6_one_p_short_cut_only_for_its_holder() {
    let w = Script::with(Policy::go(), 1);
    wakep(&w, true);
    assert!(w.take_log().contains("need=1"));
    wakep(&w, true);
    assert_eq!(w.take_log(), "rouse need?");
    wakep(&w, false);
    assert_eq!(w.take_log(), "rouse F1 spinners? idle# need?");
    w.idle.borrow_mut().push(0);
    wakep(&w, false);
    let start = "spinners:0->1 lock take-idle unlock start0-spinning";
    assert_eq!(w.take_log(), format!("rouse F1 spinners? idle# {start}"));
}

/// Goal: AB-4: `wake-always` starts a spinner beside another.
#[test]
fn wake1_the_always_policy_ignores_spinners() {
    let w = Script::with(Policy::parse("go1.26,wake-always").unwrap(), 3).with_idle(2);
    w.spinners.set(1);
    wakep(&w, true);
    assert_eq!(w.take_log(), "rouse F1 idle# spinners+1 lock take-idle unlock start2-spinning");
    assert_eq!(w.spinners.get(), 2);
}

/// Goal: AB-13: without needspinning nothing is ever raised.
#[test]
fn spin6_without_the_rule_the_flag_stays_down() {
    let w = Script::with(Policy::parse("go1.26,no-needspinning").unwrap(), 3);
    wakep(&w, true);
    inject(&w, &[1]);
    assert!(!w.take_log().contains("need=1"));
}

#[test]
fn spin3_flag_then_count_then_needspinning_down() {
    let w = Script::new();
    w.need_spinning.set(true);
    become_spinning(&w);
    assert_eq!(w.take_log(), "spin spinners+1 need=0");
}

/// Goal: SPIN-5: flag off, count down, then a wake-up in any case: it starts the successor.
#[test]
fn spin5_a_spinner_that_found_work_wakes_its_successor() {
    let w = Script::new().with_idle(2).spinning();
    reset_spinning(&w);
    assert_eq!(w.take_log(), format!("unspin spinners-1 rouse F1 spinners? idle# {START}"));
}

/// Goal: SPIN-5: not the last spinner: no successor.
#[test]
fn spin5_no_successor_while_another_searches() {
    let w = Script::new().with_idle(2).spinning();
    w.spinners.set(2);
    reset_spinning(&w);
    assert_eq!(w.take_log(), "unspin spinners-1 rouse F1 spinners?");
}

/// Goal: WAKE-3 (1): local work, then global work, is handed on without a look at anything else.
#[test]
fn wake3_1_work_is_handed_on_at_once() {
    let local = Script::new();
    local.procs[1].next.set(Some(3));
    handoffp(&local, 1);
    assert_eq!(local.take_log(), "work?1 start1");
    let global = Script::new();
    global.global.borrow_mut().push_back(3);
    handoffp(&global, 1);
    assert_eq!(global.take_log(), "work?1 global? start1");
}

/// Goal: WAKE-3 (4): nobody searches and nobody is idle: a spinner, and needspinning down before it starts.
#[test]
fn wake3_4_nobody_searching_or_idle_starts_a_spinner() {
    let w = Script::new();
    w.need_spinning.set(true);
    handoffp(&w, 1);
    let log = w.take_log();
    assert_eq!(log, "work?1 global? spinners? idle# spinners:0->1 need=0 start1-spinning");
    assert_eq!(w.spinners.get(), 1);
}

/// Goal: WAKE-3 (6): global work that came in before the lock.
#[test]
fn wake3_6_global_work_under_the_lock() {
    let w = Script::new().with_idle(2).at("lock", |w| w.global.borrow_mut().push_back(3));
    handoffp(&w, 1);
    let log = w.take_log();
    assert_eq!(log, "work?1 global? spinners? idle# lock global-empty? unlock start1");
}

/// Goal: WAKE-3 (7): the last busy P, and nobody in the poller.
#[test]
fn wake3_7_the_last_busy_p_keeps_a_worker_for_the_poller() {
    let w = Script::new().with_idle(2).with_idle(0);
    handoffp(&w, 1);
    let end = "lock global-empty? idle# occupied? unlock start1";
    assert_eq!(w.take_log(), format!("work?1 global? spinners? idle# {end}"));
    let polled = Script::new().with_idle(2).with_idle(0);
    polled.poll_free.set(false);
    handoffp(&polled, 1);
    assert!(polled.take_log().ends_with("occupied? deadline1 put-idle1 unlock"));
}

/// Goal: WAKE-3 (8): idle, and a deadline of its own is told to the poller, after the lock.
#[test]
fn wake3_8_an_idle_p_tells_the_poller_its_deadline() {
    let w = Script::new().with_idle(2);
    w.poll_free.set(false);
    w.poll_until.set(0);
    w.procs[1].timers.set(Timed { next: 70, ran: false });
    handoffp(&w, 1);
    let end = "lock global-empty? idle# deadline1 put-idle1 unlock F1 occupied? until? break";
    assert_eq!(w.take_log(), format!("work?1 global? spinners? idle# {end}"));
    assert!(w.procs[1].idle.get());
}

/// Goal: WAKE-5: the fence, then the look; break exactly if the poller would wake too late, or never.
#[test]
fn wake5_the_poller_is_interrupted_only_if_it_would_oversleep() {
    for (when, until, breaks) in [(50, 0, true), (50, 51, true), (50, 50, false), (50, 49, false)] {
        let w = Script::new().with_idle(2);
        w.poll_free.set(false);
        w.poll_until.set(until);
        wake_poller(&w, when);
        let want = if breaks { "F1 occupied? until? break" } else { "F1 occupied? until?" };
        assert_eq!(w.take_log(), want, "when {when}, until {until}");
    }
}

/// Goal: WAKE-5: nobody in the poller: somebody must search, as by `wakep`.
#[test]
fn wake5_without_a_poller_somebody_is_woken() {
    let w = Script::new().with_idle(2);
    wake_poller(&w, 50);
    assert_eq!(w.take_log(), format!("F1 occupied? rouse F1 spinners? idle# {START}"));
}

/// Goal: INJ-1: all to the global tail under one lock, then one worker for each idle P, not spinning.
#[test]
fn inj1_all_are_queued_before_anybody_is_started() {
    let w = Script::new().with_idle(1).with_idle(2);
    inject(&w, &[5, 6]);
    let push = "lock push-global(5) push-global(6) unlock";
    let start = "lock take-idle unlock start2 lock take-idle unlock start1";
    assert_eq!(w.take_log(), format!("{push} {start}"));
    assert_eq!(w.spinners.get(), 0);
}

/// Goal: INJ-1, SPIN-6: the first miss of an idle P raises needspinning and ends it; time slices are watched (SYS-4).
#[test]
fn inj1_stops_at_the_first_miss_and_raises_needspinning() {
    let w = Script::new().with_idle(2);
    inject(&w, &[5, 6, 7, 8]);
    let log = w.take_log();
    assert!(log.ends_with("start2 lock take-idle need=1 unlock rouse"), "{log}");
    assert_eq!(log.matches("take-idle").count(), 2);
}

/// Goal: INJ-1: no more workers than goroutines.
#[test]
fn inj1_one_worker_for_one_goroutine() {
    let w = Script::new().with_idle(1).with_idle(2);
    inject(&w, &[5]);
    assert_eq!(w.take_log(), "lock push-global(5) unlock lock take-idle unlock start2");
}
