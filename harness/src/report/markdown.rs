//! harness/src/report/markdown.rs: the report for a repository or an issue. Question: the same as the page,
//! in text that diffs well.

use std::fmt::Write as _;

use super::idle::idle;
use super::{Group, Report, audit, words};
use crate::figure::{percent, ratio_interval};

/// The whole report as GitHub-flavoured Markdown.
pub fn markdown(report: &Report) -> String {
    let mut out = String::new();
    let reference = &report.reference().id;
    let _ = writeln!(out, "# Comparison of schedulers, reference {reference}\n");
    let _ = writeln!(out, "{}. Started {}.\n", words::session_line(report), report.started);
    for warning in words::warnings(report) {
        let _ = writeln!(out, "> **{warning}**\n");
    }
    let _ = writeln!(out, "**The null arm.** {}\n", words::null_arm(report));
    tally(report, &mut out);
    idle_costs(report, &mut out);
    losses(report, &mut out);
    for group in report.groups() {
        section(report, &group, &mut out);
    }
    if !report.plan.left_out.is_empty() {
        let n = report.plan.left_out.len();
        let _ =
            writeln!(out, "{n} further cells did not fit the time budget; the page lists them.\n");
    }
    machine(report, &mut out);
    let _ = writeln!(out, "## Self-audit\n\n| question | answer | finding |\n|---|---|---|");
    for item in audit::audit(report) {
        let _ = writeln!(out, "| {} | {} | {} |", item.question, item.answer, item.finding);
    }
    let _ = writeln!(out, "\n## Again\n\n```\n{}\n```", words::command(report));
    out
}

fn tally(report: &Report, out: &mut String) {
    let _ = writeln!(
        out,
        "| against {} | faster | same | slower | cannot tell | not measurable |",
        report.reference().id
    );
    let _ = writeln!(out, "|---|---:|---:|---:|---:|---:|");
    for (name, [faster, slower, same, open, not]) in words::tally(report) {
        let _ =
            writeln!(out, "| {} | {faster} | {same} | {slower} | {open} | {not} |", escaped(&name));
    }
    let _ = writeln!(out);
}

fn losses(report: &Report, out: &mut String) {
    let _ = writeln!(out, "## Where {} loses\n", report.reference().id);
    let losses = words::losses(report);
    if losses.is_empty() {
        let _ = writeln!(out, "{}\n", words::no_losses(report));
        return;
    }
    let _ = writeln!(
        out,
        "| contender | cell | time / reference | CPUs kept busy | |\n|---|---|---:|---|---|"
    );
    for l in losses {
        let size = if l.grave { "10 % or more" } else { "" };
        let note = if l.baseline { "no scheduler" } else { size };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {note} |",
            escaped(&l.contender),
            escaped(&l.cell),
            ratio_interval(&l.ratio),
            l.cpus
        );
    }
    let _ = writeln!(out);
}

fn section(report: &Report, group: &Group<'_>, out: &mut String) {
    let (cell, _) = group.cells[0];
    let _ = writeln!(out, "## {} {} {}\n", cell.workload, cell.name, cell.params_text());
    let _ = writeln!(out, "{}. Time per {}.\n", cell.about, cell.unit);
    let _ = writeln!(
        out,
        "| workers | contender | time | ratio [{} interval] | verdict | speed-up over serial | CPUs |\n|---:|---|---:|---:|---|---:|---:|",
        percent(report.plan.confidence)
    );
    for (cell, result) in &group.cells {
        for row in &result.rows {
            let lane = words::lane(cell, row);
            let lane = if lane.is_empty() { String::new() } else { format!(" ({lane})") };
            let _ = writeln!(
                out,
                "| {} | {}{lane} | {} | {} | {} | {} | {} |",
                cell.workers,
                escaped(&words::name(report, row)),
                words::unit_time(row),
                words::ratio_text(report, row),
                words::verdict_text(row),
                words::speedup_text(cell, row),
                row.cpus_used.map_or(String::new(), |c| format!("{c:.2}")),
            );
        }
    }
    let _ = writeln!(out);
    for note in words::notes(report, group) {
        let _ = writeln!(out, "- {}", escaped(&note));
    }
    let _ = writeln!(out);
}

fn machine(report: &Report, out: &mut String) {
    let _ = writeln!(out, "## Machine\n\n| fact | value |\n|---|---|");
    for (name, value) in &report.env.facts {
        let _ = writeln!(out, "| {name} | {} |", escaped(&super::html::fact(value)));
    }
    let _ = writeln!(out);
}

fn idle_costs(report: &Report, out: &mut String) {
    let Some(idle) = idle(report) else { return };
    let _ = writeln!(out, "## Idle cost\n\n{}\n", escaped(&idle.about));
    let _ = writeln!(out, "| contender | {} |", idle.heads.join(" | "));
    let _ = writeln!(out, "|---|{}", "---:|".repeat(idle.heads.len()));
    for (name, shares) in &idle.rows {
        let _ = writeln!(out, "| {} | {} |", escaped(name), shares.join(" | "));
    }
    let _ = writeln!(out);
}

/// Text that stays in its table cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
