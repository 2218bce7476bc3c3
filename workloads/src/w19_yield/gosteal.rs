//! gosteal: `yield_now`, Go's `runtime.Gosched`.
use super::Input;
use crate::drive::Outcome;
use crate::runtimes::gosteal::joined;

pub(super) fn run(input: Input) -> Outcome {
    let tasks: Vec<_> = (0..input.tasks)
        .map(|_| {
            gosteal::spawn(move || {
                let mut done = 0;
                for _ in 0..input.yields {
                    gosteal::yield_now();
                    done += 1;
                }
                done
            })
        })
        .collect();
    let done = tasks.into_iter().map(joined).sum();
    Outcome::new(done, done)
}
