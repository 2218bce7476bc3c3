//! harness/src/report/svg/ratio.rs: ratios with their intervals. Question: who is faster than the
//! reference, how surely, and how do the single epochs lie?

use super::{Canvas, LogAxis, WIDTH};
use crate::figure::ratio;
use crate::report::{Group, Report, words};
use crate::verdict::{CellResult, Ratio, Row, Verdict};

const LEFT: f64 = 104.0;
const RIGHT: f64 = WIDTH - 92.0;
const ROW: f64 = 19.0;
const HEAD: f64 = 24.0;
/// Ratios beyond these are drawn at the edge, with an arrow: one far value must not squash the rest.
const FARTHEST: f64 = 8.0;

/// The plot of one workload: a block of rows a worker count. `None` without any ratio.
pub fn ratio_plot(report: &Report, group: &Group<'_>) -> Option<String> {
    let axis = axis(report, group)?;
    // A worker count whose epochs were not enough for any ratio has nothing to draw.
    let any = |r: &CellResult| r.rows.iter().any(|row| row.ratio.is_some());
    let cells: Vec<_> = group.cells.iter().filter(|(_, r)| any(r)).collect();
    let rows: usize = cells.iter().map(|(_, r)| shown(report, &r.rows).count()).sum();
    let height = rows as f64 * ROW + cells.len() as f64 * HEAD + 40.0;
    let title = format!("Times relative to {}, with intervals", report.reference().id);
    let mut canvas = Canvas::new(height, &title);
    let bottom = height - 34.0;
    let (low, high) = (1.0 / (1.0 + report.margin), 1.0 + report.margin);
    let (a, b) = (axis.at(low), axis.at(high));
    canvas.rect("margin", (a, 4.0), ((b - a).max(1.0), bottom - 4.0));
    for tick in axis.ticks(6) {
        let one = (tick - 1.0).abs() < 1e-9;
        let x = axis.at(tick);
        canvas.line(if one { "one" } else { "grid" }, (x, 4.0), (x, bottom));
        canvas.text(if one { "tick m b" } else { "tick m" }, (x, bottom + 14.0), &tick_text(tick));
    }
    let x = 0.5 * (LEFT + RIGHT);
    canvas.text("tick m", (x, bottom + 29.0), "← faster   time ratio   slower →");
    let mut y = 0.0;
    for (cell, result) in cells {
        y += HEAD;
        canvas.text("head", (0.0, y - 7.0), &words::workers(cell.workers));
        let mut rows: Vec<&Row> = shown(report, &result.rows).collect();
        rows.sort_by_key(|row| !words::lane(cell, row).is_empty()); // Stable: literal ones last.
        for row in rows {
            let name = words::short_name(report, cell, row);
            draw(&mut canvas, &name, row, &axis, y + 0.5 * ROW);
            y += ROW;
        }
    }
    Some(canvas.finish())
}

fn tick_text(tick: f64) -> String {
    let text = format!("{tick:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn shown<'a>(report: &'a Report, rows: &'a [Row]) -> impl Iterator<Item = &'a Row> {
    rows.iter().filter(|r| r.arm != report.plan.reference)
}

fn axis(report: &Report, group: &Group<'_>) -> Option<LogAxis> {
    let ratios = group.cells.iter().flat_map(|(_, r)| shown(report, &r.rows));
    let all: Vec<&Ratio> = ratios.filter_map(|r| r.ratio.as_ref()).collect();
    let lo = all.iter().map(|r| r.interval.lo).reduce(f64::min)?;
    let hi = all.iter().map(|r| r.interval.hi).reduce(f64::max)?;
    let lo = lo.clamp(1.0 / FARTHEST, 1.0 / 1.03) / 1.03;
    let hi = hi.clamp(1.03, FARTHEST) * 1.03;
    Some(LogAxis { lo, hi, from: LEFT, to: RIGHT })
}

fn draw(canvas: &mut Canvas, name: &str, row: &Row, axis: &LogAxis, y: f64) {
    canvas.text("name", (0.0, y + 4.0), name);
    let Some(r) = &row.ratio else {
        let why = if row.fault.is_some() { "failed" } else { "no ratio" };
        canvas.text("word", (RIGHT + 6.0, y + 4.0), why);
        return;
    };
    let i = &r.interval;
    let verdict = row.verdict.as_ref().map(|v| v.0);
    let class = match verdict {
        Some(Verdict::Faster) => "faster",
        Some(Verdict::Slower) => "slower",
        _ => "open",
    };
    for v in r.values.iter().filter(|v| (axis.lo..=axis.hi).contains(v)) {
        let x = axis.at(*v);
        canvas.line("epoch", (x, y - 4.5), (x, y + 4.5));
    }
    canvas.line(&format!("bar {class}"), (axis.at(i.lo), y), (axis.at(i.hi), y));
    let x = axis.at(i.estimate);
    if i.estimate > axis.hi {
        canvas.polygon(
            &format!("dot {class}"),
            &[(x + 4.0, y), (x - 4.0, y - 5.0), (x - 4.0, y + 5.0)],
        );
    } else if i.estimate < axis.lo {
        canvas.polygon(
            &format!("dot {class}"),
            &[(x - 4.0, y), (x + 4.0, y - 5.0), (x + 4.0, y + 5.0)],
        );
    } else {
        canvas.circle(&format!("dot {class}"), (x, y), 4.2);
    }
    let word = verdict.map_or("", Verdict::short);
    canvas.text(
        &format!("word {class}"),
        (RIGHT + 8.0, y + 4.0),
        &format!("{} {word}", ratio(i.estimate)),
    );
}
