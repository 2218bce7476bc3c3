//! harness/src/contender/mod.rs: one contender, in a process of its own. Question: did it do what it was
//! asked, and if not, what exactly happened?
//!
//! # Invariants
//! - All contenders are driven alike: the same protocol, the same checks, no branch for any of them.
//! - A sample with a wrong answer, wrong units or wrong worker count never comes out as a time.
//! - No process outlives this one: each gets end-of-file on its input and a death signal from the kernel.

mod client;
mod process;

pub use client::{Client, Launcher, Ready, Timed};
pub use process::{Broken, Process};

/// Why a contender is out, for one cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind of failure.
    pub kind: FaultKind,
    /// One line: what happened, with what was expected and the end of its error output.
    pub detail: String,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Could not be started.
    NoStart,
    /// Ended while it was asked something.
    Died,
    /// Did not answer in time.
    Hung,
    /// Answered something that is not the protocol.
    Garbage,
    /// Said itself that it went wrong.
    Error,
    /// Right protocol, wrong answer or wrong number of units.
    WrongAnswer,
    /// Runs another number of workers than asked.
    Workers,
    /// Its clock and ours disagree.
    Clock,
    /// Not its fault: the user stopped the session.
    Interrupted,
}

impl FaultKind {
    /// As it stands in the journal.
    pub fn word(self) -> &'static str {
        match self {
            FaultKind::NoStart => "no start",
            FaultKind::Died => "died",
            FaultKind::Hung => "hung",
            FaultKind::Garbage => "garbage",
            FaultKind::Error => "error",
            FaultKind::WrongAnswer => "wrong answer",
            FaultKind::Workers => "wrong workers",
            FaultKind::Clock => "clock",
            FaultKind::Interrupted => "interrupted",
        }
    }
}

impl Fault {
    /// A fault with its line.
    pub fn new(kind: FaultKind, detail: impl Into<String>) -> Fault {
        Fault { kind, detail: detail.into() }
    }
}
