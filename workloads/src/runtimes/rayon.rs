//! rayon: a `ThreadPool` of its own, entered with `install`; nothing but the number is set.
//! Idioms: docs.rs/rayon, `join`, `scope`, `ThreadPoolBuilder`.
use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{Occupant, Running};
use crate::drive::Job;

/// For work that comes from outside: the pool that runs now.
static CURRENT: Mutex<Option<Arc<ThreadPool>>> = Mutex::new(None);

/// A started pool.
pub(crate) struct Rayon {
    pool: Arc<ThreadPool>,
}

impl Rayon {
    /// Starts `workers` threads.
    pub(crate) fn start(workers: usize) -> Result<Rayon, String> {
        let built = ThreadPoolBuilder::new().num_threads(workers).build();
        let pool = Arc::new(built.map_err(|e| format!("rayon did not start: {e}"))?);
        *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&pool));
        Ok(Rayon { pool })
    }
}

/// The pool that runs now. Panics if there is none.
pub(crate) fn pool() -> Arc<ThreadPool> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner).clone().expect("rayon is running")
}

impl Drop for Rayon {
    fn drop(&mut self) {
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        current.take_if(|pool| Arc::ptr_eq(pool, &self.pool));
    }
}

impl Running for Rayon {
    fn enter(&self, job: Job) {
        match job {
            Job::Call(call) => self.pool.install(call),
            Job::Future(_) => unreachable!("rayon bodies are calls"),
        }
    }
    fn occupy(&self, n: usize, occupant: Occupant) {
        for _ in 0..n {
            let occupant = Occupant::clone(&occupant);
            self.pool.spawn(move || occupant());
        }
    }
    fn declared(&self) -> usize {
        self.pool.current_num_threads()
    }
}
