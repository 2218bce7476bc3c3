//! smol: a static `Executor` on N threads, as smol's docs show for more than one thread (its own
//! global executor has one thread by default).
//! Idioms: docs.rs/smol, `Executor` and its example with threads that wait for a shutdown signal.
use std::thread::JoinHandle;

use smol::channel::Sender;

use super::{Occupant, Running};
use crate::drive::Job;

/// The executor that all smol files spawn on.
pub(crate) static EXECUTOR: smol::Executor<'static> = smol::Executor::new();

/// The threads that run the executor.
pub(crate) struct Smol {
    threads: Vec<JoinHandle<()>>,
    shutdown: Sender<()>,
}

impl Smol {
    /// Starts `workers` threads.
    pub(crate) fn start(workers: usize) -> Result<Smol, String> {
        let (shutdown, stopped) = smol::channel::unbounded::<()>();
        let mut threads = Vec::with_capacity(workers);
        for i in 0..workers {
            let stopped = stopped.clone();
            let run = move || {
                // Ends with an error when the sender is dropped: that is the signal.
                let _ = smol::block_on(EXECUTOR.run(stopped.recv()));
            };
            let thread = std::thread::Builder::new().name(format!("smol-{i}")).spawn(run);
            threads.push(thread.map_err(|e| format!("smol did not start: {e}"))?);
        }
        Ok(Smol { threads, shutdown })
    }
}

impl Drop for Smol {
    fn drop(&mut self) {
        self.shutdown.close();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so on stderr; nothing is left to stop.
            let _ = thread.join();
        }
    }
}

impl Running for Smol {
    fn enter(&self, job: Job) {
        let task = match job {
            Job::Call(call) => EXECUTOR.spawn(async { call() }),
            Job::Future(future) => EXECUTOR.spawn(future),
        };
        smol::block_on(task);
    }
    fn occupy(&self, n: usize, occupant: Occupant) {
        for _ in 0..n {
            let occupant = Occupant::clone(&occupant);
            EXECUTOR.spawn(async move { occupant() }).detach();
        }
    }
    fn declared(&self) -> usize {
        self.threads.iter().filter(|t| !t.is_finished()).count()
    }
}
