//! serial: the tasks in order.
use super::Input;
use crate::drive::Outcome;

pub(super) fn run(input: &Input) -> Outcome {
    Outcome::inline((0..input.tasks).map(|_| input.whole()).sum(), input.tasks)
}
