//! serial: the tasks in order; where they lie makes no difference to one thread.
use std::sync::Arc;

use super::{Input, Round};
use crate::drive::Outcome;

pub(super) fn run(input: &Arc<Input>) -> Outcome {
    let round = Round::open(input);
    let outcome = round.outcome(round.drain());
    Outcome { units: 0, inlined: outcome.units, ..outcome }
}
