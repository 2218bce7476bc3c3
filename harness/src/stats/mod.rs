//! harness/src/stats/mod.rs: what samples say. Question: which statements about a ratio of times are
//! justified by these numbers, assuming nothing about their distribution?
//!
//! # Invariants
//! - Pure: no I/O, no clock, no randomness, no printing. The same numbers give the same answer.
//! - Nothing is dropped, trimmed or clipped away: what is unusual is described, never removed.
//! - Non-finite input is a caller's bug and panics in `sorted`; nothing else panics.
//! # Not here
//! Means of samples, Student and Welch, percentile bootstrap: measured on recorded sessions, their
//! intervals missed the truth more often than they claim, or were several times wider.

mod binomial;
mod block;
mod order;
mod rank;
mod shape;
mod warm;

pub use binomial::{sign_test_greater, sign_test_two_sided, two_sided_coverage};
pub use block::{Block, epoch_value, huber_location};
pub use order::{Interval, mad, median, median_interval, quantile, sorted};
pub use rank::{hodges_lehmann, spearman};
pub use shape::{Shape, describe};
pub use warm::{Steady, steady};
