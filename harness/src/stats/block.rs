//! harness/src/stats/block.rs: from four times to one number an epoch. Question: by how much does X
//! differ from the reference R in this epoch, when both ran in palindromes and some blocks were noisy?
//!
//! # Invariants
//! - The noise of a block is symmetric in the two sides, so weighing by it cannot favour either.
//! - A palindrome cancels any linear drift of log time; `linear_drift_cancels` proves it on numbers.

use super::order::median;

/// One palindromic block for a pair, in natural logs of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Mean log time of X minus mean log time of R.
    pub d: f64,
    /// Replicate noise: half of the sum of both sides' absolute differences, blind to which is which.
    pub s: f64,
}

impl Block {
    /// From the two times of each side, in ns. `None` if a time is zero: nothing was measured.
    pub fn of(x: [u64; 2], r: [u64; 2]) -> Option<Block> {
        if x.contains(&0) || r.contains(&0) {
            return None;
        }
        let log = |t: u64| (t as f64).ln();
        let (x1, x2, r1, r2) = (log(x[0]), log(x[1]), log(r[0]), log(r[1]));
        Some(Block {
            d: 0.5 * (x1 + x2) - 0.5 * (r1 + r2),
            s: 0.5 * ((x1 - x2).abs() + (r1 - r2).abs()),
        })
    }
}

/// Tuning constant of Huber's function: 95 % efficient on normal data.
const HUBER_K: f64 = 1.345;
/// More rounds than this change nothing in the 12th digit.
const ROUNDS: usize = 200;

/// Huber's location of `values`, each with its own scale, by reweighting. A value at most 1.345
/// scales away counts by 1/scale², one farther away with bounded pull. Starts from the median.
/// `None` for no data; scales of zero count as the smallest positive one, or all alike.
pub fn huber_location(values: &[f64], scales: &[f64]) -> Option<f64> {
    assert_eq!(values.len(), scales.len(), "one scale a value");
    let mut at = median(values)?;
    let least = scales.iter().copied().filter(|s| *s > 0.0).fold(f64::INFINITY, f64::min);
    let least = if least.is_finite() { least } else { 1.0 };
    for _ in 0..ROUNDS {
        let (mut sum, mut weight) = (0.0, 0.0);
        for (v, s) in values.iter().zip(scales) {
            let s = s.max(least);
            let far = (v - at).abs() / s;
            let w = if far <= HUBER_K { 1.0 } else { HUBER_K / far } / (s * s);
            sum += w * v;
            weight += w;
        }
        let next = sum / weight;
        if (next - at).abs() <= 1e-12 * (1.0 + at.abs()) {
            return Some(next);
        }
        at = next;
    }
    Some(at)
}

/// One epoch's log ratio: Huber location of its blocks, block b with scale √(s_b² + (½·median s)²).
/// `None` for no blocks. O(blocks · rounds).
pub fn epoch_value(blocks: &[Block]) -> Option<f64> {
    let noise: Vec<f64> = blocks.iter().map(|b| b.s).collect();
    let floor = 0.5 * median(&noise)?;
    let scales: Vec<f64> = noise.iter().map(|s| s.hypot(floor)).collect();
    huber_location(&blocks.iter().map(|b| b.d).collect::<Vec<_>>(), &scales)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The minimum of Huber's loss on a fine grid.
    fn brute(values: &[f64], scales: &[f64]) -> f64 {
        let loss = |at: f64| -> f64 {
            let one = |(v, s): (&f64, &f64)| {
                let r = ((v - at) / s).abs();
                if r <= HUBER_K { 0.5 * r * r } else { HUBER_K * r - 0.5 * HUBER_K * HUBER_K }
            };
            values.iter().zip(scales).map(one).sum()
        };
        (0..=40_000)
            .map(|i| -2.0 + f64::from(i) * 1e-4)
            .min_by(|a, b| loss(*a).total_cmp(&loss(*b)))
            .unwrap()
    }

    #[test]
    fn location_is_the_minimum_of_hubers_loss() {
        let cases: [(&[f64], &[f64]); 3] = [
            (&[0.1, 0.12, 0.09, 1.5], &[0.02, 0.02, 0.02, 0.02]),
            (&[0.0, 0.3, -0.2, 0.1, 0.05], &[0.1, 0.5, 0.2, 0.05, 0.1]),
            (&[1.0, -1.0], &[1.0, 1.0]),
        ];
        for (values, scales) in cases {
            let got = huber_location(values, scales).unwrap();
            assert!((got - brute(values, scales)).abs() < 2e-4, "{values:?}: {got}");
        }
    }

    #[test]
    fn linear_drift_cancels() {
        // Order X R R X while the machine slows by 3 % a slot: true ratio 1.
        let level = |slot: i32| (1e7 * (0.03 * f64::from(slot)).exp()).round() as u64;
        let block = Block::of([level(0), level(3)], [level(1), level(2)]).unwrap();
        assert!(block.d.abs() < 1e-6, "{block:?}");
    }

    #[test]
    fn swapping_sides_flips_the_sign_and_keeps_the_noise() {
        let a = Block::of([110, 120], [100, 90]).unwrap();
        let b = Block::of([100, 90], [110, 120]).unwrap();
        assert_eq!((a.d, a.s), (-b.d, b.s));
    }

    #[test]
    fn quiet_blocks_outweigh_noisy_ones_and_zero_noise_is_no_division_by_zero() {
        let quiet = Block { d: 0.10, s: 0.001 };
        let noisy = Block { d: 0.50, s: 0.30 };
        assert!((epoch_value(&[quiet, quiet, noisy]).unwrap() - 0.10).abs() < 0.01);
        let silent = epoch_value(&[Block { d: 0.2, s: 0.0 }; 3]).unwrap();
        assert!((silent - 0.2).abs() < 1e-12);
        assert_eq!(epoch_value(&[]), None);
        assert_eq!(Block::of([0, 1], [1, 1]), None);
    }
}
