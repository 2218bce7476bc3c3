//! tokio: a task per chunk, handles awaited in order (tokio.rs/tokio/tutorial/spawning).
use super::{Input, count_primes};
use crate::drive::Outcome;

pub(super) async fn run(input: Input) -> Outcome {
    let spawned: Vec<_> = (0..input.chunks)
        .map(|i| tokio::spawn(async move { count_primes(input.chunk(i)) }))
        .collect();
    let units = spawned.len() as u64;
    let mut primes = 0;
    for task in spawned {
        primes += task.await.expect("a chunk panicked");
    }
    Outcome::new(primes, units)
}
