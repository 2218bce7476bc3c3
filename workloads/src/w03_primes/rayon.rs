//! rayon: a scope with a job per chunk (docs.rs/rayon, `scope`). A parallel iterator would be
//! shorter, but rayon would then choose the number of jobs, and that number is the parameter.
use super::{Input, count_primes};
use crate::drive::Outcome;

pub(super) fn run(input: Input) -> Outcome {
    let mut primes = vec![0; input.chunks as usize];
    rayon::scope(|scope| {
        for (i, slot) in (0..).zip(&mut primes) {
            scope.spawn(move |_| *slot = count_primes(input.chunk(i)));
        }
    });
    Outcome::new(primes.iter().sum(), primes.len() as u64)
}
