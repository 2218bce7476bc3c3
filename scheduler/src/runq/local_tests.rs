//! Does the ring do what RQ-1 to RQ-13 say? On one thread by exhaustion, on several by counting.
//!
//! # Invariants
//! - I1 Every test of positions runs from several counter values, the wrap of u32 among them.
//! - I2 The stress ends by count, never by clock: a failure replays from the seed that it prints.
//! # Not here
//! Orders that a machine may not show: `loom_tests`. Which goroutine overflows: `sched::park`.

use super::*;
use crate::limits::GLOBAL_BATCH;
use crate::policy::{GoRules, Policy, Rules};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU8};
use std::thread;

/// Counter values that a ring is started from: fresh, off the slot grid, and just before u32 wraps.
const BASES: [u32; 4] = [0, 7, u32::MAX - 100, u32::MAX];
const SLOTS: usize = RING_SLOTS as usize;

/// The `n`th goroutine: an address that nobody follows.
fn token(n: usize) -> *mut u64 {
    ptr::without_provenance_mut((n + 1) * 8)
}

fn number(task: *mut u64) -> usize {
    task.addr() / 8 - 1
}

/// An empty ring whose counters stand at `base`.
fn ring_at(base: u32) -> Ring<u64> {
    let ring = Ring::new();
    ring.head.0.store(base, Relaxed);
    ring.tail.0.tail.store(base, Relaxed);
    ring
}

/// A ring at `base` with the goroutines `0..n`.
fn filled(base: u32, n: usize) -> Ring<u64> {
    let ring = ring_at(base);
    (0..n).for_each(|i| ring.push(token(i)).expect("room"));
    ring
}

fn drain(ring: &Ring<u64>) -> Vec<usize> {
    std::iter::from_fn(|| ring.pop()).map(number).collect()
}

fn half(len: u32) -> u32 {
    GoRules.steal_amount(len)
}

/// Steals by Go's rule, ring only.
fn steal(victim: &Ring<u64>, mine: &Ring<u64>) -> Option<(usize, u32)> {
    let (task, n) = victim.steal(mine, half, &mut NextRule::<fn()>::Leave)?;
    Some((number(task), n))
}

/// Goal: CT-13. Method: `n` puts then `n` gets, for every `n` that fits, each from four counter values.
#[test]
fn rq8_every_put_is_got_once_in_order_for_every_length() {
    for base in BASES {
        for n in 0..=SLOTS {
            let ring = filled(base, n);
            assert_eq!(ring.len() as usize, n);
            assert_eq!(drain(&ring), (0..n).collect::<Vec<_>>(), "base {base}");
            assert!(ring.pop().is_none() && ring.is_empty());
        }
    }
}

/// Goal: RQ-8 (1), RQ-5 (1): runnext is one slot beside the ring, and gives back what it displaced.
#[test]
fn rq5_runnext_displaces_and_is_not_part_of_the_length() {
    let ring = filled(0, 3);
    assert!(ring.swap_next(token(10)).is_null() && ring.has_next());
    assert_eq!(number(ring.swap_next(token(11))), 10);
    assert_eq!(ring.len(), 3, "RQ-1: runnext is not counted");
    assert_eq!(ring.take_next().map(number), Some(11));
    assert!(ring.take_next().is_none() && !ring.has_next());
    assert_eq!(drain(&ring), [0, 1, 2]);
}

/// Goal: RQ-5 (3), (4): a full ring takes no more, at any counter value, and loses nothing by the attempt.
#[test]
fn rq5_a_full_ring_hands_the_newcomer_back() {
    for base in BASES {
        let ring = filled(base, SLOTS);
        assert_eq!(ring.push(token(999)).map_err(number), Err(999), "base {base}");
        assert_eq!(drain(&ring), (0..SLOTS).collect::<Vec<_>>());
    }
}

/// Goal: RQ-6. Method: overflow of a full ring at each counter value; then of every length that is not full.
#[test]
fn rq6_overflow_moves_the_oldest_half() {
    for base in BASES {
        let ring = filled(base, SLOTS);
        let mut out = Vec::new();
        assert!(ring.take_oldest_half(|task| out.push(number(task))));
        assert_eq!(out, (0..SLOTS / 2).collect::<Vec<_>>(), "base {base}");
        assert_eq!(ring.len() as usize, SLOTS / 2);
        assert_eq!(drain(&ring), (SLOTS / 2..SLOTS).collect::<Vec<_>>());
    }
}

/// Goal: RQ-6: what is not full does not overflow (a thief made room; the caller pushes again).
#[test]
fn rq6_no_overflow_below_full() {
    for n in 0..SLOTS {
        let ring = filled(u32::MAX - 3, n);
        assert!(!ring.take_oldest_half(|_| panic!("length {n} overflowed")));
        assert_eq!(ring.len() as usize, n);
    }
}

/// Goal: RQ-7. Method: batches of every size up to two rings into rings of five fill levels; what does not
/// fit is not even asked for.
#[test]
fn rq7_a_batch_fills_the_ring_in_order_and_leaves_the_rest() {
    for base in BASES {
        for held in [0, 1, 100, SLOTS - 1, SLOTS] {
            for batch in (0..=2 * SLOTS).step_by(51) {
                let ring = filled(base, held);
                let asked = Cell::new(0);
                ring.put_batch(|| {
                    let i = asked.get();
                    (i < batch).then(|| {
                        asked.set(i + 1);
                        token(held + i)
                    })
                });
                let fit = batch.min(SLOTS - held);
                assert_eq!(asked.get(), fit, "held {held}, batch {batch}");
                assert_eq!(drain(&ring), (0..held + fit).collect::<Vec<_>>());
            }
        }
    }
}

/// Goal: CT-14, RQ-10 (2), for every length. Method: victim and thief each at four counter values; the thief
/// gets len - len/2, the victim keeps the newest, everybody leaves once.
#[test]
fn rq10_steal_takes_half_rounded_up() {
    for len in 0..=SLOTS {
        for (base, mine_base) in BASES.into_iter().zip([u32::MAX - 5, 0, 300, u32::MAX]) {
            let (victim, mine) = (filled(base, len), ring_at(mine_base));
            let taken = len - len / 2;
            let got = steal(&victim, &mine);
            if len == 0 {
                assert!(got.is_none() && mine.is_empty() && victim.is_empty());
                continue;
            }
            assert_eq!(got, Some((taken - 1, taken as u32)), "length {len}");
            assert_eq!(drain(&mine), (0..taken - 1).collect::<Vec<_>>());
            assert_eq!(drain(&victim), (taken..len).collect::<Vec<_>>());
        }
    }
}

/// Goal: the lengths that the specification names. Spec: RQ-10 (2).
#[test]
fn rq10_half_of_one_is_one_of_seven_four_of_a_full_ring_128() {
    assert_eq!([1, 7, 256].map(half), [1, 4, 128]);
    assert_eq!(GLOBAL_BATCH, 128, "GQ-4");
}

/// Goal: RQ-10 (4): a head and a tail from different times pretend more than a ring; the thief looks again
/// and takes nothing by the first look, whatever amount the policy names. Method: a tail 300 ahead, which
/// becomes consistent (ten goroutines) once it was seen.
#[test]
fn rq10_an_impossible_length_is_read_again() {
    for policy in [Policy::go(), Policy::parse("go1.26,steal-one").unwrap()] {
        let (victim, mine) = (filled(290, 10), ring_at(0));
        victim.head.0.store(0, Relaxed);
        let seen = Cell::new(Vec::new());
        let amount = |len| {
            seen.set([seen.take(), vec![len]].concat());
            victim.head.0.store(290, Relaxed);
            policy.steal_amount(len)
        };
        let (task, n) = victim.steal(&mine, amount, &mut NextRule::<fn()>::Leave).unwrap();
        assert_eq!(seen.take(), [300, 10]);
        assert_eq!((number(task) as u32 + 1, n), (n, policy.steal_amount(10)));
    }
}

/// Goal: RQ-12: the thief runs the newest of what it took, and its own ring then gives the others, oldest
/// first. Method: nine goroutines, five taken.
#[test]
fn rq12_thief_runs_the_newest() {
    let (victim, mine) = (filled(250, 9), ring_at(u32::MAX - 1));
    assert_eq!(steal(&victim, &mine), Some((4, 5)));
    assert_eq!(drain(&mine), [0, 1, 2, 3]);
}

/// Goal: RQ-12: stealing into a ring with work is a fatal bug.
#[test]
#[should_panic(expected = "RQ-12")]
fn rq12_a_thief_with_work_is_a_bug() {
    steal(&filled(0, 4), &filled(0, 1));
}

/// Goal: AB-10's amount goes through the same code.
#[test]
fn rq10_steal_one_takes_one() {
    let (victim, mine) = (filled(0, 200), ring_at(0));
    let one = Policy::parse("go1.26,steal-one").unwrap();
    let got = victim.steal(&mine, |len| one.steal_amount(len), &mut NextRule::<fn()>::Leave);
    assert_eq!(got.map(|(task, n)| (number(task), n)), Some((0, 1)));
    assert!(mine.is_empty());
}

/// Goal: RQ-11, STEAL-4: in passes 1 to 3 runnext stays, also when it is all there is.
#[test]
fn rq11_runnext_is_left_alone_in_early_passes() {
    let (victim, mine) = (ring_at(0), ring_at(0));
    victim.swap_next(token(1));
    assert_eq!(steal(&victim, &mine), None);
    assert!(victim.has_next());
}

/// Goal: RQ-11: with something in the ring, runnext stays and there is no pause.
#[test]
fn rq11_runnext_only_when_the_ring_is_empty() {
    let (victim, mine) = (filled(0, 1), ring_at(0));
    victim.swap_next(token(9));
    let mut rule = NextRule::TakeAfter(|| panic!("paused although the ring had work"));
    assert_eq!(victim.steal(&mine, half, &mut rule).map(|(t, n)| (number(t), n)), Some((0, 1)));
    assert!(victim.has_next());
}

/// Goal: RQ-11: the pause comes before the theft, once, and only where there is something to take.
#[test]
fn rq11_runnext_is_taken_after_the_pause() {
    let (victim, mine) = (ring_at(0), ring_at(0));
    let pauses = Cell::new(0);
    let pause = || {
        assert!(victim.has_next(), "taken before the pause");
        pauses.set(pauses.get() + 1);
    };
    assert!(victim.steal(&mine, half, &mut NextRule::TakeAfter(pause)).is_none());
    assert_eq!(pauses.get(), 0, "nothing to wait for");
    victim.swap_next(token(9));
    let got = victim.steal(&mine, half, &mut NextRule::TakeAfter(pause));
    assert_eq!(got.map(|(t, n)| (number(t), n)), Some((9, 1)));
    assert_eq!(pauses.get(), 1);
    assert!(mine.is_empty() && victim.is_empty());
}

/// Goal: RQ-11: a victim that runs its runnext during the pause keeps it, and the thief starts over. Method:
/// the pause is the victim, who takes runnext and puts two goroutines in the ring.
#[test]
fn rq11_a_change_during_the_pause_restarts_the_grab() {
    let (victim, mine) = (ring_at(0), ring_at(0));
    victim.swap_next(token(9));
    let mut rule = NextRule::TakeAfter(|| {
        assert_eq!(victim.take_next().map(number), Some(9));
        (0..2).for_each(|i| victim.push(token(i)).unwrap());
    });
    let got = victim.steal(&mine, half, &mut rule);
    assert_eq!(got.map(|(t, n)| (number(t), n)), Some((0, 1)));
    assert_eq!(drain(&victim), [1]);
}

/// Goal: RQ-13: each of ring and runnext alone makes it non-empty.
#[test]
fn rq13_empty_means_ring_and_runnext() {
    for base in BASES {
        let ring = ring_at(base);
        assert!(ring.is_empty());
        ring.swap_next(token(1));
        assert!(!ring.is_empty(), "runnext alone");
        ring.push(token(2)).unwrap();
        ring.take_next().unwrap();
        assert!(!ring.is_empty(), "ring alone");
        ring.pop().unwrap();
        assert!(ring.is_empty());
    }
}

/// Goal: RQ-1: free-running counters may wrap any number of times. Method: three and a half rings' worth of
/// goroutines pass through across the wrap, never more than 200 inside.
#[test]
fn rq1_counters_wrap_without_losing_order() {
    let ring = ring_at(u32::MAX - RING_SLOTS);
    let (mut next_in, mut next_out) = (0, 0);
    while next_out < 7 * SLOTS / 2 {
        for _ in 0..(next_in % 7) + 1 {
            if next_in - next_out < 200 {
                ring.push(token(next_in)).unwrap();
                next_in += 1;
            }
        }
        for _ in 0..(next_in % 5) + 1 {
            if let Some(task) = ring.pop() {
                assert_eq!(number(task), next_out);
                next_out += 1;
            }
        }
    }
}

/// A small generator for the stress; the seed is all of its state.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Counts how often each goroutine left the rings.
struct Ledger(Vec<AtomicU8>);

impl Ledger {
    fn book(&self, task: *mut u64) {
        let before = self.0[number(task)].fetch_add(1, Relaxed);
        assert_eq!(before, 0, "goroutine {} left twice", number(task));
    }
}

/// The owner: `count` goroutines in, through runnext, ring and overflow, with pops in between.
fn stress_owner(ring: &Ring<u64>, ledger: &Ledger, count: usize, random: &mut Random) {
    for n in 0..count {
        let mut task = token(n);
        if random.below(3) == 0 {
            task = ring.swap_next(task);
        }
        while !task.is_null() {
            match ring.push(task) {
                Ok(()) => break,
                Err(back) => {
                    task = back;
                    if ring.take_oldest_half(|old| ledger.book(old)) {
                        ledger.book(task); // RQ-6: the newcomer goes with the oldest half.
                        break;
                    }
                }
            }
        }
        if random.below(4) == 0 {
            ring.take_next().or_else(|| ring.pop()).into_iter().for_each(|t| ledger.book(t));
        }
        if random.below(1000) == 0 {
            thread::yield_now();
        }
    }
}

/// A thief: robs `victim` (and another thief) until the owner is done and both are empty.
fn stress_thief(rings: &[Ring<u64>], me: usize, ledger: &Ledger, done: &AtomicBool) {
    let mine = &rings[me];
    let mut random = Random(me as u64);
    loop {
        let over = done.load(Acquire); // Before the look: what is empty after it stays empty.
        let victims = [0, 1 + me % (rings.len() - 1)];
        let mut got = false;
        for victim in victims {
            let mut rule = NextRule::TakeAfter(|| ());
            if let Some((task, _)) = rings[victim].steal(mine, half, &mut rule) {
                got = true;
                ledger.book(task);
                // Some of the loot stays for other thieves before we run it ourselves.
                let keep = random.below(8);
                while mine.len() > keep as u32 {
                    mine.pop().into_iter().for_each(|t| ledger.book(t));
                }
                thread::yield_now();
                std::iter::from_fn(|| mine.pop()).for_each(|t| ledger.book(t));
            }
        }
        if over && !got && rings[0].is_empty() {
            return;
        }
    }
}

/// Goal: I3 on real threads: each goroutine leaves exactly once, whoever takes it. Method: one owner that
/// pushes, overflows and pops at random, three thieves that also rob each other, counters across the wrap.
#[test]
fn rq4_stress_each_pointer_leaves_once() {
    const COUNT: usize = 200_000;
    for seed in 1..=4 {
        let rings: Vec<Ring<u64>> = (0..4).map(|i| ring_at(u32::MAX - 1000 * i)).collect();
        let ledger = Ledger((0..COUNT).map(|_| AtomicU8::new(0)).collect());
        let done = AtomicBool::new(false);
        thread::scope(|s| {
            for me in 1..4 {
                let (rings, ledger, done) = (&rings, &ledger, &done);
                s.spawn(move || stress_thief(rings, me, ledger, done));
            }
            stress_owner(&rings[0], &ledger, COUNT, &mut Random(seed));
            done.store(true, Release);
        });
        let lost = ledger.0.iter().position(|n| n.load(Relaxed) != 1);
        assert_eq!(lost, None, "seed {seed}: a goroutine was lost");
    }
}
