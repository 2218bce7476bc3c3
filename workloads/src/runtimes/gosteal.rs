//! gosteal: our own scheduler, entered with a goroutine; only what any user gets by default is used.
use std::sync::{Mutex, MutexGuard, PoisonError};

use gosteal::{Handle, Policy, Runtime};

use super::{Occupant, Running};
use crate::drive::Job;

/// For work that comes from outside: the handle of the runtime that runs now.
static CURRENT: Mutex<Option<Handle>> = Mutex::new(None);

/// A started runtime.
pub(crate) struct Gosteal {
    runtime: Runtime,
}

impl Gosteal {
    /// Starts `workers` Ps under `policy`, Go's own where none is named.
    pub(crate) fn start(workers: usize, policy: Option<&str>) -> Result<Gosteal, String> {
        let policy = policy.map_or_else(|| Ok(Policy::go()), Policy::parse)?;
        // SAFETY: goroutines here are this crate's workloads, none of which holds a reference into
        // thread-local storage across a scheduling point.
        let built = unsafe { Runtime::builder().procs(workers).policy(policy).build() };
        let runtime = built.map_err(|e| format!("gosteal did not start: {e}"))?;
        *current() = Some(runtime.handle());
        Ok(Gosteal { runtime })
    }
}

/// The handle of the runtime that runs now. Panics if there is none.
pub(crate) fn handle() -> Handle {
    current().clone().expect("gosteal is running")
}

fn current() -> MutexGuard<'static, Option<Handle>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a spawned goroutine returned; its panic goes on here.
pub(crate) fn joined<T>(handle: gosteal::JoinHandle<T>) -> T {
    handle.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

impl Drop for Gosteal {
    fn drop(&mut self) {
        current().take();
    }
}

impl Running for Gosteal {
    fn enter(&self, job: Job) {
        match job {
            Job::Call(call) => self.runtime.block_on(call),
            Job::Future(_) => unreachable!("gosteal bodies are calls"),
        }
    }
    fn occupy(&self, n: usize, occupant: Occupant) {
        let handle = self.runtime.handle();
        for _ in 0..n {
            let occupant = Occupant::clone(&occupant);
            handle.go(move || occupant());
        }
    }
    fn declared(&self) -> usize {
        self.runtime.procs()
    }
    fn threads_are_fixed(&self) -> bool {
        false // A P changes its M when a goroutine blocks in the kernel.
    }
    fn counters(&self) -> Vec<(&'static str, u64)> {
        let m = self.runtime.metrics();
        vec![
            ("goroutines_created", m.goroutines_created),
            ("steals", m.steals),
            ("stolen", m.stolen),
            ("wakes", m.wakes),
            ("parks", m.parks),
            ("searches", m.searches),
            ("global_gets", m.global_gets),
            ("overflows", m.overflows),
            ("jobs_stolen", m.jobs_stolen),
            ("handoffs", m.handoffs),
            ("preempts", m.preempts),
        ]
    }
}
