//! harness/src/report/mod.rs: what is said about a session. Question: what can a reader rely on, and what
//! not?
//!
//! # Invariants
//! - Built from the journal alone, without clock, machine or registry: the same journal gives the same
//!   bytes, on any day and any machine.
//! - Every ratio carries its interval; the null arm comes before the ratios; losses are listed.

mod audit;
mod html;
mod idle;
mod json;
mod markdown;
mod model;
pub mod svg;
mod table;
mod words;

pub use html::html;
pub use json::json;
pub use markdown::markdown;
pub use model::{Group, Report};
pub use table::{footer, table};
