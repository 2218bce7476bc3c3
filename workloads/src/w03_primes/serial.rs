//! serial: the chunks in order.
use super::{Input, count_primes};
use crate::drive::Outcome;

pub(super) fn run(input: Input) -> Outcome {
    let primes = (0..input.chunks).map(|i| count_primes(input.chunk(i))).sum();
    Outcome::inline(primes, input.chunks)
}
