//! smol: tasks awaited in order (docs.rs/smol, `Executor::spawn`); the end of a chain is
//! a channel.
use super::{Ran, outside};
use crate::drive::Outcome;
use crate::runtimes::smol::EXECUTOR;
use smol::channel;

pub(super) async fn local(tasks: u64) -> Outcome {
    let ran = Ran::default();
    let mut started = Vec::with_capacity(tasks as usize);
    for _ in 0..tasks {
        let ran = ran.clone();
        started.push(EXECUTOR.spawn(async move { ran.task() }));
    }
    for task in started {
        task.await;
    }
    ran.outcome(tasks)
}

pub(super) fn from_outside(tasks: u64) -> Outcome {
    outside(tasks, |task| EXECUTOR.spawn(async move { task() }).detach())
}

pub(super) async fn chain(tasks: u64) -> Outcome {
    let ran = Ran::default();
    let (last, ended) = channel::bounded(1);
    link(tasks, ran.clone(), last);
    ended.recv().await.expect("the chain ended early");
    ran.outcome(tasks)
}

fn link(left: u64, ran: Ran, last: channel::Sender<()>) {
    EXECUTOR
        .spawn(async move {
            ran.task();
            if left > 1 {
                link(left - 1, ran, last);
            } else {
                last.send(()).await.expect("the driver waits");
            }
        })
        .detach();
}
