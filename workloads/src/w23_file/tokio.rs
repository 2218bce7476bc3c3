//! tokio: `tokio::fs`, which is `spawn_blocking` underneath (docs.rs/tokio, `fs`); naive blocks the worker.
use super::{Input, parse};
use crate::drive::Outcome;

pub(super) async fn run(input: Input, naive: bool) -> Outcome {
    let tasks: Vec<_> =
        (0..input.tasks).map(|_| tokio::spawn(task(input.clone(), naive))).collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.expect("a task panicked");
    }
    Outcome::new(sum, input.tasks)
}

async fn task(input: Input, naive: bool) -> u64 {
    let value = input.first_half();
    let read = if naive {
        input.read()
    } else {
        parse(&tokio::fs::read_to_string(&input.file.0).await.expect("the file is there"))
    };
    input.second_half(value, read)
}
