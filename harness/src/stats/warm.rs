//! harness/src/stats/warm.rs: has a process settled? Question: may timing start?

use super::order::{mad, median};

/// The answer about the last `window` samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steady {
    /// Fewer samples than the window.
    NotYet,
    /// Still moving.
    Moving,
    /// The two halves of the window agree.
    Steady,
}

/// Whether the medians of the two halves of the last `window` samples differ by less than 2 % or by
/// less than the window's median absolute deviation. O(window log window).
pub fn steady(samples: &[f64], window: usize) -> Steady {
    let Some(from) = samples.len().checked_sub(window).filter(|_| window >= 2) else {
        return Steady::NotYet;
    };
    let last = &samples[from..];
    let (a, b) = last.split_at(window / 2);
    let (Some(a), Some(b), Some(spread)) = (median(a), median(b), mad(last)) else {
        return Steady::NotYet;
    };
    let moved = (a - b).abs();
    if moved < 0.02 * a.min(b) || moved < spread { Steady::Steady } else { Steady::Moving }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_a_full_window_and_two_halves_that_agree() {
        assert_eq!(steady(&[1.0; 7], 8), Steady::NotYet);
        assert_eq!(steady(&[1.0; 8], 8), Steady::Steady);
        assert_eq!(steady(&[9.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 8), Steady::Steady);
        let falling = [8.0, 7.9, 7.8, 7.7, 4.0, 3.9, 3.8, 3.7];
        assert_eq!(steady(&falling, 8), Steady::Moving);
    }
}
