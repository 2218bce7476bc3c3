//! tokio: handles awaited in order (tokio.rs/tokio/tutorial/spawning); from outside, `Handle::spawn`;
//! the end of a chain is a oneshot.
use super::{Ran, outside};
use crate::drive::Outcome;
use crate::runtimes::tokio::handle;
use tokio::sync::oneshot;

pub(super) async fn local(tasks: u64) -> Outcome {
    let ran = Ran::default();
    let mut handles = Vec::with_capacity(tasks as usize);
    for _ in 0..tasks {
        let ran = ran.clone();
        handles.push(tokio::spawn(async move { ran.task() }));
    }
    for handle in handles {
        handle.await.expect("a task panicked");
    }
    ran.outcome(tasks)
}

pub(super) fn from_outside(tasks: u64) -> Outcome {
    let runtime = handle();
    outside(tasks, |task| drop(runtime.spawn(async move { task() })))
}

pub(super) async fn chain(tasks: u64) -> Outcome {
    let ran = Ran::default();
    let (last, ended) = oneshot::channel();
    link(tasks, ran.clone(), last);
    ended.await.expect("the chain ended early");
    ran.outcome(tasks)
}

fn link(left: u64, ran: Ran, last: oneshot::Sender<()>) {
    tokio::spawn(async move {
        ran.task();
        if left > 1 {
            link(left - 1, ran, last);
        } else {
            last.send(()).expect("the driver waits");
        }
    });
}
