//! gosteal: a goroutine per chunk, results by join; as a Go program with a goroutine per range.
use super::{Input, count_primes};
use crate::drive::Outcome;
use crate::runtimes::gosteal::joined;

pub(super) fn run(input: Input) -> Outcome {
    let spawned: Vec<_> =
        (0..input.chunks).map(|i| gosteal::spawn(move || count_primes(input.chunk(i)))).collect();
    let units = spawned.len() as u64;
    Outcome::new(spawned.into_iter().map(joined).sum(), units)
}
