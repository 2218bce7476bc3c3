//! smol: the event is a channel whose sender is dropped, and so is "all wait" (docs.rs/smol, `channel`).
use super::Input;
use crate::drive::Outcome;
use crate::runtimes::smol::EXECUTOR;
use smol::channel;

pub(super) async fn run(input: Input) -> Outcome {
    let (close, event) = channel::bounded::<()>(1);
    let (waiting, all_wait) = channel::bounded::<()>(1);
    let mut tasks = Vec::with_capacity(input.tasks as usize);
    for _ in 0..input.tasks {
        let (event, waiting) = (event.clone(), waiting.clone());
        tasks.push(EXECUTOR.spawn(async move {
            drop(waiting);
            u64::from(event.recv().await.is_err())
        }));
    }
    drop(waiting);
    assert!(all_wait.recv().await.is_err());
    let bytes = input.bytes_per_task();
    drop(close);
    let mut woken = 0;
    for task in tasks {
        woken += task.await;
    }
    input.outcome(woken, bytes)
}
