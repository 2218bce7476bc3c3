//! serial: the plain recursion. It counts nothing; its forks, all in place, are by the closed form.
use super::{Input, fibonacci, plain};
use crate::drive::Outcome;

pub(super) fn fib(input: Input) -> Outcome {
    let n = std::hint::black_box(input.n);
    let forks = if n > input.cut { fibonacci(n - input.cut + 2) - 1 } else { 0 };
    Outcome::inline(plain(n), forks)
}
