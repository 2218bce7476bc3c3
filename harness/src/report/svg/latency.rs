//! harness/src/report/svg/latency.rs: how long tasks waited. Question: what does the tail look like, not
//! only the middle?

use super::{Canvas, LogAxis, WIDTH, spread};
use crate::figure::time;
use crate::plan::Cell;
use crate::report::{Report, words};
use crate::verdict::CellResult;

const LEFT: f64 = 58.0;
const RIGHT: f64 = WIDTH - 118.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 200.0;
/// Names in the protocol, as they are printed.
const STEPS: [(&str, &str); 5] =
    [("p50", "50 %"), ("p90", "90 %"), ("p99", "99 %"), ("p999", "99.9 %"), ("max", "max")];

/// The curve of one cell: wait over percentile, per contender. `None` where no contender reports any.
pub fn latency(report: &Report, cell: &Cell, result: &CellResult) -> Option<String> {
    let rows: Vec<_> = result
        .rows
        .iter()
        .filter(|r| !r.latency_ns.is_empty() && r.fault.is_none() && !report.arm(r).null)
        .collect();
    let values = || rows.iter().flat_map(|r| r.latency_ns.values()).map(|ns| (*ns).max(1) as f64);
    let (lo, hi) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    let y = LogAxis { lo: lo / 1.2, hi: (hi * 1.2).max(lo * 2.0), from: BOTTOM, to: TOP };
    let x = |i: usize| LEFT + 8.0 + (RIGHT - LEFT - 16.0) * i as f64 / (STEPS.len() - 1) as f64;
    let mut canvas = Canvas::new(236.0, &format!("Waiting times in {}", cell.key()));
    for tick in y.ticks(7) {
        canvas.line("grid", (LEFT, y.at(tick)), (RIGHT, y.at(tick)));
        canvas.text("tick e", (LEFT - 5.0, y.at(tick) + 4.0), &time(tick));
    }
    for (i, (_, label)) in STEPS.iter().enumerate() {
        canvas.text("tick m", (x(i), BOTTOM + 15.0), label);
    }
    let what =
        format!("share of tasks that waited at most so long, {}", words::workers(cell.workers));
    canvas.text("tick m", (WIDTH / 2.0, BOTTOM + 32.0), &what);
    let mut ends = Vec::new();
    for (form, row) in rows.iter().enumerate() {
        let at = |(i, (name, _)): (usize, &(&str, &str))| {
            Some((x(i), y.at((*row.latency_ns.get(*name)?).max(1) as f64)))
        };
        let points: Vec<(f64, f64)> = STEPS.iter().enumerate().filter_map(at).collect();
        canvas.path(&format!("line c{form}"), &points);
        points.iter().for_each(|p| canvas.mark(&format!("mark c{form}"), form, *p));
        ends.push(points.last().map_or(BOTTOM, |p| p.1));
    }
    let placed = spread(&ends, 14.0, TOP, BOTTOM);
    for ((form, row), (end, y)) in rows.iter().enumerate().zip(ends.iter().zip(placed)) {
        let name = words::name(report, row);
        let short = name.split(':').next().unwrap_or(&name).to_string();
        let worst = row.latency_ns.get("p99").map_or(String::new(), |ns| time(*ns as f64));
        canvas.line("lead", (RIGHT + 1.0, *end), (RIGHT + 11.0, y));
        let text = format!("{short} p99 {worst}");
        canvas.text(&format!("word s c{form}"), (RIGHT + 13.0, y + 4.0), &text);
    }
    Some(canvas.finish())
}
