//! gosteal: a goroutine a task; `shared` is a worker pool, as Go programs write it.
use std::sync::Arc;

use super::{Input, Lane, Round};
use crate::drive::Outcome;
use crate::runtimes::gosteal::joined;
use gosteal::JoinHandle;

pub(super) fn run(input: &Arc<Input>, lane: Lane) -> Outcome {
    let round = Round::open(input);
    let sum = match lane {
        Lane::Stealing => joined_all(start(&round, 0..round.tasks())),
        Lane::Skewed => {
            let loaders = per_worker(&round, |round, w| {
                round.meet();
                start(round, round.input.share(w))
            });
            loaders.into_iter().map(joined).map(joined_all).fold(0, u64::wrapping_add)
        }
        Lane::Shared => joined_all(per_worker(&round, |round, _| round.drain())),
    };
    round.outcome(sum)
}

fn start(round: &Arc<Round>, tasks: impl IntoIterator<Item = usize>) -> Vec<JoinHandle<u64>> {
    let task = |i| {
        let round = Arc::clone(round);
        gosteal::spawn(move || round.task(i))
    };
    tasks.into_iter().map(task).collect()
}

fn per_worker<T: Send + 'static>(
    round: &Arc<Round>,
    job: fn(&Arc<Round>, usize) -> T,
) -> Vec<JoinHandle<T>> {
    let one = |w| {
        let round = Arc::clone(round);
        gosteal::spawn(move || job(&round, w))
    };
    (0..round.input.workers).map(one).collect()
}

fn joined_all(tasks: Vec<JoinHandle<u64>>) -> u64 {
    tasks.into_iter().map(joined).fold(0, u64::wrapping_add)
}
