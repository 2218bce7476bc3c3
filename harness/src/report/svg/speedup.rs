//! harness/src/report/svg/speedup.rs: speed-up over the serial program. Question: how much of what the
//! machine and the work allow does each contender get?

use super::{Canvas, LogAxis, WIDTH, spread};
use crate::figure::ratio;
use crate::report::{Group, Report, words};
use crate::stats::Interval;

const LEFT: f64 = 40.0;
/// Room for a name of nine letters and five digits at its right.
const RIGHT: f64 = WIDTH - 134.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 212.0;
const HEIGHT: f64 = 250.0;

/// One contender: arm, and (workers, speed-up) in ascending order.
type Series = (usize, Vec<(usize, Interval)>);

/// The plot of one workload: speed-up over workers, both logarithmic, with the ideal and the model's
/// ceiling. `None` where there is no serial program or only one worker count.
pub fn speedup(report: &Report, group: &Group<'_>) -> Option<String> {
    let series = series(report, group);
    let counts: Vec<usize> = group.cells.iter().map(|(c, _)| c.workers).collect();
    if series.is_empty() || counts.len() < 2 {
        return None;
    }
    let ideal = |n: usize| n.min(report.plan.cpus) as f64;
    let values = || series.iter().flat_map(|(_, s)| s.iter().flat_map(|(_, i)| [i.lo, i.hi]));
    let top = counts.iter().map(|n| ideal(*n)).chain(values()).fold(1.0, f64::max) * 1.1;
    let low = values().fold(1.0, f64::min).max(top / 1e5) / 1.1;
    let x =
        LogAxis { lo: *counts.first()? as f64, hi: *counts.last()? as f64, from: LEFT, to: RIGHT };
    let y = LogAxis { lo: low, hi: top, from: BOTTOM, to: TOP };
    let mut canvas = Canvas::new(HEIGHT, "Speed-up over the serial program, by workers");
    frame(&mut canvas, &counts, &x, &y);
    let line: Vec<(f64, f64)> = counts.iter().map(|n| (x.at(*n as f64), y.at(ideal(*n)))).collect();
    canvas.path("ideal", &line);
    let ceilings: Vec<(f64, f64)> = group
        .cells
        .iter()
        .filter_map(|(c, _)| Some((x.at(c.workers as f64), y.at(c.ceiling?.min(ideal(c.workers))))))
        .collect();
    canvas.path("ceiling", &ceilings);
    for (form, (_, points)) in series.iter().enumerate() {
        let path: Vec<_> =
            points.iter().map(|(n, i)| (x.at(*n as f64), y.at(i.estimate))).collect();
        canvas.path(&format!("line c{form}"), &path);
        for (n, i) in points {
            let at = x.at(*n as f64);
            canvas.line(&format!("whisker c{form}"), (at, y.at(i.lo)), (at, y.at(i.hi)));
            canvas.mark(&format!("mark c{form}"), form, (at, y.at(i.estimate)));
        }
    }
    labels(&mut canvas, report, &series, &y, ideal(*counts.last()?), ceilings.last().copied());
    Some(canvas.finish())
}

fn series(report: &Report, group: &Group<'_>) -> Vec<Series> {
    let arms = (0..report.plan.arms.len()).filter(|a| !report.plan.arms[*a].null);
    let of = |arm: usize| -> Series {
        let point = |(cell, result): &(&crate::plan::Cell, &crate::verdict::CellResult)| {
            let row = result.rows.iter().find(|r| r.arm == arm)?;
            Some((cell.workers, row.speedup.as_ref()?.interval))
        };
        (arm, group.cells.iter().filter_map(point).collect())
    };
    arms.map(of).filter(|(_, points)| !points.is_empty()).collect()
}

fn frame(canvas: &mut Canvas, counts: &[usize], x: &LogAxis, y: &LogAxis) {
    for tick in y.ticks(7) {
        let at = y.at(tick);
        let class = if (tick - 1.0).abs() < 1e-9 { "one" } else { "grid" };
        canvas.line(class, (LEFT, at), (RIGHT, at));
        canvas.text("tick e", (LEFT - 6.0, at + 4.0), &ratio_tick(tick));
    }
    for n in counts {
        let at = x.at(*n as f64);
        canvas.line("grid", (at, TOP), (at, BOTTOM));
        canvas.text("tick m", (at, BOTTOM + 15.0), &n.to_string());
    }
    canvas.text("tick m", (0.5 * (LEFT + RIGHT), BOTTOM + 31.0), "workers");
}

fn ratio_tick(tick: f64) -> String {
    let text = format!("{tick:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Names at the right end, moved apart, each with a thin line to its curve.
fn labels(
    canvas: &mut Canvas,
    report: &Report,
    series: &[Series],
    y: &LogAxis,
    ideal: f64,
    ceiling: Option<(f64, f64)>,
) {
    let mut names: Vec<(String, String, f64)> = vec![(String::new(), "ideal".into(), y.at(ideal))];
    names.extend(ceiling.map(|(_, at)| (String::new(), "model ceiling".to_string(), at)));
    for (form, (arm, points)) in series.iter().enumerate() {
        if let Some((_, i)) = points.last() {
            let name = words::arm_name(report, *arm);
            let short = name.split(':').next().unwrap_or(&name).to_string();
            let text = format!("{short} {}", ratio(i.estimate));
            names.push((format!("c{form}"), text, y.at(i.estimate)));
        }
    }
    let wanted: Vec<f64> = names.iter().map(|n| n.2).collect();
    let placed = spread(&wanted, 14.0, TOP, BOTTOM + 22.0);
    for ((class, text, at), y) in names.iter().zip(placed) {
        canvas.line("lead", (RIGHT + 3.0, *at), (RIGHT + 13.0, y));
        canvas.text(&format!("word {class}"), (RIGHT + 16.0, y + 4.0), text);
    }
}
