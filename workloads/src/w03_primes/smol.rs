//! smol: a task per chunk, awaited in order (docs.rs/smol, `Executor::spawn`).
use super::{Input, count_primes};
use crate::drive::Outcome;
use crate::runtimes::smol::EXECUTOR;

pub(super) async fn run(input: Input) -> Outcome {
    let spawned: Vec<_> = (0..input.chunks)
        .map(|i| EXECUTOR.spawn(async move { count_primes(input.chunk(i)) }))
        .collect();
    let units = spawned.len() as u64;
    let mut primes = 0;
    for task in spawned {
        primes += task.await;
    }
    Outcome::new(primes, units)
}
