//! stealbench: measures task schedulers side by side and says what can be said.
//!
//! # Map, in the order in which a run passes through it
//! - [`cli`]: words of a command line; what each command does.
//! - [`plan`]: words to a validated [`plan::Plan`]; nothing after it reads a flag.
//! - [`host`]: what machine this is.
//! - [`contender`]: a process with a runtime in it, behind a line protocol.
//! - [`measure`]: epochs of fresh processes, palindromic blocks, orders from one seed.
//! - [`store`]: the journal, the only truth; its locks and its schema.
//! - [`stats`], [`verdict`]: pure functions from times to statements.
//! - [`figure`], [`report`]: statements for people and programs.
//!
//! # Not here
//! No runtime and no workload is named in this crate: both come from the registries of
//! `stealbench_workloads`, and every contender is treated alike. The reference of a comparison is a
//! field of the plan.

pub mod cli;
pub mod contender;
pub mod error;
pub mod figure;
pub mod host;
pub mod measure;
pub mod plan;
pub mod report;
pub mod stats;
pub mod store;
pub mod verdict;
