//! async-std: tasks awaited in order (docs.rs/async-std, `task::spawn`); the end of a chain is
//! a channel.
use super::{Ran, outside};
use crate::drive::Outcome;
use async_std::task;

pub(super) async fn local(tasks: u64) -> Outcome {
    let ran = Ran::default();
    let mut started = Vec::with_capacity(tasks as usize);
    for _ in 0..tasks {
        let ran = ran.clone();
        started.push(task::spawn(async move { ran.task() }));
    }
    for task in started {
        task.await;
    }
    ran.outcome(tasks)
}

pub(super) fn from_outside(tasks: u64) -> Outcome {
    outside(tasks, |job| drop(task::spawn(async move { job() })))
}

pub(super) async fn chain(tasks: u64) -> Outcome {
    let ran = Ran::default();
    let (last, ended) = async_channel::bounded(1);
    link(tasks, ran.clone(), last);
    ended.recv().await.expect("the chain ended early");
    ran.outcome(tasks)
}

fn link(left: u64, ran: Ran, last: async_channel::Sender<()>) {
    task::spawn(async move {
        ran.task();
        if left > 1 {
            link(left - 1, ran, last);
        } else {
            last.send(()).await.expect("the driver waits");
        }
    });
}
