//! smol: `future::yield_now` (docs.rs/smol, `future`).
use super::Input;
use crate::drive::Outcome;
use crate::runtimes::smol::EXECUTOR;
use smol::future;

pub(super) async fn run(input: Input) -> Outcome {
    let tasks: Vec<_> = (0..input.tasks).map(|_| EXECUTOR.spawn(task(input.yields))).collect();
    let mut done = 0;
    for task in tasks {
        done += task.await;
    }
    Outcome::new(done, done)
}

async fn task(yields: u64) -> u64 {
    let mut done = 0;
    for _ in 0..yields {
        future::yield_now().await;
        done += 1;
    }
    done
}
