//! gosteal: the read in `syscall`, as Go's own file functions do; naive leaves that out.
use super::Input;
use crate::drive::Outcome;
use crate::runtimes::gosteal::joined;

pub(super) fn run(input: &Input, naive: bool) -> Outcome {
    let tasks: Vec<_> = (0..input.tasks)
        .map(|_| {
            let input = input.clone();
            gosteal::spawn(move || {
                let value = input.first_half();
                let read = if naive { input.read() } else { gosteal::syscall(|| input.read()) };
                input.second_half(value, read)
            })
        })
        .collect();
    Outcome::new(tasks.into_iter().map(joined).sum(), input.tasks)
}
