//! harness/src/figure.rs: how figures are written for people. Question: does the text say what was
//! measured, in a unit that suits it, with neither false precision nor a false zero?
//!
//! # Invariants
//! - At least three significant digits; a value that is not zero is never written as zero.
//! - The unit is chosen after rounding: 999.96 µs is 1.00 ms.
//! - The only formatter: table, Markdown, HTML and pictures call it. Machine formats hold plain numbers.

use crate::stats::Interval;

/// Units of time, in ns.
const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// A time given in ns: `1.46 µs`.
pub fn time(ns: f64) -> String {
    let fits = |(_, size): &&(&str, f64)| rounded(ns.abs() / size, 3) < 1000.0;
    let (unit, size) = UNITS.iter().find(fits).unwrap_or(&UNITS[3]);
    format!("{} {unit}", digits(ns / size, 3))
}

/// A time with its interval in one unit: `1.46 µs [1.40, 1.52]`.
pub fn time_interval(ns: f64, interval: Option<&Interval>) -> String {
    let Some(i) = interval else { return time(ns) };
    let fits = |(_, size): &&(&str, f64)| rounded(ns.abs() / size, 3) < 1000.0;
    let (unit, size) = UNITS.iter().find(fits).unwrap_or(&UNITS[3]);
    let n = |v: f64| digits(v / size, 3);
    format!("{} {unit} [{}, {}]", n(ns), n(i.lo), n(i.hi))
}

/// A ratio: `1.32`.
pub fn ratio(r: f64) -> String {
    digits(r, 3)
}

/// A ratio with its interval, in as many digits as it takes to tell the three apart: at least three
/// in the estimate, at most five. `1.32 [1.28, 1.37]`, `0.9996 [0.9981, 1.0012]`.
pub fn ratio_interval(i: &Interval) -> String {
    let all = |d: usize| {
        let after = decimals(rounded(i.estimate, d), d);
        [i.estimate, i.lo, i.hi].map(|v| fixed(v, after))
    };
    let apart = |d: &usize| {
        let [estimate, lo, hi] = all(*d);
        lo != estimate && estimate != hi
    };
    let d = (3..=5).find(apart).unwrap_or(if i.lo == i.hi { 3 } else { 5 });
    let [estimate, lo, hi] = all(d);
    format!("{estimate} [{lo}, {hi}]")
}

/// A share as per cent: `1.25 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", digits(100.0 * share, 3))
}

/// A whole number with separators: `664,579`.
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// A length of time for people, given in seconds: `2 min 05 s`.
pub fn duration(seconds: f64) -> String {
    let s = seconds.round().max(0.0) as u64;
    match s {
        0..60 => format!("{s} s"),
        60..3600 => format!("{} min {:02} s", s / 60, s % 60),
        _ => format!("{} h {:02} min", s / 3600, s / 60 % 60),
    }
}

/// `value` rounded to `n` significant digits.
fn rounded(value: f64, n: usize) -> f64 {
    format!("{value:.*e}", n.saturating_sub(1)).parse().unwrap_or(value)
}

/// `value` in plain notation with `n` significant digits, or more before the point if it is large.
fn digits(value: f64, n: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_string() } else { "n/a".to_string() };
    }
    let value = rounded(value, n);
    grouped(&format!("{value:.*}", decimals(value, n)))
}

/// Digits after the point that give `value` `n` significant ones.
fn decimals(value: f64, n: usize) -> usize {
    let before = value.abs().log10().floor() as i32 + 1;
    (n as i32 - before).max(0) as usize
}

/// `value` with `after` digits after the point, or more where that would write a false zero.
fn fixed(value: f64, after: usize) -> String {
    let text = format!("{value:.after$}");
    if value != 0.0 && text.parse() == Ok(0.0) { digits(value, 3) } else { grouped(&text) }
}

/// Separators between thousands in the whole part.
fn grouped(text: &str) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, whole) = whole.split_at(usize::from(whole.starts_with('-')));
    let mut out = String::from(sign);
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(lo: f64, estimate: f64, hi: f64) -> Interval {
        Interval { estimate, lo, hi, confidence: 0.99 }
    }

    /// FC-80, times: each its own unit, three digits, none of them zero.
    #[test]
    fn fc80_times_have_their_own_unit_and_three_digits() {
        let cases = [
            (1_460.0, "1.46 µs"),
            (1_160_000.0, "1.16 ms"),
            (0.8, "0.800 ns"),
            (999_960.0, "1.00 ms"),
            (999_400.0, "999 µs"),
            (59.99e9, "60.0 s"),
            (3_600e9, "3,600 s"),
            (0.000_123, "0.000123 ns"),
            (0.0, "0 ns"),
        ];
        for (ns, want) in cases {
            assert_eq!(time(ns), want);
        }
    }

    /// FC-80, ratios.
    #[test]
    fn fc80_ratios_near_one_show_their_interval_apart() {
        assert_eq!(ratio(0.001), "0.00100");
        assert_eq!(ratio(1_000.0), "1,000");
        assert_eq!(ratio_interval(&interval(0.9981, 0.9996, 1.0012)), "0.9996 [0.9981, 1.0012]");
        assert_eq!(ratio_interval(&interval(0.9999, 1.0004, 1.0009)), "1.0004 [0.9999, 1.0009]");
        assert_eq!(ratio_interval(&interval(1.281, 1.324, 1.367)), "1.32 [1.28, 1.37]");
        assert_eq!(ratio_interval(&interval(1.0, 1.0, 1.0)), "1.00 [1.00, 1.00]");
    }

    #[test]
    fn intervals_of_times_share_the_unit_of_the_estimate() {
        let i = interval(900.0, 1_100.0, 1_300.0);
        assert_eq!(time_interval(1_100.0, Some(&i)), "1.10 µs [0.900, 1.30]");
        assert_eq!(time_interval(1_100.0, None), "1.10 µs");
    }

    #[test]
    fn counts_and_durations_read_well() {
        assert_eq!(count(664_579), "664,579");
        assert_eq!(count(12), "12");
        assert_eq!(percent(0.0125), "1.25 %");
        assert_eq!(duration(59.6), "1 min 00 s");
        assert_eq!(duration(7_384.0), "2 h 03 min");
        assert_eq!(digits(-1234.5, 3), "-1,230");
    }
}
