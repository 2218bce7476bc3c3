//! serial: no runtime at all. The calling thread is the one worker.
use super::{Occupant, Running};
use crate::drive::Job;

/// Nothing to start, nothing to stop.
pub(crate) struct Serial;

impl Running for Serial {
    fn enter(&self, job: Job) {
        match job {
            Job::Call(call) => call(),
            Job::Future(_) => unreachable!("serial bodies are calls"),
        }
    }
    fn occupy(&self, n: usize, occupant: Occupant) {
        (0..n).for_each(|_| occupant());
    }
    fn declared(&self) -> usize {
        1
    }
}
