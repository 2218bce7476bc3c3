//! gosteal: the event is a channel that is closed, as in Go; a wait group tells when all wait.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Input;
use crate::drive::Outcome;
use gosteal::sync::WaitGroup;

pub(super) fn run(input: Input) -> Outcome {
    let (close, event) = gosteal::chan::<()>(0);
    let (waiting, ended) = (WaitGroup::new(), WaitGroup::new());
    let woken = Arc::new(AtomicU64::new(0));
    waiting.add(input.tasks.try_into().expect("`check` allows fewer"));
    for _ in 0..input.tasks {
        let (event, waiting, woken) = (event.clone(), waiting.clone(), Arc::clone(&woken));
        ended.go(move || {
            waiting.done();
            // Ordering: read only after the wait group has seen all end.
            woken.fetch_add(u64::from(event.recv().is_none()), Relaxed);
        });
    }
    waiting.wait();
    let bytes = input.bytes_per_task();
    close.close();
    ended.wait();
    input.outcome(woken.load(Relaxed), bytes)
}
