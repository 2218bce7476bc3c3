//! tokio: the event is a watch channel whose sender is dropped, and "all wait" is an mpsc channel whose
//! senders are (tokio.rs/tokio/topics/shutdown: telling things to shut down, waiting for them).
use super::Input;
use crate::drive::Outcome;
use tokio::sync::{mpsc, watch};

pub(super) async fn run(input: Input) -> Outcome {
    let (close, _) = watch::channel(());
    let (waiting, mut all_wait) = mpsc::channel::<()>(1);
    let mut tasks = Vec::with_capacity(input.tasks as usize);
    for _ in 0..input.tasks {
        let (mut event, waiting) = (close.subscribe(), waiting.clone());
        tasks.push(tokio::spawn(async move {
            drop(waiting);
            u64::from(event.changed().await.is_err())
        }));
    }
    drop(waiting);
    assert!(all_wait.recv().await.is_none());
    let bytes = input.bytes_per_task();
    drop(close);
    let mut woken = 0;
    for task in tasks {
        woken += task.await.expect("a task panicked");
    }
    input.outcome(woken, bytes)
}
