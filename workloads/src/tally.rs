//! What a subtree gives to its parent: a partial answer and the units that were created below.
use std::iter::Sum;
use std::ops::Add;

use crate::drive::Outcome;

/// A partial answer with its units. Two registers, so that counting costs a tree nothing visible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) answer: u64,
    pub(crate) units: u64,
}

impl Tally {
    /// An answer for which nothing was created.
    pub(crate) fn leaf(answer: u64) -> Tally {
        Tally { answer, units: 0 }
    }
    /// The same answer with one unit more.
    pub(crate) fn one_more(self) -> Tally {
        Tally { units: self.units + 1, ..self }
    }
    /// All units were created.
    pub(crate) fn created(self) -> Outcome {
        Outcome::new(self.answer, self.units)
    }
    /// `created` of the units were created, the others run in place.
    pub(crate) fn partly(self, created: u64) -> Outcome {
        Outcome { units: created, ..Outcome::inline(self.answer, self.units - created) }
    }
    /// No unit was created.
    pub(crate) fn inline(self) -> Outcome {
        Outcome::inline(self.answer, self.units)
    }
}

impl Add for Tally {
    type Output = Tally;
    fn add(self, other: Tally) -> Tally {
        let answer = self.answer.wrapping_add(other.answer);
        Tally { answer, units: self.units + other.units }
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Tally>>(tallies: I) -> Tally {
        tallies.fold(Tally::default(), Add::add)
    }
}
