//! harness/src/report/svg/mod.rs: pictures. Question: what do the figures look like, on paper, on a phone
//! and to somebody who sees no colours?
//!
//! Written by hand, as text: the same data give the same bytes, no font is embedded and nothing is
//! fetched. All pictures are 360 units wide, which is a phone's page: text of 12 units is 12 pixels
//! there, and grows on larger screens. Colours come from classes of the page's style sheet; every
//! difference that a colour shows is shown by form or word as well.

mod latency;
mod null;
mod ratio;
mod speedup;

use std::fmt::Write as _;

pub use latency::latency;
pub use null::null_strip;
pub use ratio::ratio_plot;
pub use speedup::speedup;

/// Width of every picture, in its own units.
pub(super) const WIDTH: f64 = 360.0;

/// A picture under construction.
pub(super) struct Canvas {
    height: f64,
    title: String,
    body: String,
}

impl Canvas {
    /// `title`: read out by screen readers.
    pub(super) fn new(height: f64, title: &str) -> Canvas {
        Canvas { height, title: title.to_string(), body: String::new() }
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let _ = writeln!(
            self.body,
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        );
    }

    pub(super) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let list: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(self.body, r#"<polyline class="{class}" points="{}"/>"#, list.join(" "));
    }

    pub(super) fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64)) {
        let ((x, y), (w, h)) = (at, size);
        let _ = writeln!(
            self.body,
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{w:.1}" height="{h:.1}"/>"#
        );
    }

    pub(super) fn circle(&mut self, class: &str, at: (f64, f64), r: f64) {
        let (x, y) = at;
        let _ =
            writeln!(self.body, r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="{r:.1}"/>"#);
    }

    /// A mark of one of eight forms around `at`.
    pub(super) fn mark(&mut self, class: &str, form: usize, at: (f64, f64)) {
        const R: f64 = 3.6;
        let (x, y) = at;
        match form % 4 {
            0 => self.circle(class, at, R),
            1 => self.rect(class, (x - R * 0.9, y - R * 0.9), (R * 1.8, R * 1.8)),
            2 => {
                self.polygon(class, &[(x, y - R * 1.2), (x + R * 1.1, y + R), (x - R * 1.1, y + R)])
            }
            _ => self.polygon(
                class,
                &[(x, y - R * 1.3), (x + R * 1.3, y), (x, y + R * 1.3), (x - R * 1.3, y)],
            ),
        }
    }

    pub(super) fn polygon(&mut self, class: &str, points: &[(f64, f64)]) {
        let list: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(self.body, r#"<polygon class="{class}" points="{}"/>"#, list.join(" "));
    }

    /// `class` may hold `e` (ends at the point) or `m` (middle).
    pub(super) fn text(&mut self, class: &str, at: (f64, f64), text: &str) {
        let (x, y) = at;
        let text = escaped(text);
        let _ = writeln!(self.body, r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#);
    }

    pub(super) fn finish(self) -> String {
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
            self.height,
            escaped(&self.title),
            self.body
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A logarithmic axis from `lo` to `hi` over the pixels `from` to `to`.
pub(super) struct LogAxis {
    pub(super) lo: f64,
    pub(super) hi: f64,
    pub(super) from: f64,
    pub(super) to: f64,
}

impl LogAxis {
    /// Where `v` lies; values outside lie on the nearer end.
    pub(super) fn at(&self, v: f64) -> f64 {
        let v = v.clamp(self.lo, self.hi);
        self.from + (v / self.lo).ln() / (self.hi / self.lo).ln() * (self.to - self.from)
    }

    /// At most `most` round values inside, 1 among them if it is inside. From 1-2-5 steps for wide
    /// axes down to steps of half a per cent for narrow ones.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        let decades = |steps: &[f64]| -> Vec<f64> {
            let all = (-12..13).flat_map(|e| steps.iter().map(move |s| s * 10f64.powi(e)));
            all.filter(|v| *v >= self.lo * 0.9999 && *v <= self.hi * 1.0001).collect()
        };
        let linear = |step: f64| -> Vec<f64> {
            let (a, b) = ((self.lo / step).ceil() as i64, (self.hi / step).floor() as i64);
            if b - a > 40 { Vec::new() } else { (a..=b).map(|i| i as f64 * step).collect() }
        };
        let tries = [
            linear(0.005),
            linear(0.01),
            linear(0.02),
            linear(0.05),
            linear(0.1),
            linear(0.2),
            linear(0.5),
            decades(&[1.0, 2.0, 5.0]),
            decades(&[1.0, 3.0]),
            decades(&[1.0]),
        ];
        let fits = |t: &&Vec<f64>| (2..=most).contains(&t.len()) && self.even(t);
        tries.iter().find(fits).cloned().unwrap_or_else(|| vec![self.lo, self.hi])
    }

    /// Whether labels at `ticks` do not run into each other: they are wider than high.
    fn even(&self, ticks: &[f64]) -> bool {
        let room = if self.to > self.from { 28.0 } else { 16.0 };
        ticks.windows(2).all(|w| (self.at(w[1]) - self.at(w[0])).abs() > room)
    }
}

/// Moves label positions apart until neighbours are at least `gap` apart, within `lo..hi`. Keeps order.
pub(super) fn spread(wanted: &[f64], gap: f64, lo: f64, hi: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut out = wanted.to_vec();
    let mut least = lo;
    for &i in &order {
        out[i] = out[i].max(least);
        least = out[i] + gap;
    }
    let mut most = hi;
    for &i in order.iter().rev() {
        out[i] = out[i].min(most);
        most = out[i] - gap;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_few_round_and_hold_one() {
        let axis = |lo, hi| LogAxis { lo, hi, from: 0.0, to: 170.0 }.ticks(6);
        for (lo, hi) in [(0.98, 1.02), (0.9, 1.3), (0.5, 3.0), (0.01, 20.0), (0.9, 900.0)] {
            let ticks = axis(lo, hi);
            assert!((2..=6).contains(&ticks.len()), "{lo} {hi}: {ticks:?}");
            assert!(ticks.iter().any(|t| (t - 1.0).abs() < 1e-9), "{lo} {hi}: {ticks:?}");
        }
    }

    #[test]
    fn labels_move_apart_and_stay_inside() {
        let got = spread(&[10.0, 11.0, 12.0, 50.0], 12.0, 0.0, 60.0);
        assert_eq!(got, [10.0, 22.0, 34.0, 50.0]);
        let got = spread(&[59.0, 60.0], 12.0, 0.0, 60.0);
        assert_eq!(got, [48.0, 60.0]);
    }

    #[test]
    fn text_cannot_break_out() {
        let mut canvas = Canvas::new(10.0, "a \"b\"");
        canvas.text("t", (0.0, 0.0), "<script>&");
        let text = canvas.finish();
        assert!(text.contains("&lt;script&gt;&amp;") && text.contains("a &quot;b&quot;"));
    }
}
