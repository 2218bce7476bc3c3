//! threads: a contiguous block of chunks for each thread.
use super::{Input, count_primes};
use crate::drive::Outcome;
use crate::runtimes::threads::split;

pub(super) fn run(input: Input, workers: usize) -> Outcome {
    let border = |t: usize| input.chunks * t as u64 / workers as u64;
    let share =
        |t: usize| (border(t)..border(t + 1)).map(|i| count_primes(input.chunk(i))).sum::<u64>();
    Outcome::inline(split(workers, share).into_iter().sum(), input.chunks)
}
