//! harness/src/measure/mod.rs: the session. Question: how are times taken so that a difference between two
//! contenders cannot come from the order, the moment, the process or the neighbour?
//!
//! # Invariants
//! - Answers are checked before anything is timed, and again in every sample.
//! - An epoch is a fresh process for each contender of one cell, and the independent unit of everything
//!   said later. Epochs of different cells are shuffled together.
//! - How long a cell is measured depends on precision only, never on which side of 1 a ratio lies.
//! - An epoch is in the journal, and on disk, before the next one starts.

mod check;
mod epoch;
mod interrupt;
mod noise;
mod order;
mod progress;
mod rounds;
mod session;

pub use check::check_pass;
pub use epoch::{Actor, EpochInput, Measured, Outside, measure_epoch};
pub use interrupt::Interrupts;
pub use noise::{Noise, RealOutside};
pub use order::{Orders, Purpose};
pub use progress::Progress;
pub use session::{Ended, Session};
