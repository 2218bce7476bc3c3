//! rayon: jobs of one scope; `spawn_broadcast` for one job on each worker (docs.rs/rayon, `Scope`).
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Input, Lane, Round};
use crate::drive::Outcome;

pub(super) fn run(input: &Arc<Input>, lane: Lane) -> Outcome {
    let (round, sum) = (Round::open(input), AtomicU64::new(0));
    // Ordering: read only after the scope has ended. `fetch_add` wraps.
    let add = |value: u64| {
        sum.fetch_add(value, Relaxed);
    };
    rayon::scope(|scope| match lane {
        Lane::Shared => scope.spawn_broadcast(|_, _| add(round.drain())),
        Lane::Stealing => {
            for i in 0..round.tasks() {
                let (round, add) = (&round, &add);
                scope.spawn(move |_| add(round.task(i)));
            }
        }
        Lane::Skewed => scope.spawn_broadcast(|scope, worker| {
            for i in input.share(worker.index()) {
                let (round, add) = (&round, &add);
                scope.spawn(move |_| add(round.task(i)));
            }
        }),
    });
    round.outcome(sum.into_inner())
}
