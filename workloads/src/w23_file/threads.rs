//! threads: a contiguous block of tasks for each thread; a thread that reads blocks.
use super::Input;
use crate::drive::Outcome;
use crate::runtimes::threads::split;

pub(super) fn run(input: &Input, workers: usize) -> Outcome {
    let border = |t: usize| input.tasks * t as u64 / workers as u64;
    let share = |t: usize| (border(t)..border(t + 1)).map(|_| input.whole()).sum::<u64>();
    Outcome::inline(split(workers, share).into_iter().sum(), input.tasks)
}
