//! harness/src/stats/binomial.rs: fair-coin counts. Question: how likely is a split at least this
//! uneven if either side of zero is equally likely? Exact sums; no normal approximation anywhere.

/// Chance of exactly `k` heads in `n` fair tosses. O(n). Exact to about 1e-12 for `n` to 1,000.
fn fair(n: usize, k: usize) -> f64 {
    // In logs: 2^-n underflows where n passes 1,000.
    let choose: f64 = (0..k).map(|i| ((n - i) as f64).ln() - ((i + 1) as f64).ln()).sum();
    (choose - n as f64 * std::f64::consts::LN_2).exp()
}

/// Chance of at most `k` heads in `n` fair tosses. O(n²).
pub(super) fn at_most(n: usize, k: usize) -> f64 {
    (0..=k.min(n)).map(|i| fair(n, i)).sum::<f64>().min(1.0)
}

/// How surely the interval from the `j`-th smallest to the `j`-th largest of `n` samples (`j` from 1)
/// covers the median of a continuous distribution. 0 where the two cross.
pub fn two_sided_coverage(n: usize, j: usize) -> f64 {
    if j == 0 || 2 * j > n {
        return 0.0;
    }
    1.0 - 2.0 * at_most(n, j - 1)
}

/// Two-sided sign test: chance of a split at least this uneven if the median is zero. Zeros are left
/// out, as the test asks for. 1 for no data.
pub fn sign_test_two_sided(values: &[f64]) -> f64 {
    let up = values.iter().filter(|v| **v > 0.0).count();
    let down = values.iter().filter(|v| **v < 0.0).count();
    (2.0 * at_most(up + down, up.min(down))).min(1.0)
}

/// One-sided sign test of "the median is at most `bound`": small where most values lie above it.
pub fn sign_test_greater(values: &[f64], bound: f64) -> f64 {
    let up = values.iter().filter(|v| **v > bound).count();
    let down = values.iter().filter(|v| **v < bound).count();
    at_most(up + down, down)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts every outcome of n tosses.
    fn brute_at_most(n: usize, k: usize) -> f64 {
        let hits = (0u32..1 << n).filter(|bits| bits.count_ones() as usize <= k).count();
        hits as f64 / f64::from(1u32 << n)
    }

    #[test]
    fn at_most_equals_counting_every_outcome() {
        for n in 0..=14 {
            for k in 0..=n {
                assert!((at_most(n, k) - brute_at_most(n, k)).abs() < 1e-12, "n={n} k={k}");
            }
        }
    }

    #[test]
    fn coverage_of_extremes_is_one_minus_two_to_the_minus_n_minus_one() {
        assert!((two_sided_coverage(8, 1) - (1.0 - 1.0 / 128.0)).abs() < 1e-12);
        assert_eq!(two_sided_coverage(3, 2), 0.0);
        assert!((two_sided_coverage(1000, 460) - 0.9884).abs() < 2e-3, "no underflow at n = 1,000");
    }

    #[test]
    fn sign_tests_count_sides_and_ignore_zeros() {
        let eight_up = [1.0; 8];
        assert!((sign_test_two_sided(&eight_up) - 2.0 / 256.0).abs() < 1e-12);
        assert!((sign_test_greater(&eight_up, 0.5) - 1.0 / 256.0).abs() < 1e-12);
        assert_eq!(sign_test_two_sided(&[0.0, 0.0]), 1.0);
        assert_eq!(sign_test_two_sided(&[1.0, -1.0, 0.0]), 1.0);
        assert_eq!(sign_test_two_sided(&[]), 1.0);
    }
}
