//! The programs that are scheduled, their right answers, and the runtimes that run them.
//!
//! The harness sees this crate through two registries, [`workloads`] and [`runtimes`], and through
//! [`worker::serve`], the worker side of the line protocol. Nothing outside this crate names a runtime.

pub mod cell;
pub mod protocol;
pub mod registry;
pub mod worker;

pub use cell::{Params, Size};
pub use registry::{Launch, RuntimeInfo, Support, Workload, find_runtime, find_workload, runtimes, workloads};
