//! The runtimes: start with an explicit worker count, stop, read back. One file each.
//!
//! # Invariants
//! - Worker counts are passed, never left to a default: defaults differ between runtimes.
//! - `Running::enter` runs the job on a worker for every runtime (tokio: spawn then await; rayon:
//!   install; smol, async-std: a task that is awaited; gosteal: a goroutine; serial and threads: the
//!   calling thread, which is their worker).
//! - All use the system allocator of this one binary; no private knobs for any of them.
use std::sync::Arc;

use crate::drive::Job;
use crate::registry::{Launch, RuntimeInfo};

mod async_std;
pub(crate) mod gosteal;
pub(crate) mod rayon;
mod rendezvous;
mod serial;
pub(crate) mod smol;
pub(crate) mod threads;
pub(crate) mod tokio;

pub(crate) use rendezvous::{Seen, rendezvous};

/// A task of the rendezvous, which blocks the worker that runs it.
pub(crate) type Occupant = Arc<dyn Fn() + Send + Sync>;

/// A runtime that has been started. Dropping it stops it and ends its threads where that is possible
/// (async-std keeps its pool until the process ends).
pub(crate) trait Running {
    /// Runs `job` on a worker and returns when it has ended. Called from outside the runtime.
    fn enter(&self, job: Job);
    /// Starts `n` tasks that each call `occupant` once, and returns without waiting for them.
    fn occupy(&self, n: usize, occupant: Occupant);
    /// How many workers the runtime itself says it has.
    fn declared(&self) -> usize;
    /// Whether a worker is one thread for good; where it may change threads, the threads seen in the
    /// rendezvous are not all there are.
    fn threads_are_fixed(&self) -> bool {
        true
    }
    /// The runtime's own counters since its start, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// Starts the runtime called `name`. `policy` is set only where the registry says it takes one.
///
/// # Errors
/// One line: what could not be started and why.
pub(crate) fn start(
    name: &str,
    workers: usize,
    policy: Option<&str>,
) -> Result<Box<dyn Running>, String> {
    Ok(match name {
        "gosteal" => Box::new(gosteal::Gosteal::start(workers, policy)?),
        "tokio" => Box::new(tokio::Tokio::start(workers)?),
        "rayon" => Box::new(rayon::Rayon::start(workers)?),
        "smol" => Box::new(smol::Smol::start(workers)?),
        "async-std" => Box::new(async_std::AsyncStd::start(workers)?),
        "serial" => Box::new(serial::Serial),
        "threads" => Box::new(threads::Threads::start(workers)),
        other => return Err(format!("unknown runtime {other}")),
    })
}

/// The registry's entries.
pub(crate) static ALL: [RuntimeInfo; 7] = [
    RuntimeInfo {
        name: "gosteal",
        version: env!("CARGO_PKG_VERSION"),
        about: "Go's scheduler, rule by rule: stackful goroutines, stealing, hand-off",
        label: "",
        policies: true,
        fixed_workers: None,
        launch: Launch::Own,
    },
    peer("tokio", "1.54.1", "multi-thread runtime: stackless tasks, stealing, a LIFO slot", ""),
    peer("rayon", "1.12.0", "fork-join pool: stealing deques, no suspension", ""),
    peer("smol", "2.0.2", "async-executor on N threads: one shared queue, local batches", ""),
    peer("async-std", "1.13.2", "global pool on async-executor", "discontinued 2025"),
    RuntimeInfo {
        name: "serial",
        version: "std",
        about: "the best plain program on one thread: the base of speed-ups",
        label: "",
        policies: false,
        fixed_workers: Some(1),
        launch: Launch::Own,
    },
    peer(
        "threads",
        "std",
        "plain std threads with a static split: no scheduler but the kernel's",
        "",
    ),
];

const fn peer(
    name: &'static str,
    version: &'static str,
    about: &'static str,
    label: &'static str,
) -> RuntimeInfo {
    let (policies, fixed_workers, launch) = (false, None, Launch::Own);
    RuntimeInfo { name, version, about, label, policies, fixed_workers, launch }
}

#[cfg(test)]
mod tests {
    use super::ALL;

    /// The versions shown are those of the lock file.
    #[test]
    fn runtimes_versions_are_the_locked_ones() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock");
        let lock = std::fs::read_to_string(path).expect("the workspace has a lock file");
        for runtime in ALL.iter().filter(|r| r.version != "std") {
            let entry = format!("name = \"{}\"\nversion = \"{}\"\n", runtime.name, runtime.version);
            assert!(lock.contains(&entry), "{} is not {} there", runtime.name, runtime.version);
        }
    }
}
