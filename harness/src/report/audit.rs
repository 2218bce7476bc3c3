//! harness/src/report/audit.rs: the report's own cross-examination. Question: which of the usual sins of
//! benchmarking does this report commit?
//!
//! Generated from the data, so a sin that is committed shows without anybody's good will.

use super::{Report, words};
use crate::figure::{count, percent};
use crate::verdict::Verdict;

/// One question with its answer.
pub(super) struct Item {
    pub(super) question: &'static str,
    /// `no`, `yes`, `partly`: "no" is good for every question.
    pub(super) answer: &'static str,
    pub(super) finding: String,
}

/// All questions. The order is fixed.
pub(super) fn audit(report: &Report) -> Vec<Item> {
    vec![
        subset(report),
        baseline(report),
        relative_only(report),
        spread(report),
        dropped(report),
        undecided(report),
        order(report),
        unequal(report),
        scaling(report),
    ]
}

fn item(question: &'static str, bad: bool, finding: String) -> Item {
    Item { question, answer: if bad { "yes" } else { "no" }, finding }
}

fn subset(report: &Report) -> Item {
    let left =
        report.plan.left_out.len() + report.notes.iter().filter(|n| n.what == "budget").count();
    let cells = report.plan.cells.len();
    let finding = if left == 0 {
        format!("All {cells} cells that were asked for were measured.")
    } else {
        format!("{left} cells did not fit the time budget; they are listed.")
    };
    item("Is only a subset shown?", left > 0, finding)
}

fn baseline(report: &Report) -> Item {
    let without =
        report.plan.cells.iter().filter(|c| !report.plan.baseline.is_some_and(|b| c.has(b)));
    let n = without.count();
    let finding = match n {
        0 => "Every cell has a plain serial program beside it.".to_string(),
        n => {
            format!("{n} of {} cells have no serial program beside them.", report.plan.cells.len())
        }
    };
    item("Is a baseline missing?", n > 0, finding)
}

fn relative_only(report: &Report) -> Item {
    let rows = report.results.iter().flat_map(|r| &r.rows);
    let bare = rows.filter(|r| r.ratio.is_some() && r.unit_ns.is_none()).count();
    let finding = "Absolute times per unit stand beside the ratios.".to_string();
    item("Are there only relative figures?", bare > 0, finding)
}

fn spread(report: &Report) -> Item {
    let rows: Vec<_> = report.results.iter().flat_map(|r| &r.rows).collect();
    let bare = rows
        .iter()
        .filter(|r| r.fault.is_none() && r.arm != report.plan.reference && r.ratio.is_none())
        .count();
    let finding = if bare == 0 {
        format!("Every ratio has a {} interval.", percent(report.plan.confidence))
    } else {
        format!("{bare} contenders have no ratio: too few epochs, or the reference failed.")
    };
    item("Are figures shown without spread?", bare > 0, finding)
}

fn dropped(report: &Report) -> Item {
    let gone: usize = report.results.iter().flat_map(|r| r.dropped.values()).sum();
    let void: usize = report.results.iter().flat_map(|r| r.void.values()).sum();
    let blocks: usize = report.results.iter().map(|r| r.blocks).sum();
    let finding = format!(
        "{} of {} blocks and {void} epochs, by rules fixed in advance that cannot see the outcome. \
         No sample was removed for its value.",
        count(gone as u64),
        count(blocks as u64),
    );
    item("Were measurements dropped?", gone + void > 0, finding)
}

fn undecided(report: &Report) -> Item {
    let all = report.judged().count();
    let open = report
        .judged()
        .filter(|(.., v)| matches!(v, Verdict::CannotTell | Verdict::NotMeasurable))
        .count();
    let finding = format!("{open} of {all} comparisons stay open, and are shown as such.");
    item("Are there comparisons that this machine cannot decide?", open > 0, finding)
}

fn order(report: &Report) -> Item {
    let finding = format!(
        "Processes start, warm up and take turns in orders drawn from seed {}; each block is a \
         palindrome.",
        report.plan.seed
    );
    item("Could the order of running favour somebody?", false, finding)
}

fn unequal(report: &Report) -> Item {
    let labelled: Vec<&str> =
        report.plan.arms.iter().filter(|a| !a.label.is_empty()).map(|a| &*a.id).collect();
    let debug = words::warnings(report).iter().any(|w| w.contains("without optimisation"));
    let finding = if labelled.is_empty() {
        "One executable, one allocator, one profile for all built-in contenders.".to_string()
    } else {
        format!("One executable, allocator and profile for all; labelled: {}.", labelled.join(", "))
    };
    item("Were the contenders built differently?", debug, finding)
}

fn scaling(report: &Report) -> Item {
    let cpus = report.plan.cpus;
    let few = cpus < 8;
    let finding = if few {
        format!(
            "With {cpus} usable CPUs this is evidence about overhead, latency and fairness; claims \
             about many cores need another machine."
        )
    } else {
        format!("{cpus} usable CPUs.")
    };
    item("Is the machine too small for claims about scaling?", few, finding)
}
