//! harness/src/report/table.rs: the table on stdout. Question: what does a person want to see first, in
//! eighty columns or more?

use std::fmt::Write as _;
use std::path::Path;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Attribute, Cell as TableCell, CellAlignment, Color, ContentArrangement, Table};

use super::idle::idle;
use super::{Group, Report, words};
use crate::figure::{percent, ratio_interval};
use crate::verdict::{Row, Verdict};

/// The whole text. `width`: columns to fill, for output that is no terminal; `colour`: ANSI colours.
pub fn table(report: &Report, width: Option<u16>, colour: bool) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "stealbench: {}\n", words::session_line(report));
    for warning in words::warnings(report) {
        let _ = writeln!(out, "! {warning}");
    }
    let _ = writeln!(out, "{}", words::null_arm(report));
    let _ = writeln!(
        out,
        "Figures are times divided by {}'s, with {} intervals: below 1 is faster than it.\n\
         open: the interval does not decide; noisy: this machine was too disturbed to tell.",
        report.reference().id,
        percent(report.plan.confidence),
    );
    for group in report.groups() {
        let (cell, _) = group.cells[0];
        let _ = writeln!(
            out,
            "\n{} {}  {}\n{}; time per {}",
            cell.workload,
            cell.name,
            cell.params_text(),
            cell.about,
            cell.unit
        );
        let _ = writeln!(out, "{}", group_table(report, &group, width, colour));
    }
    idle_costs(report, &mut out);
    losses(report, &mut out);
    out
}

fn idle_costs(report: &Report, out: &mut String) {
    let Some(idle) = idle(report) else { return };
    let one = |(name, shares): &(String, Vec<String>)| format!("{name} {}", shares.join(" and "));
    let all: Vec<String> = idle.rows.iter().map(one).collect();
    let _ = writeln!(out, "\nIdle cost, {}: {}", idle.heads.join(" and "), all.join(", "));
}

/// Where the files are and how to do it again.
pub fn footer(report: &Report, dir: &Path) -> String {
    format!(
        "\nReport:  {}\nJournal: {}\nAgain:   {}",
        dir.join("report.html").display(),
        dir.join("journal.jsonl").display(),
        words::command(report)
    )
}

fn group_table(report: &Report, group: &Group<'_>, width: Option<u16>, colour: bool) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = width {
        table.set_width(width);
    }
    if !colour {
        table.force_no_tty();
    }
    let mut header = vec![TableCell::new("")];
    let heads = group.cells.iter().map(|(cell, _)| words::workers(cell.workers));
    header.extend(heads.map(|h| TableCell::new(h).set_alignment(CellAlignment::Right)));
    table.set_header(header);
    for arm in 0..report.plan.arms.len() {
        let rows: Vec<Option<&Row>> =
            group.cells.iter().map(|(_, r)| r.rows.iter().find(|row| row.arm == arm)).collect();
        if rows.iter().all(Option::is_none) {
            continue;
        }
        let literal = group
            .cells
            .iter()
            .zip(&rows)
            .any(|((cell, _), row)| row.is_some_and(|row| words::lane(cell, row) == "literal"));
        let mark = if literal { " (literal)" } else { "" };
        let mut line = vec![TableCell::new(format!("{}{mark}", words::arm_name(report, arm)))];
        line.extend(rows.into_iter().map(|row| figure(report, row)));
        table.add_row(line);
    }
    table
}

fn figure(report: &Report, row: Option<&Row>) -> TableCell {
    let Some(row) = row else { return TableCell::new("–").set_alignment(CellAlignment::Right) };
    let cell = if row.arm == report.plan.reference && row.fault.is_none() {
        TableCell::new(words::unit_time(row)).add_attribute(Attribute::Bold)
    } else if let Some(ratio) = &row.ratio {
        let word = row.verdict.as_ref().map_or("", |v| v.0.short());
        let text = format!("{} {word}", ratio_interval(&ratio.interval));
        match row.verdict {
            Some((Verdict::Faster, _)) => TableCell::new(text).fg(Color::Blue),
            Some((Verdict::Slower, _)) => TableCell::new(text).fg(Color::Yellow),
            _ => TableCell::new(text),
        }
    } else if row.fault.is_some() {
        TableCell::new("failed").fg(Color::Red)
    } else {
        TableCell::new(format!("{} (no ratio)", words::unit_time(row)))
    };
    cell.set_alignment(CellAlignment::Right)
}

fn losses(report: &Report, out: &mut String) {
    let all = words::losses(report);
    let (plain, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|l| l.baseline);
    let name = &report.reference().id;
    if others.is_empty() {
        let _ = writeln!(out, "\nWhere {name} loses: {}", words::no_losses(report));
    } else {
        let _ = writeln!(out, "\nWhere {name} loses (time of the other divided by its own):");
        for loss in others {
            let text = ratio_interval(&loss.ratio);
            let _ = writeln!(out, "  {text}  {}  {}", loss.contender, loss.cell);
        }
    }
    if !plain.is_empty() {
        let n = plain.len();
        let _ = writeln!(out, "In {n} cells the plain program without a scheduler is faster.");
    }
}
