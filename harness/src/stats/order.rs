//! harness/src/stats/order.rs: order statistics. Question: where is the middle, and between which two
//! of the samples does the true median lie with at least the asked confidence?

use super::binomial::two_sided_coverage;

/// An estimate with the interval that goes with it. All three in the unit of the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The median of the samples.
    pub estimate: f64,
    /// Lower end, one of the samples.
    pub lo: f64,
    /// Upper end, one of the samples.
    pub hi: f64,
    /// The exact coverage of the median, at least what was asked for.
    pub confidence: f64,
}

/// A sorted copy. O(n log n), allocates.
///
/// # Panics
/// If a value is not finite: such a value must have been refused where it entered.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    assert!(values.iter().all(|v| v.is_finite()), "a sample is not finite");
    let mut copy = values.to_vec();
    copy.sort_by(f64::total_cmp);
    copy
}

/// The median; the mean of the middle two for an even count. `None` for no data.
pub fn median(values: &[f64]) -> Option<f64> {
    let s = sorted(values);
    let n = s.len();
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(s[n / 2]),
        _ => Some(0.5 * (s[n / 2 - 1] + s[n / 2])),
    }
}

/// The `q`-quantile (0 to 1) by linear interpolation between samples. `None` for no data.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let s = sorted(values);
    let last = s.len().checked_sub(1)?;
    let at = q.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (s[at.floor() as usize], s[at.ceil() as usize]);
    Some(below + (above - below) * (at - at.floor()))
}

/// Median of the distances from the median, unscaled. `None` for no data.
pub fn mad(values: &[f64]) -> Option<f64> {
    let m = median(values)?;
    median(&values.iter().map(|v| (v - m).abs()).collect::<Vec<_>>())
}

/// The median with the narrowest symmetric interval of order statistics that covers at least
/// `confidence`. Exact for any continuous distribution. `None` while there are too few samples for
/// any such interval: at 99 %, fewer than 8.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let s = sorted(values);
    let n = s.len();
    let j = (1..=n / 2).rev().find(|&j| two_sided_coverage(n, j) >= confidence)?;
    Some(Interval {
        estimate: median(&s)?,
        lo: s[j - 1],
        hi: s[n - j],
        confidence: two_sided_coverage(n, j),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_even_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(mad(&[1.0, 1.0, 4.0]), Some(0.0));
        assert_eq!(quantile(&[1.0, 3.0], 0.25), Some(1.5));
    }

    #[test]
    fn seven_samples_cannot_carry_99_percent_and_eight_can() {
        let eight: Vec<f64> = (1..=8).map(f64::from).collect();
        assert!(median_interval(&eight[..7], 0.99).is_none());
        let got = median_interval(&eight, 0.99).unwrap();
        assert_eq!((got.lo, got.hi, got.estimate), (1.0, 8.0, 4.5));
        assert!(got.confidence >= 0.99);
    }

    /// Goal: the claimed coverage is the real one. Method: every way in which 9 samples can fall on
    /// the two sides of the true median is equally likely; count those whose interval holds it.
    #[test]
    fn coverage_claimed_equals_coverage_counted_over_all_sign_patterns() {
        for n in [8usize, 9, 11, 12] {
            let mut hits = 0u32;
            let mut claimed = 0.0;
            for bits in 0u32..1 << n {
                let signs: Vec<f64> = (0..n)
                    .map(|i| (i as f64 + 1.0) * if bits >> i & 1 == 1 { 1.0 } else { -1.0 })
                    .collect();
                let got = median_interval(&signs, 0.95).unwrap();
                claimed = got.confidence;
                hits += u32::from(got.lo <= 0.0 && 0.0 <= got.hi);
            }
            let counted = f64::from(hits) / f64::from(1u32 << n);
            assert!((counted - claimed).abs() < 1e-12, "n={n}: {counted} against {claimed}");
        }
    }

    #[test]
    #[should_panic(expected = "not finite")]
    fn a_value_that_is_not_a_number_is_refused() {
        sorted(&[1.0, f64::NAN]);
    }
}
