//! Does `find_runnable` take FIND-1 to FIND-18 and STEAL-1 to STEAL-6 in the specification's order?
//!
//! Method: a scripted world logs every look and act as one word; each test compares the whole log, or the
//! part from which its clause begins, with the clause.
//!
//! `docs/orderings.md` lists 77 changes to the code, each made alone, and the tests that each one trips.
//!
//! # Not here
//! Wake-ups: `wake_tests`. Interleavings: `loom_wake_tests`. GQ-4's batch size: `real`.

use super::find::{Found, find_runnable};
use super::script::Script;
use super::world::Timed;
use crate::policy::Policy;

/// FIND-1 to FIND-9 at a tick that is no multiple of 61, with nothing found.
const NEAR: &str = "stop? own-timers next pop global? poll";
/// FIND-10, then SPIN-3.
const ADMIT: &str = "idle# spinners? spin spinners+1 need=0";
/// STEAL-4, one of three passes: self is skipped.
const PASS: &str = "walk stop? stop? idle?1 rob1 stop? idle?2 rob2";
/// STEAL-5, the fourth pass, no timers.
const LAST_PASS: &str =
    "walk stop? stop? timers?1 idle?1 rob-next1 stop? timers?2 idle?2 rob-next2";
/// FIND-14 of a worker that spins.
const GIVE_UP: &str = "lock stop? batch release put-idle0 unlock";
/// FIND-15: leaves the state, the fence, (a), (b), (d).
const LEAVE: &str = "unspin spinners-1 F2";
const RECHECK: &str = "global? idle?0 idle?1 empty?1 idle?2 empty?2 timers?0 timers?1 timers?2";

fn run(g: u32) -> Found<u32> {
    Found::Run { g, inherit: false }
}

fn inherit(g: u32) -> Found<u32> {
    Found::Run { g, inherit: true }
}

fn four_passes() -> String {
    [PASS, PASS, PASS, LAST_PASS].join(" ")
}

/// The way down to the release of the P, as a spinner, with nothing found.
fn down_to_release() -> String {
    [NEAR, ADMIT, &four_passes(), GIVE_UP].join(" ")
}

/// Everything there is, in order: `parts` after [`down_to_release`].
fn whole(parts: &[&str]) -> String {
    format!("{} {}", down_to_release(), parts.join(" "))
}

/// Nobody admitted: two spinners already, of three busy Ps.
fn crowd() -> Script {
    let w = Script::new();
    w.spinners.set(2);
    w
}

/// [`NEAR`] and a failed admission.
fn down_unadmitted() -> String {
    [NEAR, "idle# spinners?"].join(" ")
}

/// Goal: every step, in order, of a worker that finds nothing anywhere.
#[test]
fn find1_to_find18_the_whole_way_down_in_order() {
    let w = Script::new();
    assert_eq!(find_runnable(&w), Found::Stop);
    assert_eq!(w.take_log(), whole(&[LEAVE, RECHECK, "enter-poll(0) sleep"]));
    assert_eq!(w.spinners.get(), 0);
}

#[test]
fn find1_a_pending_stop_comes_before_anything_else() {
    let w = Script::new();
    w.stop.set(true);
    w.procs[0].next.set(Some(1));
    assert_eq!(find_runnable(&w), Found::Stop);
    assert_eq!(w.take_log(), "stop?");
}

/// Goal: FIND-2 comes before every queue: what a due timer makes ready runs before the ring's oldest.
#[test]
fn find2_own_timers_run_before_any_queue_is_looked_at() {
    let w = Script::new();
    w.push(0, 1);
    w.procs[0].timers.set(Timed { next: 0, ran: true });
    w.procs[0].ready.set(Some(7));
    assert_eq!(find_runnable(&w), inherit(7));
    assert_eq!(w.take_log(), "stop? own-timers next");
}

/// Goal: FIND-2's deadline becomes FIND-16's limit.
#[test]
fn find2_own_deadline_limits_the_poll() {
    let w = Script::new().at("block(50)", |w| w.stop.set(true));
    w.procs[0].timers.set(Timed { next: 50, ran: false });
    assert_eq!(find_runnable(&w), Found::Stop);
    assert!(w.take_log().contains("enter-poll(50) block(50)"));
}

/// Goal: FIND-5, GQ-5: on a multiple of 61 one from the global queue goes before runnext and ring, fresh.
#[test]
fn find5_fairness_tick_looks_at_the_global_queue_first() {
    for tick in [0, 61, 122, 61 * 70_000_000] {
        let w = Script::new();
        w.tick.set(tick);
        w.procs[0].next.set(Some(1));
        w.push(0, 2);
        w.global.borrow_mut().extend([8, 9]);
        assert_eq!(find_runnable(&w), run(8), "tick {tick}");
        assert_eq!(w.take_log(), "stop? own-timers global? global-one");
        assert_eq!(w.global.take(), [9], "GQ-5: one, not a batch");
    }
}

#[test]
fn find5_other_ticks_leave_the_global_queue_for_later() {
    for tick in [1, 60, 62, 121] {
        let w = Script::new();
        w.tick.set(tick);
        w.push(0, 2);
        w.global.borrow_mut().push_back(8);
        assert_eq!(find_runnable(&w), run(2), "tick {tick}");
        assert_eq!(w.take_log(), "stop? own-timers next pop");
    }
}

/// Goal: the hint may be wrong (GQ-1): an empty queue on a 61 tick falls through to the local ones.
#[test]
fn find5_an_empty_global_queue_on_a_tick_falls_through() {
    let w = Script::new().at("global-one", |w| w.global.borrow_mut().clear());
    w.tick.set(61);
    w.global.borrow_mut().push_back(8);
    w.push(0, 2);
    assert_eq!(find_runnable(&w), run(2));
    assert_eq!(w.take_log(), "stop? own-timers global? global-one next pop");
}

/// Goal: FIND-7: runnext first and in the old slice, then the ring, fresh.
#[test]
fn find7_runnext_inherits_and_the_ring_is_fresh() {
    let w = Script::new();
    w.procs[0].next.set(Some(1));
    w.push(0, 2);
    assert_eq!(find_runnable(&w), inherit(1));
    assert_eq!(w.take_log(), "stop? own-timers next");
    assert_eq!(find_runnable(&w), run(2));
    assert_eq!(w.take_log(), "stop? own-timers next pop");
}

/// Goal: FIND-8: the global batch after the local queues, under the lock, fresh, before the poll.
#[test]
fn find8_global_batch_after_local_work() {
    let w = Script::new();
    w.global.borrow_mut().extend([8, 9]);
    w.polled.set(Some(5));
    assert_eq!(find_runnable(&w), run(8));
    assert_eq!(w.take_log(), "stop? own-timers next pop global? lock batch unlock");
    assert_eq!(w.procs[0].ring.take(), [9], "the others of the batch");
}

/// Goal: FIND-9: the poll after the global queue and before any theft; fresh.
#[test]
fn find9_poll_before_stealing() {
    let w = Script::new();
    w.push(1, 3);
    w.polled.set(Some(5));
    assert_eq!(find_runnable(&w), run(5));
    assert_eq!(w.take_log(), NEAR);
}

/// Goal: FIND-10, SPIN-2: admitted while 2 * spinners < busy. Method: every count up to 8 on 8 Ps, each
/// number of idle ones.
#[test]
fn find10_admission_is_half_of_the_busy() {
    for idle in 0..8u32 {
        for spinners in 0..8 {
            let mut w = Script::with(Policy::go(), 8);
            for p in 0..idle {
                w = w.with_idle(7 - p);
            }
            w.spinners.set(spinners);
            assert_eq!(find_runnable(&w), Found::Stop);
            let admitted = w.take_log().contains(" spin ");
            assert_eq!(admitted, 2 * spinners < 8 - idle, "{spinners} spin, {idle} idle");
        }
    }
}

/// Goal: FIND-10: who spins already is not counted or asked again.
#[test]
fn find10_a_spinner_is_admitted_as_it_is() {
    let w = crowd().spinning();
    w.push(2, 4);
    assert_eq!(find_runnable(&w), run(4));
    assert!(!w.take_log().contains("spinners"));
    assert!(w.spinning.get(), "SCHED-1 (6) leaves the state, not the search");
}

/// Goal: SPIN-3 comes before the first victim is looked at.
#[test]
fn find10_becomes_spinning_before_the_first_victim() {
    let w = Script::new();
    w.need_spinning.set(true);
    w.push(1, 3);
    assert_eq!(find_runnable(&w), run(3));
    assert_eq!(w.take_log(), [NEAR, ADMIT, "walk stop? stop? idle?1 rob1"].join(" "));
    assert!(w.spinning.get() && w.spinners.get() == 1 && !w.need_spinning.get());
}

/// Goal: STEAL-4, STEAL-5: passes 1 to 3 take rings only, the fourth takes runnext.
#[test]
fn steal4_runnext_is_taken_in_the_last_pass_only() {
    let w = Script::new();
    w.procs[1].next.set(Some(6));
    assert_eq!(find_runnable(&w), run(6));
    let last = "walk stop? stop? timers?1 idle?1 rob-next1";
    assert_eq!(w.take_log(), [NEAR, ADMIT, PASS, PASS, PASS, last].join(" "));
}

#[test]
fn steal4_idle_victims_are_not_robbed() {
    let w = Script::new().with_idle(1);
    assert_eq!(find_runnable(&w), Found::Stop);
    let log = w.take_log();
    assert!(!log.contains("rob1") && !log.contains("rob-next1"), "{log}");
    assert_eq!(log.matches("idle?1").count(), 4 + 1, "four passes and the re-check");
}

/// Goal: STEAL-3: a stop in the middle of a pass leads to the top.
#[test]
fn steal3_a_pending_stop_ends_the_pass() {
    let w = Script::new().at("rob1", |w| w.stop.set(true));
    assert_eq!(find_runnable(&w), Found::Stop);
    assert_eq!(w.take_log(), [NEAR, ADMIT, "walk stop? stop? idle?1 rob1 stop? stop?"].join(" "));
}

/// Goal: STEAL-5: in the last pass a victim's timers run before its ring is tried, and what they made ready
/// is the thief's own runnext: it inherits (STEAL-7).
#[test]
fn steal5_timers_of_the_victim_before_its_ring() {
    let w = Script::new().at("run-timers1", |w| w.push(1, 3));
    w.procs[1].has_timers.set(true);
    w.procs[1].timers.set(Timed { next: 0, ran: true });
    w.procs[1].ready.set(Some(7));
    assert_eq!(find_runnable(&w), inherit(7));
    let last = "walk stop? stop? timers?1 run-timers1 next";
    assert_eq!(w.take_log(), [NEAR, ADMIT, PASS, PASS, PASS, last].join(" "));
}

/// Goal: STEAL-5 (1): idle Ps outside the idle mask's protection still have timers that are run.
#[test]
fn steal5_timers_of_an_idle_p_are_run_too() {
    let w = Script::new().with_idle(1);
    w.procs[1].has_timers.set(true);
    w.procs[1].timers.set(Timed { next: 0, ran: true });
    w.procs[1].ready.set(Some(7));
    assert_eq!(find_runnable(&w), inherit(7));
}

/// Goal: STEAL-5 (2): timers that made nothing ready here do not spare the victim's ring.
#[test]
fn steal5_after_timers_own_queue_then_the_victim() {
    let w = Script::new().at("run-timers1", |w| w.push(1, 3));
    w.procs[1].has_timers.set(true);
    w.procs[1].timers.set(Timed { next: 90, ran: true });
    assert_eq!(find_runnable(&w), run(3));
    let log = w.take_log();
    assert!(log.ends_with("timers?1 run-timers1 next pop idle?1 rob-next1"), "{log}");
}

/// Goal: STEAL-6: timers ran, nothing was found: the top, still spinning, rather than sleep.
#[test]
fn steal6_timers_ran_without_result_leads_to_the_top() {
    let w = Script::new().at("own-timers", |_| ()).at("own-timers", |w| w.push(0, 2));
    w.procs[1].has_timers.set(true);
    w.procs[1].timers.set(Timed { next: 90, ran: true });
    assert_eq!(find_runnable(&w), run(2));
    let log = w.take_log();
    let again = "rob-next2 stop? own-timers next pop";
    assert!(log.ends_with(again) && !log.contains("release"), "{log}");
    assert!(w.spinning.get());
}

/// Goal: STEAL-6, FIND-11: the earliest deadline seen anywhere, none being 0, limits the poll.
#[test]
fn find11_the_earliest_deadline_seen_limits_the_poll() {
    for (own, one, two, want) in [(90, 70, 80, 70), (0, 0, 40, 40), (30, 0, 0, 30), (9, 8, 0, 8)] {
        let w = Script::new().at(&format!("block({want})"), |w| w.stop.set(true));
        for (p, next) in [own, one, two].into_iter().enumerate() {
            w.procs[p].has_timers.set(p != 0 && next != 0);
            w.procs[p].timers.set(Timed { next, ran: false });
        }
        assert_eq!(find_runnable(&w), Found::Stop);
        w.take_log(); // The limit was `want`, or its reaction would still wait.
    }
}

/// Goal: FIND-11: a deadline seen in the pass limits the poll, also if FIND-15 (d) does not see it again.
#[test]
fn find11_a_deadline_seen_in_the_last_pass_is_kept() {
    let w = Script::new()
        .at("unspin", |w| w.procs[1].has_timers.set(false))
        .at("block(70)", |w| w.stop.set(true));
    w.procs[1].has_timers.set(true);
    w.procs[1].timers.set(Timed { next: 70, ran: false });
    assert_eq!(find_runnable(&w), Found::Stop);
    assert!(w.take_log().contains("F2"));
}

/// Goal: ours: forks are looked for after Go's four passes only, and only if anybody ever forked.
#[test]
fn find12_forks_come_after_the_four_passes() {
    let w = Script::new();
    w.forks_in_use.set(true);
    w.procs[2].fork.set(Some(5));
    assert_eq!(find_runnable(&w), run(5));
    let forks = "walk rob-fork1 rob-fork2";
    assert_eq!(w.take_log(), [NEAR, ADMIT, &four_passes(), forks].join(" "));
}

/// Goal: FIND-14, SPIN-11: the global queue once more under the lock, before the P is released.
#[test]
fn find14_global_work_under_the_lock_keeps_the_p() {
    let w = Script::new().at("lock", |w| w.global.borrow_mut().push_back(8));
    assert_eq!(find_runnable(&w), run(8));
    let end = "lock stop? batch unlock";
    assert_eq!(w.take_log(), [NEAR, ADMIT, &four_passes(), end].join(" "));
    assert_eq!(w.mine.get(), Some(0));
}

#[test]
fn find14_a_stop_under_the_lock_comes_before_the_global_queue() {
    let w = Script::new().at("lock", |w| {
        w.global.borrow_mut().push_back(8);
        w.stop.set(true);
    });
    assert_eq!(find_runnable(&w), Found::Stop);
    let end = "lock stop? unlock stop?";
    assert_eq!(w.take_log(), [NEAR, ADMIT, &four_passes(), end].join(" "));
}

/// Goal: FIND-14: needspinning makes a worker that was refused admission search after all; the flag is read
/// under the lock, after the global queue, and cleared under it.
#[test]
fn find14_needspinning_is_tested_under_the_lock() {
    let w = crowd().at("lock", |w| w.need_spinning.set(true));
    w.push(1, 3);
    assert_eq!(find_runnable(&w), run(3));
    let under = "lock stop? batch need? spin spinners+1 need=0 unlock";
    let log = w.take_log();
    assert_eq!(
        log,
        [&down_unadmitted(), under, NEAR, "idle# walk stop? stop? idle?1 rob1"].join(" ")
    );
    assert_eq!(w.mine.get(), Some(0), "the P was kept");
}

/// Goal: FIND-14: global work goes before needspinning, which stays for the next.
#[test]
fn find14_global_work_comes_before_needspinning() {
    let w = crowd().at("lock", |w| w.global.borrow_mut().push_back(8));
    w.need_spinning.set(true);
    assert_eq!(find_runnable(&w), run(8));
    assert!(w.take_log().ends_with("lock stop? batch unlock"));
    assert!(w.need_spinning.get() && !w.spinning.get());
}

/// Goal: FIND-14: a spinner does not read needspinning: it searched just now.
#[test]
fn find14_a_spinner_goes_idle_whatever_needspinning_says() {
    let w = Script::new().at("lock", |w| w.need_spinning.set(true));
    assert_eq!(find_runnable(&w), Found::Stop);
    assert_eq!(w.take_log(), whole(&[LEAVE, RECHECK, "enter-poll(0) sleep"]));
    assert!(w.need_spinning.get());
}

/// Goal: FIND-15, SPIN-10: who was not spinning sleeps without a second look at any queue.
#[test]
fn find15_who_was_not_spinning_does_not_look_again() {
    let w = crowd();
    w.push(1, 3);
    assert_eq!(find_runnable(&w), Found::Stop);
    let end = "lock stop? batch need? release put-idle0 unlock enter-poll(0) sleep";
    assert_eq!(w.take_log(), [&down_unadmitted(), end].join(" "));
}

/// Goal: FIND-15, SPIN-8: count down, full fence, then the looks: work that came in at the fence is found.
#[test]
fn find15_work_submitted_while_leaving_is_found_after_the_fence() {
    let w = Script::new().at("F2", |w| w.push(2, 4));
    assert_eq!(find_runnable(&w), run(4));
    let seen = "global? idle?0 idle?1 empty?1 idle?2 empty?2";
    let back = "lock take-idle unlock acquire0 spin spinners+1 need=0";
    let top = "stop? own-timers next pop global? poll idle# walk";
    let theft = "stop? stop? idle?1 rob1 stop? idle?2 rob2";
    assert_eq!(w.take_log(), whole(&[LEAVE, seen, back, top, theft]));
    assert_eq!(w.spinners.get(), 1);
}

/// Goal: FIND-15 (a): the global queue first, under the lock; with an idle P the batch is run at once, as a
/// spinner, before any ring is looked at.
#[test]
fn find15_a_global_work_is_looked_for_first() {
    let w = Script::new().at("F2", |w| {
        w.global.borrow_mut().push_back(8);
        w.push(1, 3);
    });
    assert_eq!(find_runnable(&w), run(8));
    let a = "global? lock global-empty? take-idle acquire0 batch unlock spin spinners+1 need=0";
    assert_eq!(w.take_log(), whole(&[LEAVE, a]));
}

/// Goal: FIND-15 (a), SPIN-6: no idle P: needspinning is raised under the lock, and (b) goes on.
#[test]
fn find15_a_without_an_idle_p_raises_needspinning() {
    let w = Script::new().at("F2", |w| {
        w.global.borrow_mut().push_back(8);
        w.idle.borrow_mut().clear();
    });
    assert_eq!(find_runnable(&w), Found::Stop);
    let a = "global? lock global-empty? take-idle need=1 unlock";
    let rest = "idle?0 idle?1 empty?1 idle?2 empty?2 timers?0 timers?1 timers?2";
    assert_eq!(w.take_log(), whole(&[LEAVE, a, rest, "enter-poll(0) sleep"]));
}

/// Goal: FIND-15 (b): no idle P: needspinning under the lock, no further queue is looked at; (d) still is.
#[test]
fn find15_b_without_an_idle_p_raises_needspinning_and_stops() {
    let w = Script::new().at("F2", |w| {
        w.push(1, 3);
        w.idle.borrow_mut().clear();
    });
    assert_eq!(find_runnable(&w), Found::Stop);
    let b = "global? idle?0 idle?1 empty?1 lock take-idle need=1 unlock";
    let d = "timers?0 timers?1 timers?2";
    assert_eq!(w.take_log(), whole(&[LEAVE, b, d, "enter-poll(0) sleep"]));
    assert!(w.need_spinning.get());
}

/// Goal: FIND-15 (d): a deadline set while leaving limits the poll.
#[test]
fn find15_d_a_deadline_set_while_leaving_is_seen() {
    let w = Script::new().at("F2", |w| {
        w.procs[1].has_timers.set(true);
        w.procs[1].timers.set(Timed { next: 60, ran: false });
    });
    let w = w.at("block(60)", |w| w.stop.set(true));
    assert_eq!(find_runnable(&w), Found::Stop);
    assert!(w.take_log().contains("timers?1 deadline1 timers?2 enter-poll(60) block(60)"));
}

/// Goal: ours: offers of forks are looked at after (b), by spinners, and by everybody who goes idle.
#[test]
fn find15_offers_made_while_leaving_are_seen() {
    let offer = |w: &Script| w.procs[1].fork.set(Some(5));
    let spinner = Script::new().at("F2", offer);
    spinner.forks_in_use.set(true);
    assert_eq!(find_runnable(&spinner), run(5));
    let log = spinner.take_log();
    assert!(log.contains("empty?2 fork?0 fork?1 lock take-idle unlock acquire0 spin"), "{log}");

    let other = crowd().at("F2", offer);
    other.forks_in_use.set(true);
    assert_eq!(find_runnable(&other), run(5));
    let log = other.take_log();
    assert!(log.contains("unlock F2 fork?0 fork?1 lock take-idle unlock acquire0 spin"), "{log}");
}

/// Goal: FIND-16: after the poll an idle P, spinning again because it was, then the top.
#[test]
fn find16_after_the_poll_an_idle_p_and_the_top() {
    let w = Script::new().at("block(50)", |w| {
        w.procs[0].timers.set(Timed { next: 0, ran: true });
        w.procs[0].ready.set(Some(7));
    });
    w.procs[0].timers.set(Timed { next: 50, ran: false });
    assert_eq!(find_runnable(&w), inherit(7));
    let poll = "enter-poll(50) block(50) lock take-idle unlock acquire0";
    let top = "spin spinners+1 need=0 stop? own-timers next";
    assert_eq!(w.take_log(), whole(&[LEAVE, RECHECK, poll, top]));
}

/// Goal: FIND-16: who was not spinning before the poll is not after.
#[test]
fn find16_a_worker_that_did_not_spin_does_not_after_the_poll() {
    let w = crowd().at("block(50)", |w| w.stop.set(true));
    w.procs[0].timers.set(Timed { next: 50, ran: false });
    assert_eq!(find_runnable(&w), Found::Stop);
    assert!(w.take_log().ends_with("block(50) lock take-idle unlock acquire0 stop?"));
    assert_eq!(w.spinners.get(), 2);
}

/// Goal: FIND-16: no idle P after the poll: sleep (FIND-18); needspinning is nobody's business then, but time slices
/// are watched (SYS-4).
#[test]
fn find16_without_an_idle_p_after_the_poll_it_sleeps() {
    let w = Script::new().at("block(50)", |w| w.idle.borrow_mut().clear());
    w.procs[0].timers.set(Timed { next: 50, ran: false });
    assert_eq!(find_runnable(&w), Found::Stop);
    assert!(w.take_log().ends_with("block(50) lock take-idle unlock rouse sleep"));
}

/// Goal: FIND-17: somebody else is in the poller: break exactly if it would wake too late, or never.
#[test]
fn find17_the_poller_is_interrupted_only_for_an_earlier_deadline() {
    for (mine, theirs, breaks) in [(50, 0, true), (50, 51, true), (50, 50, false), (50, 40, false)]
    {
        let w = Script::new();
        w.poll_free.set(false);
        w.poll_until.set(theirs);
        w.procs[0].timers.set(Timed { next: mine, ran: false });
        assert_eq!(find_runnable(&w), Found::Stop);
        let end = if breaks { "occupied? until? break sleep" } else { "occupied? until? sleep" };
        assert!(w.take_log().ends_with(&format!("enter-poll(50) {end}")), "{mine} {theirs}");
    }
}

/// Goal: FIND-17: no deadline, no interest in the poller.
#[test]
fn find17_without_a_deadline_the_poller_is_left_alone() {
    let w = Script::new();
    w.poll_free.set(false);
    assert_eq!(find_runnable(&w), Found::Stop);
    assert!(w.take_log().ends_with("enter-poll(0) sleep"));
}

/// Goal: FIND-18: woken with a P it starts over from the top.
#[test]
fn find18_woken_with_a_p_it_starts_from_the_top() {
    let w = Script::new().at("sleep", |w| w.push(2, 4));
    w.handed.borrow_mut().push_back(2);
    assert_eq!(find_runnable(&w), run(4));
    let end = "enter-poll(0) sleep stop? own-timers next pop";
    assert_eq!(w.take_log(), whole(&[LEAVE, RECHECK, end]));
}
