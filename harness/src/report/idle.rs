//! harness/src/report/idle.rs: what contenders cost while there is nothing to do. Question: does a runtime
//! pay for its speed with CPU time that it burns at rest?
//!
//! # Invariants
//! - Shares of one CPU, never of the machine: a spinning worker is 100 %, two are 200 %.
//! - At rest: the worst worker count of the check pass, after the contender was asked to park.
//! - A trickle: from the same epochs as every other figure, where the plan holds a cell on the CPU clock.

use super::{Report, words};
use crate::figure::percent;
use crate::plan::Cell;
use crate::verdict::CellResult;

/// The table of idle costs, and what its columns are.
#[derive(Debug)]
pub(super) struct Idle {
    /// Heads of the columns after the contender's name.
    pub(super) heads: Vec<String>,
    /// Contender, and its shares as text, in the order of the heads.
    pub(super) rows: Vec<(String, Vec<String>)>,
    /// How they were measured, in a sentence or two.
    pub(super) about: String,
}

/// Idle costs of every contender that was asked to rest; none if nobody was.
pub(super) fn idle(report: &Report) -> Option<Idle> {
    let trickle = trickle(report);
    let mut heads = vec!["at rest".to_string()];
    heads.extend(trickle.map(|_| "almost idle".to_string()));
    let text = |share: Option<f64>| share.map_or("–".to_string(), percent);
    let mut rows = Vec::new();
    for (index, arm) in report.plan.arms.iter().enumerate().filter(|(_, a)| !a.null) {
        let Some(rest) = at_rest(report, &arm.id) else { continue };
        let mut shares = vec![text(Some(rest))];
        shares.extend(trickle.map(|(_, result)| {
            text(result.rows.iter().find(|r| r.arm == index).and_then(|r| r.cpus_used))
        }));
        rows.push((words::arm_name(report, index), shares));
    }
    (!rows.is_empty()).then(|| Idle { heads, rows, about: about(report, trickle) })
}

/// What the columns are, and what they cannot say.
fn about(report: &Report, trickle: Option<(&Cell, &CellResult)>) -> String {
    let mut out = "Share of one CPU. At rest: one look of 20 ms or more after the last task, on the \
                   worst number of workers; it tells a spinning runtime from a sleeping one, no more."
        .to_string();
    if let Some(arm) = report.plan.baseline {
        let name = words::arm_name(report, arm);
        out += &format!(" What {name} shows is the price of looking.");
    }
    if let Some((cell, _)) = trickle {
        out += &format!(" Almost idle: {}.", cell.key());
    }
    out
}

/// Largest share of one CPU that the idle contender used in the check pass.
fn at_rest(report: &Report, arm: &str) -> Option<f64> {
    let mine = report.checks.iter().filter(|c| c.arm.as_deref() == Some(arm));
    mine.filter_map(|c| c.idle_share).reduce(f64::max)
}

/// The leading cell whose wall time is fixed, on its largest number of workers.
fn trickle(report: &Report) -> Option<(&Cell, &CellResult)> {
    let all = || report.plan.cells.iter().zip(&report.results).filter(|(c, _)| c.cpu_clock);
    let (first, _) = all().next()?;
    all().filter(|(c, _)| c.params == first.params).max_by_key(|(c, _)| c.workers)
}
