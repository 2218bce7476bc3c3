//! harness/src/report/words.rs: the sentences and lists that table, Markdown and HTML share. Question: what
//! must a reader be told in words, the same in each of them?

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Group, Report};
use crate::figure::{count, duration, percent, ratio, ratio_interval, time, time_interval};
use crate::plan::Cell;
use crate::stats::{Interval, median};
use crate::verdict::{CellResult, Row, Verdict, null_ratios};

/// A loss of this size must be looked into.
pub(super) const GRAVE: f64 = 0.10;

/// A cell in which the reference is slower than somebody.
pub(super) struct Loss {
    pub(super) cell: String,
    pub(super) contender: String,
    /// Contender's time over the reference's: below 1.
    pub(super) ratio: Interval,
    /// At least 10 % and more.
    pub(super) grave: bool,
    /// A plain program without a scheduler: says that the work is too fine, not that a scheduler is better.
    pub(super) baseline: bool,
    /// CPUs that the contender and the reference kept busy.
    pub(super) cpus: String,
}

/// Where the reference loses, the worst first. Generated from the verdicts, for whatever reference.
pub(super) fn losses(report: &Report) -> Vec<Loss> {
    let busy = |row: Option<&Row>| {
        row.and_then(|r| r.cpus_used).map_or("n/a".to_string(), |c| format!("{c:.2}"))
    };
    let mut out = Vec::new();
    for (cell, result) in report.plan.cells.iter().zip(&report.results) {
        let reference = result.rows.iter().find(|r| r.arm == report.plan.reference);
        for row in &result.rows {
            let faster = matches!(row.verdict, Some((Verdict::Faster, _)));
            let Some(r) = row.ratio.as_ref().filter(|_| faster && !report.arm(row).null) else {
                continue;
            };
            out.push(Loss {
                cell: cell.key(),
                contender: name(report, row),
                ratio: r.interval,
                grave: r.interval.estimate < 1.0 / (1.0 + GRAVE),
                baseline: report.arm(row).fixed_workers.is_some(),
                cpus: format!("{} against {}", busy(Some(row)), busy(reference)),
            });
        }
    }
    out.sort_by(|a, b| a.ratio.estimate.total_cmp(&b.ratio.estimate));
    out
}

/// What to say where the reference loses nowhere: that nothing is faster, or that nothing was decided.
pub(super) fn no_losses(report: &Report) -> &'static str {
    let open = |v| matches!(v, Verdict::CannotTell | Verdict::NotMeasurable);
    if report.judged().all(|(.., verdict)| open(verdict)) {
        "This session could not decide any comparison, so it cannot say."
    } else {
        "No contender was found faster in any cell."
    }
}

/// How often each contender came out how against the reference, in its idiomatic lane.
pub(super) fn tally(report: &Report) -> Vec<(String, [usize; 5])> {
    let mut out: BTreeMap<usize, [usize; 5]> = BTreeMap::new();
    let idiomatic = report.judged().filter(|(cell, row, _)| lane(cell, row).is_empty());
    for (_, row, verdict) in idiomatic {
        out.entry(row.arm).or_default()[verdict as usize] += 1;
    }
    out.into_iter().map(|(arm, n)| (arm_name(report, arm), n)).collect()
}

/// What the null arm says about this session, in one sentence or two.
pub(super) fn null_arm(report: &Report) -> String {
    let Some((n, middle, worst)) = null_facts(report) else {
        return "There is no figure of the null arm yet: too few epochs.".to_string();
    };
    format!(
        "{} ran a second time under another name in {}, in the same blocks. It differed from \
         itself by {} (median) and {} (most). A difference below {} is therefore not called one.",
        report.reference().id,
        cell_count(n),
        percent(middle),
        percent(worst),
        percent(report.margin),
    )
}

fn null_facts(report: &Report) -> Option<(usize, f64, f64)> {
    let off: Vec<f64> = null_ratios(&report.plan, &report.results)
        .map(|r| r.interval.estimate.ln().abs().exp_m1())
        .collect();
    let worst = off.iter().copied().reduce(f64::max)?;
    Some((off.len(), median(&off)?, worst))
}

/// The same for programs.
pub(super) fn null_arm_json(report: &Report) -> Value {
    null_facts(report).map_or(json!({"missing": "too few epochs"}), |(n, middle, worst)| {
        json!({"cells": n, "median_deviation": middle, "largest_deviation": worst})
    })
}

/// One line about session and machine.
pub(super) fn session_line(report: &Report) -> String {
    let fact = |name: &str| match report.env.facts.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(n)) => n.to_string(),
        _ => "unknown".to_string(),
    };
    format!(
        "{} mode, {} epochs in {}{}, {} · {} with {} cores and {} usable CPUs, {} {}",
        word(report),
        count(report.epochs as u64),
        cell_count(report.plan.cells.len()),
        if report.parts > 1 {
            format!(", measured in {} parts", report.parts)
        } else {
            String::new()
        },
        if report.wall_ns > 0 {
            duration(report.wall_ns as f64 * 1e-9)
        } else {
            "unfinished".into()
        },
        fact("cpu_model"),
        fact("cores"),
        fact("logical_cpus"),
        fact("os"),
        fact("kernel"),
    )
}

fn word(report: &Report) -> &'static str {
    match report.plan.mode {
        crate::plan::Mode::Quick => "quick",
        crate::plan::Mode::Standard => "standard",
        crate::plan::Mode::Study => "study",
    }
}

/// Things that must be known before any figure is read; mostly none.
pub(super) fn warnings(report: &Report) -> Vec<String> {
    let mut out = Vec::new();
    if report.status != "complete" {
        out.push(format!("This session is {}: it can be continued with --resume.", report.status));
    }
    if let Some(torn) = &report.torn {
        out.push(format!("The journal's last line was not whole and was cut ({torn})."));
    }
    let debug = |b: &&crate::store::Build| b.facts.get("profile") == Some(&Value::from("debug"));
    if report.builds.iter().any(|b| debug(&b)) {
        out.push(
            "The contenders were built without optimisation: these times mean nothing.".into(),
        );
    }
    let mut failed: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (arm, cell, what) in report.failures() {
        failed.entry(arm).or_default().push((cell, what));
    }
    for (arm, cells) in failed {
        let (cell, what) = &cells[0];
        let more = match cells.len() {
            1 => String::new(),
            n => format!(" (and in {} more)", cell_count(n - 1)),
        };
        out.push(format!("{arm} failed in {cell}{more}: {what}. No time of it is shown there."));
    }
    let unmeasurable = report.results.iter().filter(|r| !r.measurable).count();
    if unmeasurable > 0 {
        out.push(format!(
            "Not measurable: {unmeasurable} of {}. Other programs or the hypervisor took more than \
             the rules allow. The figures are shown, without a verdict.",
            cell_count(report.results.len())
        ));
    }
    out
}

/// A contender's name in tables.
pub(super) fn arm_name(report: &Report, arm: usize) -> String {
    let arm = &report.plan.arms[arm];
    if arm.null { format!("{} (null)", arm.runtime) } else { arm.id.clone() }
}

/// The same with what must always stand beside it.
pub(super) fn name(report: &Report, row: &Row) -> String {
    arm_name(report, row.arm)
}

/// The name for pictures, where there is little room: a star for the literal lane.
pub(super) fn short_name(report: &Report, cell: &Cell, row: &Row) -> String {
    let star = if lane(cell, row).is_empty() { "" } else { "*" };
    format!("{}{star}", name(report, row))
}

/// Whether any contender of the group is in the literal lane.
pub(super) fn any_literal(group: &Group<'_>) -> bool {
    group.cells.iter().any(|(cell, _)| cell.entries.iter().any(|e| e.lane == "literal"))
}

/// `literal`, or nothing for the idiomatic lane.
pub(super) fn lane<'a>(cell: &'a Cell, row: &Row) -> &'a str {
    let entry = cell.entries.iter().find(|e| e.arm == row.arm);
    entry.map_or("", |e| if e.lane == "literal" { "literal" } else { "" })
}

/// `2 workers`.
pub(super) fn workers(n: usize) -> String {
    if n == 1 { "1 worker".to_string() } else { format!("{n} workers") }
}

/// `12 cells`.
fn cell_count(n: usize) -> String {
    if n == 1 { "1 cell".to_string() } else { format!("{n} cells") }
}

/// Time of a unit with its interval.
pub(super) fn unit_time(row: &Row) -> String {
    row.unit_ns.map_or("–".to_string(), |ns| time_interval(ns, row.unit_interval.as_ref()))
}

/// Ratio to the reference with its interval.
pub(super) fn ratio_text(report: &Report, row: &Row) -> String {
    match &row.ratio {
        _ if row.fault.is_some() => "failed".to_string(),
        _ if row.arm == report.plan.reference => "1 (reference)".to_string(),
        Some(r) => ratio_interval(&r.interval),
        None => "–".to_string(),
    }
}

/// Verdict in a word.
pub(super) fn verdict_text(row: &Row) -> &'static str {
    match (&row.fault, &row.verdict) {
        (Some(_), _) => "failed",
        (None, Some((verdict, _))) => verdict.word(),
        (None, None) => "",
    }
}

/// Speed-up over the baseline with its interval, and its share of the model's ceiling.
pub(super) fn speedup_text(cell: &Cell, row: &Row) -> String {
    let Some(s) = &row.speedup else { return String::new() };
    let text = ratio_interval(&s.interval);
    match cell.ceiling {
        Some(ceiling) if s.interval.lo > ceiling * 1.02 => {
            format!("{text}, above the model's ceiling of {}: a measurement error", ratio(ceiling))
        }
        Some(ceiling) => {
            format!("{text}, {:.0} % of the ceiling", 100.0 * s.interval.estimate / ceiling)
        }
        None => text,
    }
}

/// What must be said about the cells of a group: states of contenders, void epochs, dropped blocks.
pub(super) fn notes(report: &Report, group: &Group<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for (cell, result) in &group.cells {
        let at = workers(cell.workers);
        for row in &result.rows {
            let who = name(report, row);
            out.extend(row.states.iter().map(|s| format!("{who}, {at}: {s}")));
            if let Some(fault) = &row.fault {
                out.push(format!("{who}, {at}: {}: {}", fault.what, fault.detail));
            }
        }
        out.extend(trouble(result).into_iter().map(|t| format!("{at}: {t}")));
        out.extend(cell.failed.iter().map(|(arm, how)| format!("{arm}, {at}: {how}")));
    }
    let mut absent: Vec<String> = Vec::new();
    for (cell, _) in &group.cells {
        for (arm, why) in &cell.absent {
            let line = format!("{arm}: {why}");
            if !absent.contains(&line) && arm != "null" {
                absent.push(line);
            }
        }
    }
    out.extend(absent);
    out
}

fn trouble(result: &CellResult) -> Vec<String> {
    let of = |map: &BTreeMap<String, usize>| {
        map.iter().map(|(why, n)| format!("{n} by {why}")).collect::<Vec<_>>().join(", ")
    };
    let mut out = Vec::new();
    if !result.void.is_empty() {
        out.push(format!("void epochs: {}", of(&result.void)));
    }
    if !result.dropped.is_empty() {
        let all = if result.measurable { "" } else { "; too many, so the figures use all blocks" };
        out.push(format!("dropped blocks: {} (of {}){all}", of(&result.dropped), result.blocks));
    }
    out
}

/// Length of the samples of a cell, fastest to slowest contender.
pub(super) fn sample_span(cell: &Cell, result: &CellResult) -> String {
    let work = (cell.iters * cell.units.max(1)) as f64;
    let lengths: Vec<f64> =
        result.rows.iter().filter_map(|r| r.unit_ns).map(|ns| ns * work).collect();
    let ends =
        lengths.iter().copied().reduce(f64::min).zip(lengths.iter().copied().reduce(f64::max));
    ends.map_or(String::new(), |(lo, hi)| format!("samples of {} to {}", time(lo), time(hi)))
}

/// The command that repeats the session.
pub(super) fn command(report: &Report) -> String {
    report.session.command.join(" ")
}
