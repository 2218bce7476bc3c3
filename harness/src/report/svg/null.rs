//! harness/src/report/svg/null.rs: the noise floor. Question: how far from 1 does a ratio come out when
//! nothing at all differs?

use super::{Canvas, LogAxis, WIDTH};
use crate::report::Report;
use crate::verdict::null_ratios;

const HEIGHT: f64 = 84.0;

/// One dot a cell with its interval: the reference against itself. `None` without any.
pub fn null_strip(report: &Report) -> Option<String> {
    let mut all: Vec<_> = null_ratios(&report.plan, &report.results).map(|r| r.interval).collect();
    all.sort_by(|a, b| a.estimate.total_cmp(&b.estimate));
    let far = |v: f64| v.ln().abs();
    let widest = all.iter().map(|i| far(i.lo).max(far(i.hi))).reduce(f64::max)?;
    let reach = widest.max(1.5 * report.margin).min(1.0).exp() * 1.01;
    let axis = LogAxis { lo: 1.0 / reach, hi: reach, from: 14.0, to: WIDTH - 14.0 };
    let mut canvas = Canvas::new(HEIGHT, "The reference against itself, one dot a cell");
    let (top, bottom) = (4.0, HEIGHT - 32.0);
    let (a, b) = (axis.at(1.0 / (1.0 + report.margin)), axis.at(1.0 + report.margin));
    canvas.rect("margin", (a, top), (b - a, bottom - top));
    for tick in axis.ticks(7) {
        let one = (tick - 1.0).abs() < 1e-9;
        canvas.line(
            if one { "one" } else { "grid" },
            (axis.at(tick), top),
            (axis.at(tick), bottom),
        );
        let text = format!("{tick:.3}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        canvas.text(if one { "tick m b" } else { "tick m" }, (axis.at(tick), bottom + 14.0), text);
    }
    canvas.text(
        "tick m",
        (WIDTH / 2.0, bottom + 28.0),
        "reference ÷ reference; shaded: the margin",
    );
    let step = (bottom - top - 8.0) / all.len().max(1) as f64;
    for (n, i) in all.iter().enumerate() {
        let y = top + 4.0 + step * (n as f64 + 0.5);
        canvas.line("bar thin open", (axis.at(i.lo), y), (axis.at(i.hi), y));
        canvas.circle("dot open small", (axis.at(i.estimate), y), 2.2);
    }
    Some(canvas.finish())
}
