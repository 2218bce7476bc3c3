//! async-std: its global pool. The number of workers comes from an environment variable that is read
//! once, at first use, so a process has one number for good: fine for one contender a process.
//! Idioms: docs.rs/async-std, `task`, `channel`, `fs`. Discontinued in 2025; kept as a known point.
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use async_std::task;

use super::{Occupant, Running};
use crate::drive::Job;
use crate::system;

const VARIABLE: &str = "ASYNC_STD_THREAD_COUNT";
/// What the pool of this process was started with.
static STARTED: OnceLock<usize> = OnceLock::new();

/// The pool, once started, stays.
pub(crate) struct AsyncStd;

impl AsyncStd {
    /// Starts the pool with `workers` threads, or takes the one that has as many.
    pub(crate) fn start(workers: usize) -> Result<AsyncStd, String> {
        if let Some(started) = STARTED.get() {
            return if *started == workers {
                Ok(AsyncStd)
            } else {
                Err(format!(
                    "async-std keeps its {started} workers for the life of the process: \
                     start another process for {workers}"
                ))
            };
        }
        set_count(workers)?;
        STARTED.get_or_init(|| workers);
        task::block_on(task::spawn(async {}));
        Ok(AsyncStd)
    }
}

/// Sets the variable before first use, or finds it right.
fn set_count(workers: usize) -> Result<(), String> {
    let text = workers.to_string();
    if std::env::var(VARIABLE).is_ok_and(|set| set == text) {
        return Ok(());
    }
    if system::thread_count() != Some(1) {
        return Err(format!(
            "async-std reads {VARIABLE} and other threads already run: start with {VARIABLE}={text}"
        ));
    }
    // SAFETY: the process has exactly one thread, this one, so nobody reads the environment now.
    unsafe { std::env::set_var(VARIABLE, text) };
    Ok(())
}

impl Running for AsyncStd {
    fn enter(&self, job: Job) {
        match job {
            Job::Call(call) => task::block_on(task::spawn(async { call() })),
            Job::Future(future) => task::block_on(task::spawn(future)),
        }
    }
    fn occupy(&self, n: usize, occupant: Occupant) {
        for _ in 0..n {
            let occupant = Occupant::clone(&occupant);
            task::spawn(async move { occupant() });
        }
    }
    /// Its threads, by the name that the pool gives them; what the variable said elsewhere.
    ///
    /// A thread names itself once it runs, and until then bears the name of who made it: so both too few and
    /// too many may be counted for a moment, and the count is taken when it agrees or when time is up.
    fn declared(&self) -> usize {
        let started = STARTED.get().copied().unwrap_or(0);
        let limit = Instant::now() + Duration::from_secs(5);
        loop {
            let Some(names) = system::thread_names() else { return started };
            let named = names.iter().filter(|name| "async-std/runtime".starts_with(name.as_str()));
            let counted = named.count();
            if counted == started || Instant::now() > limit {
                return counted;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
