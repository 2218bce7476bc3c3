//! harness/src/stats/rank.rs: second opinions. Question: does another robust estimator agree, and does
//! a series drift?

use super::order::median;

/// Median of all pairwise means, each value with itself included. O(n² log n). `None` for no data.
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    let pairs = values
        .iter()
        .enumerate()
        .flat_map(|(i, a)| values[i..].iter().map(move |b| 0.5 * (a + b)))
        .collect::<Vec<_>>();
    median(&pairs)
}

/// Ranks from 1, ties share their mean rank. O(n²); series here are short.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |v: &f64| {
        let below = values.iter().filter(|w| *w < v).count() as f64;
        let equal = values.iter().filter(|w| *w == v).count() as f64;
        below + 0.5 * (equal + 1.0)
    };
    values.iter().map(rank).collect()
}

/// Spearman's correlation of a series with its index, -1 to 1. 0 for a constant or a short series.
pub fn spearman(series: &[f64]) -> f64 {
    let n = series.len() as f64;
    if n < 3.0 {
        return 0.0;
    }
    let mid = 0.5 * (n + 1.0);
    let (mut cov, mut var_rank, mut var_index) = (0.0, 0.0, 0.0);
    for (i, r) in ranks(series).into_iter().enumerate() {
        let (dr, di) = (r - mid, (i + 1) as f64 - mid);
        cov += dr * di;
        var_rank += dr * dr;
        var_index += di * di;
    }
    if var_rank == 0.0 { 0.0 } else { cov / (var_rank * var_index).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hodges_lehmann_of_small_sets_by_hand() {
        // Pair means of 1, 2, 10: 1, 1.5, 5.5, 2, 6, 10.
        assert_eq!(hodges_lehmann(&[1.0, 2.0, 10.0]), Some(3.75));
        assert_eq!(hodges_lehmann(&[5.0]), Some(5.0));
        assert_eq!(hodges_lehmann(&[]), None);
    }

    #[test]
    fn spearman_sees_monotone_drift_and_nothing_in_constants() {
        assert!((spearman(&[1.0, 2.0, 4.0, 9.0]) - 1.0).abs() < 1e-12);
        assert!((spearman(&[9.0, 4.0, 2.0, 1.0]) + 1.0).abs() < 1e-12);
        assert_eq!(spearman(&[3.0; 9]), 0.0);
        assert!((spearman(&[1.0, 3.0, 2.0]) - 0.5).abs() < 1e-12);
    }
}
