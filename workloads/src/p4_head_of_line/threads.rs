//! threads: `shared`, a thread per worker empties the queue; `skewed`, each thread has its share and
//! nobody helps: the static division that stealing is compared with.
use std::sync::Arc;

use super::{Input, Lane, Round};
use crate::drive::Outcome;
use crate::runtimes::threads::split;

pub(super) fn run(input: &Arc<Input>, lane: Lane) -> Outcome {
    let round = Round::open(input);
    let share = |w: usize| match lane {
        Lane::Shared => round.drain(),
        _ => input.share(w).into_iter().map(|i| round.task(i)).fold(0, u64::wrapping_add),
    };
    round.outcome(split(input.workers, share).into_iter().fold(0, u64::wrapping_add))
}
