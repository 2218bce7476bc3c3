//! rayon: jobs of one scope (docs.rs/rayon, `Scope::spawn`); from outside, `ThreadPool::spawn`.
use super::{Ran, outside};
use crate::drive::Outcome;
use crate::runtimes::rayon::pool;
use rayon::Scope;

pub(super) fn local(tasks: u64) -> Outcome {
    let ran = Ran::default();
    rayon::scope(|scope| {
        for _ in 0..tasks {
            scope.spawn(|_| ran.task());
        }
    });
    ran.outcome(tasks)
}

pub(super) fn from_outside(tasks: u64) -> Outcome {
    let pool = pool();
    outside(tasks, |task| pool.spawn(task))
}

pub(super) fn chain(tasks: u64) -> Outcome {
    let ran = Ran::default();
    rayon::scope(|scope| link(tasks, &ran, scope));
    ran.outcome(tasks)
}

fn link<'s>(left: u64, ran: &'s Ran, scope: &Scope<'s>) {
    scope.spawn(move |scope| {
        ran.task();
        if left > 1 {
            link(left - 1, ran, scope);
        }
    });
}
