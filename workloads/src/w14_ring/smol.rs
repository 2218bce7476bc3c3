//! smol: a task a link, channels of capacity 1 (docs.rs/smol, `channel`).
//! The ring comes down when the holder ends and its sender is dropped.
use super::{Input, Link, outcome};
use crate::drive::Outcome;
use crate::runtimes::smol::EXECUTOR;
use smol::channel::{self, Receiver, Sender};

pub(super) async fn run(input: Input) -> Outcome {
    let (first, mut rx) = channel::bounded(1);
    let mut tasks = Vec::with_capacity(input.tasks);
    for _ in 1..input.tasks {
        let (tx, next) = channel::bounded(1);
        let from = std::mem::replace(&mut rx, next);
        tasks.push(EXECUTOR.spawn(link(from, tx)));
    }
    tasks.push(EXECUTOR.spawn(link(rx, first.clone())));
    first.send(input.hops).await.expect("the ring is closed");
    drop(first);
    let mut links = Vec::with_capacity(tasks.len());
    for task in tasks {
        links.push(task.await);
    }
    outcome(links.into_iter())
}

async fn link(from: Receiver<u64>, to: Sender<u64>) -> Link {
    let mut made = 0;
    while let Ok(left) = from.recv().await {
        if left == 0 {
            return (true, made);
        }
        to.send(left - 1).await.expect("the next one listens");
        made += 1;
    }
    (false, made)
}
