//! tokio: the multi-thread runtime, built with its public builder; nothing else is set.
//! Idioms: tokio.rs/tokio/tutorial ("Spawning", "Channels") and the docs of `tokio::runtime`.
use std::sync::{Mutex, PoisonError};

use tokio::runtime::{Handle, Runtime};

use super::{Occupant, Running};
use crate::drive::Job;

/// For work that comes from outside: the handle of the runtime that runs now.
static CURRENT: Mutex<Option<Handle>> = Mutex::new(None);

/// A started runtime.
pub(crate) struct Tokio {
    runtime: Runtime,
}

impl Tokio {
    /// Starts `workers` worker threads.
    pub(crate) fn start(workers: usize) -> Result<Tokio, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(workers)
            .enable_all()
            .build()
            .map_err(|e| format!("tokio did not start: {e}"))?;
        *current() = Some(runtime.handle().clone());
        Ok(Tokio { runtime })
    }
}

/// The handle of the runtime that runs now. Panics if there is none.
pub(crate) fn handle() -> Handle {
    current().clone().expect("tokio is running")
}

fn current() -> std::sync::MutexGuard<'static, Option<Handle>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Tokio {
    fn drop(&mut self) {
        current().take();
    }
}

impl Running for Tokio {
    fn enter(&self, job: Job) {
        let task = match job {
            Job::Call(call) => self.runtime.spawn(async { call() }),
            Job::Future(future) => self.runtime.spawn(future),
        };
        // The driver catches panics itself; what ends here is a task that was cancelled, and then
        // the driver's slot stays empty.
        let _ = self.runtime.block_on(task);
    }
    fn occupy(&self, n: usize, occupant: Occupant) {
        for _ in 0..n {
            let occupant = Occupant::clone(&occupant);
            self.runtime.spawn(async move { occupant() });
        }
    }
    fn declared(&self) -> usize {
        self.runtime.metrics().num_workers()
    }
    fn counters(&self) -> Vec<(&'static str, u64)> {
        let metrics = self.runtime.metrics();
        let parks = (0..metrics.num_workers()).map(|w| metrics.worker_park_count(w)).sum();
        vec![("parks", parks)]
    }
}
