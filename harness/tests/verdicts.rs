//! harness/tests/verdicts.rs: does the whole path from slots to verdicts find the truth, and only that?
//! Contenders and machine are made up, so the truth is known and the clock is not this machine's.

mod common;

use common::{World, epochs, plan};
use stealbench::plan::Plan;
use stealbench::store::Epoch;
use stealbench::verdict::{self, CellResult, Verdict};

fn judged(plan: &Plan, epochs: &[Epoch]) -> (Vec<CellResult>, f64) {
    let mine = |c: usize| epochs.iter().filter(|e| e.cell == c).collect::<Vec<_>>();
    let mut results: Vec<CellResult> =
        (0..plan.cells.len()).map(|c| verdict::cell_result(plan, c, &mine(c))).collect();
    let margin = verdict::session_margin(plan, &results);
    verdict::decide(plan, &mut results, margin);
    (results, margin)
}

fn verdict_of(plan: &Plan, result: &CellResult, arm: &str) -> Verdict {
    let row = result.rows.iter().find(|r| plan.arms[r.arm].id == arm).unwrap();
    row.verdict.as_ref().unwrap().0
}

/// FC-37. Goal: the ranking does not depend on the order of naming, and a thing compared with itself
/// is the same. Method: A B and B A, ten seeds each, on a machine that drifts.
#[test]
fn fc37_the_winner_does_not_depend_on_who_is_named_first_and_nobody_beats_himself() {
    for seed in 0..10 {
        for names in [["a", "b"], ["b", "a"]] {
            let plan = plan(&names, &["work"], &[1], seed);
            let world = World { drift: 0.1, noise: 0.001, seed, ..World::default() };
            let epochs =
                epochs(&plan, world, |arm, _| if arm.runtime == "b" { 1.1e6 } else { 1e6 });
            let (results, _) = judged(&plan, &epochs);
            let other = verdict_of(&plan, &results[0], names[1]);
            let want = if names[0] == "a" { Verdict::Slower } else { Verdict::Faster };
            assert_eq!(other, want, "seed {seed}, {names:?}");
            assert_eq!(verdict_of(&plan, &results[0], "null"), Verdict::Same, "seed {seed}");
        }
    }
}

/// FC-37, the harder half: the process that starts first is 6 % slower for its whole life. With 8
/// epochs this must widen the interval, not move it: nothing may be called faster or slower.
#[test]
fn fc37_an_advantage_of_starting_later_is_no_finding() {
    for seed in 0..30 {
        let plan = plan(&["a", "b"], &["work"], &[1], seed);
        let world = World { first_started: 0.06, noise: 0.002, seed, ..World::default() };
        let epochs = epochs(&plan, world, |_, _| 1e6);
        let (results, _) = judged(&plan, &epochs);
        for arm in ["b", "null"] {
            let got = verdict_of(&plan, &results[0], arm);
            assert!(
                !matches!(got, Verdict::Faster | Verdict::Slower),
                "seed {seed}: {arm} {got:?}"
            );
        }
    }
}

/// A true difference well outside the margin is found, with an interval that holds the truth.
#[test]
fn a_known_difference_is_inside_its_interval() {
    let mut held = 0;
    for seed in 0..100 {
        let plan = plan(&["a", "b"], &["work"], &[1], seed);
        let world = World { drift: 0.1, noise: 0.01, seed: seed + 77, ..World::default() };
        let epochs = epochs(&plan, world, |arm, _| if arm.runtime == "b" { 1.05e6 } else { 1e6 });
        let (results, _) = judged(&plan, &epochs);
        let row = results[0].rows.iter().find(|r| plan.arms[r.arm].id == "b").unwrap();
        let i = row.ratio.as_ref().unwrap().interval;
        held += u32::from(i.lo <= 1.05 && 1.05 <= i.hi);
    }
    // 99.2 % is claimed: 95 or fewer of 100 has a chance below one in a thousand.
    assert!(held >= 96, "{held} of 100");
}

/// A contender that failed once shows no time in that cell, and the others still have theirs.
#[test]
fn a_failed_contender_has_no_time_and_the_others_do() {
    let plan = plan(&["a", "b"], &["work"], &[1], 3);
    let mut epochs = epochs(&plan, World::default(), |_, _| 1e6);
    let fault = stealbench::store::EpochFault {
        arm: 1,
        what: "wrong answer".to_string(),
        detail: "answer 2, want 1".to_string(),
    };
    epochs.push(Epoch { fault: Some(fault), drop: Some("b failed".into()), ..Epoch::default() });
    let (results, _) = judged(&plan, &epochs);
    let row = |arm: usize| results[0].rows.iter().find(|r| r.arm == arm).unwrap();
    assert!(row(1).fault.is_some() && row(1).unit_ns.is_none() && row(1).ratio.is_none());
    assert!(row(0).unit_ns.is_some());
}

/// Blocks dropped by rule are not used; beyond the allowed share the cell has no verdict.
#[test]
fn a_disturbed_cell_is_not_measurable_and_a_little_disturbance_is_left_out() {
    let plan = plan(&["a", "b"], &["work"], &[1], 5);
    let mut epochs =
        epochs(&plan, World::default(), |arm, _| if arm.id == "b" { 2e6 } else { 1e6 });
    epochs[0].blocks[0].drop = Some("foreign CPU use".to_string());
    epochs[0].blocks[0].ns = vec![1; epochs[0].blocks[0].ns.len()];
    let (results, _) = judged(&plan, &epochs);
    assert_eq!(verdict_of(&plan, &results[0], "b"), Verdict::Slower);
    assert_eq!(results[0].dropped["foreign CPU use"], 1);
    for epoch in &mut epochs {
        epoch.blocks[0].drop = Some("foreign CPU use".to_string());
    }
    let (results, _) = judged(&plan, &epochs);
    assert_eq!(verdict_of(&plan, &results[0], "b"), Verdict::NotMeasurable);
}

/// Stopping looks at precision only: the same data with the labels of the pair swapped give the same
/// answer.
#[test]
fn whether_more_is_needed_does_not_depend_on_who_is_ahead() {
    for seed in 0..20 {
        let mut plan = plan(&["a", "b"], &["work"], &[1], seed);
        plan.effort.target_half_width = Some(0.01);
        let world = World { noise: 0.012, seed, ..World::default() };
        let data = epochs(&plan, world, |arm, _| if arm.runtime == "b" { 1.2e6 } else { 1e6 });
        plan.cells[0].entries.truncate(2);
        let all: Vec<&Epoch> = data.iter().collect();
        let ahead = verdict::needs_more(&plan, 0, &all);
        plan.reference = 1;
        assert_eq!(verdict::needs_more(&plan, 0, &all), ahead, "seed {seed}");
    }
}
