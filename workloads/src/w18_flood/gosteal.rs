//! gosteal: `go` and a wait group; from outside, the runtime's handle.
use super::{Ran, outside};
use crate::drive::Outcome;
use crate::runtimes::gosteal::handle;
use gosteal::sync::WaitGroup;

pub(super) fn local(tasks: u64) -> Outcome {
    let (ran, all) = (Ran::default(), WaitGroup::new());
    for _ in 0..tasks {
        let ran = ran.clone();
        all.go(move || ran.task());
    }
    all.wait();
    ran.outcome(tasks)
}

pub(super) fn from_outside(tasks: u64) -> Outcome {
    let runtime = handle();
    outside(tasks, |task| runtime.go(task))
}

pub(super) fn chain(tasks: u64) -> Outcome {
    let (ran, all) = (Ran::default(), WaitGroup::new());
    link(tasks, ran.clone(), all.clone());
    all.wait();
    ran.outcome(tasks)
}

fn link(left: u64, ran: Ran, all: WaitGroup) {
    let next = all.clone();
    all.go(move || {
        ran.task();
        if left > 1 {
            link(left - 1, ran, next);
        }
    });
}
