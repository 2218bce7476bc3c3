//! harness/src/stats/shape.rs: what a set of samples looks like. Question: is one number a fair
//! headline for these, and if not, what must be said beside it?
//!
//! # Invariants
//! - A description never changes the data: outliers are counted, and stay.
//! - Differences of up to two clock steps are never news.

use super::order::{mad, median, sorted};

/// What must be said beside the median of a series.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Fewer samples than any statement needs.
    TooFew {
        /// How many there are.
        n: usize,
    },
    /// Two modes more than 1.5 times apart, each with more than 10 % of the samples.
    TwoGroups {
        /// Median and share (0 to 1) of the faster mode.
        low: (f64, f64),
        /// Median and share of the slower mode.
        high: (f64, f64),
    },
    /// One mode with a few far values, all of them kept.
    Outliers {
        /// How many.
        count: usize,
        /// Of how many.
        n: usize,
        /// The farthest, as a multiple of the median.
        farthest: f64,
    },
    /// One mode; the median says it.
    Plain,
}

/// Below this many samples there is no description.
const LEAST: usize = 5;
/// Two modes closer than this factor are one.
const APART: f64 = 1.5;
/// A mode has more than this share.
const SHARE: f64 = 0.10;
/// Farther from the median than this many robust standard deviations is an outlier ...
const FAR: f64 = 10.0;
/// ... if it is also off by at least this share of the median.
const FAR_SHARE: f64 = 0.25;

/// Describes positive `samples` measured with a clock of step `tick` (same unit). O(n log n).
pub fn describe(samples: &[f64], tick: f64) -> Shape {
    let n = samples.len();
    if n < LEAST {
        return Shape::TooFew { n };
    }
    let s = sorted(samples);
    if let Some(split) = widest_gap(&s, tick) {
        let (low, high) = s.split_at(split);
        let mid = |part: &[f64]| median(part).unwrap_or(0.0);
        let share = |part: &[f64]| part.len() as f64 / n as f64;
        if share(low) > SHARE && share(high) > SHARE && mid(high) > APART * mid(low) {
            return Shape::TwoGroups {
                low: (mid(low), share(low)),
                high: (mid(high), share(high)),
            };
        }
    }
    outliers(&s, tick)
}

/// Where the largest jump between neighbours, as a factor, splits the sorted samples. `None` if no
/// jump exceeds both two ticks and a tenth.
fn widest_gap(s: &[f64], tick: f64) -> Option<usize> {
    let inner = |i: &usize| {
        let (edge, n) = (*i as f64, s.len() as f64);
        edge > SHARE * n && edge < (1.0 - SHARE) * n
    };
    let factor = |i: usize| s[i] / s[i - 1].max(f64::MIN_POSITIVE);
    let at = (1..s.len()).filter(inner).max_by(|a, b| factor(*a).total_cmp(&factor(*b)))?;
    (s[at] - s[at - 1] > 2.0 * tick && factor(at) > 1.1).then_some(at)
}

fn outliers(s: &[f64], tick: f64) -> Shape {
    let (Some(mid), Some(spread)) = (median(s), mad(s)) else { return Shape::Plain };
    let limit = (FAR * 1.4826 * spread).max(FAR_SHARE * mid).max(2.0 * tick);
    let far = s.iter().filter(|v| (*v - mid).abs() > limit);
    let count = far.clone().count();
    if count == 0 || mid <= 0.0 {
        return Shape::Plain;
    }
    let farthest = far.map(|v| v / mid).max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()));
    Shape::Outliers { count, n: s.len(), farthest: farthest.unwrap_or(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FC-38, first case.
    #[test]
    fn fc38_five_short_and_five_long_are_two_groups() {
        let samples = [11.0, 11.0, 11.0, 11.0, 11.0, 765.0, 765.0, 765.0, 765.0, 765.0];
        let want = Shape::TwoGroups { low: (11.0, 0.5), high: (765.0, 0.5) };
        assert_eq!(describe(&samples, 0.001), want);
    }

    /// FC-38, second case: one sample off by one clock step is no news.
    #[test]
    fn fc38_one_clock_step_is_not_a_warning() {
        let mut samples = vec![0.5; 50];
        samples.push(0.6);
        assert_eq!(describe(&samples, 0.1), Shape::Plain);
    }

    /// FC-38, third case: counted, kept.
    #[test]
    fn fc38_one_outlier_in_a_hundred_is_counted() {
        let mut samples: Vec<f64> = (0..99).map(|i| 10.0 + f64::from(i % 7) * 0.05).collect();
        samples.push(101.5);
        match describe(&samples, 0.001) {
            Shape::Outliers { count: 1, n: 100, farthest } => {
                assert!((farthest - 10.0).abs() < 0.2)
            }
            other => panic!("{other:?}"),
        }
    }

    /// FC-38, fourth case.
    #[test]
    fn fc38_three_samples_are_too_few() {
        assert_eq!(describe(&[1.0, 2.0, 3.0], 0.1), Shape::TooFew { n: 3 });
    }

    #[test]
    fn a_mode_of_a_tenth_or_less_is_outliers_not_a_group() {
        let mut samples = vec![10.0; 95];
        samples.extend([30.0; 5]);
        assert!(matches!(describe(&samples, 0.1), Shape::Outliers { count: 5, n: 100, .. }));
    }

    #[test]
    fn an_even_spread_is_one_mode() {
        let samples: Vec<f64> = (0..60).map(|i| 10.0 + f64::from(i) * 0.2).collect();
        assert_eq!(describe(&samples, 0.01), Shape::Plain);
    }
}
