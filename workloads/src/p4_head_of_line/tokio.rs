//! tokio: a task a task (tokio.rs/tokio/tutorial/spawning); the loaders of the skewed lane hand their tasks' handles back.
use std::sync::Arc;

use super::{Input, Lane, Round};
use crate::drive::Outcome;
use tokio::task::JoinHandle;

pub(super) async fn run(input: Arc<Input>, lane: Lane) -> Outcome {
    let round = Round::open(&input);
    let sum = match lane {
        Lane::Stealing => all(start(&round, 0..round.tasks())).await,
        Lane::Skewed => {
            let loaders = per_worker(&round, |round, w| {
                round.meet();
                start(round, round.input.share(w))
            });
            let mut sum = 0u64;
            for loader in loaders {
                sum = sum.wrapping_add(all(loader.await.expect("a task panicked")).await);
            }
            sum
        }
        Lane::Shared => all(per_worker(&round, |round, _| round.drain())).await,
    };
    round.outcome(sum)
}

fn start(round: &Arc<Round>, tasks: impl IntoIterator<Item = usize>) -> Vec<JoinHandle<u64>> {
    let task = |i| {
        let round = Arc::clone(round);
        tokio::spawn(async move { round.task(i) })
    };
    tasks.into_iter().map(task).collect()
}

fn per_worker<T: Send + 'static>(
    round: &Arc<Round>,
    job: fn(&Arc<Round>, usize) -> T,
) -> Vec<JoinHandle<T>> {
    let one = |w| {
        let round = Arc::clone(round);
        tokio::spawn(async move { job(&round, w) })
    };
    (0..round.input.workers).map(one).collect()
}

async fn all(tasks: Vec<JoinHandle<u64>>) -> u64 {
    let mut sum = 0u64;
    for task in tasks {
        sum = sum.wrapping_add(task.await.expect("a task panicked"));
    }
    sum
}
