//! harness/src/report/html.rs: the page. Question: can somebody who was not there read it on a phone, on
//! paper, without colours, without a network, and check every figure?
//!
//! # Invariants
//! - One file: no script, no font, no link that is fetched. Escaping is askama's; pictures are our own.

use askama::Template;
use serde_json::Value;

use super::idle::{Idle, idle};
use super::{Group, Report, audit, svg, words};
use crate::error::{Error, Result};
use crate::figure::{percent, ratio_interval};
use crate::plan::Cell;
use crate::verdict::{CellResult, Row};

#[derive(Template)]
#[template(path = "report.html")]
struct Page {
    reference: String,
    started: String,
    session: String,
    seed: u64,
    status: String,
    confidence: String,
    margin: String,
    warnings: Vec<String>,
    null_text: String,
    null_svg: String,
    tally: Vec<(String, [usize; 5])>,
    losses: Vec<LossLine>,
    no_losses: &'static str,
    sections: Vec<Section>,
    left_out: Vec<(String, String)>,
    versions: Vec<[String; 4]>,
    idle: Option<Idle>,
    facts: Vec<(String, String)>,
    audit: Vec<audit::Item>,
    notes: Vec<String>,
    command: String,
    id: String,
}

struct LossLine {
    contender: String,
    cell: String,
    ratio: String,
    cpus: String,
    grave: bool,
    baseline: bool,
}

struct Section {
    anchor: String,
    title: String,
    params: String,
    about: String,
    unit: String,
    headline: String,
    ratio: String,
    literal: bool,
    speedup: String,
    latency: Vec<String>,
    rows: Vec<Line>,
    notes: Vec<String>,
}

struct Line {
    first: usize,
    workers: usize,
    name: String,
    time: String,
    ratio: String,
    verdict: &'static str,
    class: &'static str,
    speedup: String,
    cpus: String,
}

/// The page as text.
///
/// # Errors
/// If the template cannot be filled, which would be a bug.
pub fn html(report: &Report) -> Result<String> {
    page(report).render().map_err(|e| Error::Failed(format!("cannot lay out the page: {e}")))
}

fn page(report: &Report) -> Page {
    let loss = |l: words::Loss| LossLine {
        contender: l.contender,
        cell: l.cell,
        ratio: ratio_interval(&l.ratio),
        cpus: l.cpus,
        grave: l.grave,
        baseline: l.baseline,
    };
    Page {
        reference: report.reference().id.clone(),
        started: report.started.split('.').next().unwrap_or("").replace('T', " ") + " UTC",
        session: words::session_line(report),
        seed: report.plan.seed,
        status: report.status.clone(),
        confidence: percent(report.plan.confidence),
        margin: percent(report.margin),
        warnings: words::warnings(report),
        null_text: words::null_arm(report),
        null_svg: svg::null_strip(report).unwrap_or_default(),
        tally: words::tally(report),
        losses: words::losses(report).into_iter().map(loss).collect(),
        no_losses: words::no_losses(report),
        sections: report.groups().iter().map(|g| section(report, g)).collect(),
        left_out: report.plan.left_out.clone().into_iter().collect(),
        versions: versions(report),
        idle: idle(report),
        facts: report.env.facts.iter().map(|(k, v)| (k.replace('_', " "), fact(v))).collect(),
        audit: audit::audit(report),
        notes: report.notes.iter().map(|n| format!("{}: {}", n.what, n.text)).collect(),
        command: words::command(report),
        id: report.session.session_id.clone(),
    }
}

/// A fact for people: its value, or why it is missing.
pub(super) fn fact(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(map) => match map.get("missing").and_then(Value::as_str) {
            Some(reason) => format!("missing: {reason}"),
            None => value.to_string(),
        },
        other => other.to_string(),
    }
}

fn versions(report: &Report) -> Vec<[String; 4]> {
    let line = |b: &crate::store::Build| {
        let fact = |name: &str| b.facts.get(name).map_or(String::new(), fact);
        let arm = report.plan.arms.get(b.arm).filter(|a| !a.null)?;
        Some([arm.id.clone(), b.version.clone(), fact("profile"), fact("label")])
    };
    report.builds.iter().filter_map(line).collect()
}

fn section(report: &Report, group: &Group<'_>) -> Section {
    let (cell, _) = group.cells[0];
    let curves = group.cells.iter().filter_map(|(c, r)| svg::latency(report, c, r)).collect();
    Section {
        anchor: anchor(cell),
        title: format!("{} {}", cell.workload, cell.name),
        params: cell.params_text(),
        about: cell.about.clone(),
        unit: cell.unit.clone(),
        headline: headline(report, group),
        ratio: svg::ratio_plot(report, group).unwrap_or_default(),
        literal: words::any_literal(group),
        speedup: svg::speedup(report, group).unwrap_or_default(),
        latency: curves,
        rows: group.cells.iter().flat_map(|(c, r)| lines(report, c, r)).collect(),
        notes: words::notes(report, group),
    }
}

fn anchor(cell: &Cell) -> String {
    let text = format!("{}-{}", cell.workload, cell.params_text());
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// Absolute time of the reference at each worker count: what the ratios are ratios of.
fn headline(report: &Report, group: &Group<'_>) -> String {
    let one = |(cell, result): &(&Cell, &CellResult)| {
        let row = result.rows.iter().find(|r| r.arm == report.plan.reference)?;
        let n = words::workers(cell.workers);
        Some(format!("{} with {n} ({})", words::unit_time(row), words::sample_span(cell, result)))
    };
    let all: Vec<String> = group.cells.iter().filter_map(one).collect();
    let kind = if group.cells[0].0.cpu_clock { "CPU time" } else { "time" };
    format!(
        "{} takes, {kind} per {}: {}.",
        report.reference().id,
        group.cells[0].0.unit,
        all.join("; ")
    )
}

fn lines(report: &Report, cell: &Cell, result: &CellResult) -> Vec<Line> {
    let line = |(i, row): (usize, &Row)| {
        let lane = words::lane(cell, row);
        let lane = if lane.is_empty() { String::new() } else { format!(" ({lane})") };
        let verdict = words::verdict_text(row);
        Line {
            first: if i == 0 { result.rows.len() } else { 0 },
            workers: cell.workers,
            name: words::name(report, row) + &lane,
            time: words::unit_time(row),
            ratio: words::ratio_text(report, row),
            verdict,
            class: match verdict {
                "faster" => "faster",
                "slower" => "slower",
                "failed" => "failed",
                _ => "open",
            },
            speedup: words::speedup_text(cell, row),
            cpus: row.cpus_used.map_or(String::new(), |c| format!("{c:.2}")),
        }
    };
    result.rows.iter().enumerate().map(line).collect()
}
