//! W07 fib: what does one fork cost?
//!
//! fib(n) forks fib(n-1), runs fib(n-2) in place and waits; at or under the cut-off `c` the plain
//! recursion takes over (c = 1: no cut-off). The answer is fib(n); the forks are F(n-c+2) - 1.
//! Lanes: `join` (fork-join where a runtime has it, else a task per fork), `goroutine` (gosteal only:
//! a goroutine per fork and a join handle).
use crate::cell::{Params, Size};
use crate::drive::Body;
use crate::fields::{Field, Want, fill};
use crate::registry::{Support, Workload};
use crate::tally::Tally;

mod async_std;
mod gosteal;
mod rayon;
mod serial;
mod smol;
mod threads;
mod tokio;

/// The registry's entry.
pub(crate) struct Fib;

/// What a run needs: n and the cut-off.
#[derive(Clone, Copy)]
struct Input {
    n: u64,
    cut: u64,
}

impl Input {
    fn of(p: &Params) -> Input {
        Input { n: p.num("n"), cut: p.num("c") }
    }
    fn less(self, by: u64) -> Input {
        Input { n: self.n - by, ..self }
    }
    /// The leaf code, the same for all: the value where `n` is at or under the cut-off.
    #[inline]
    fn leaf(self) -> Option<Tally> {
        (self.n <= self.cut).then(|| Tally::leaf(plain(self.n)))
    }
}

/// The plain recursion.
fn plain(n: u64) -> u64 {
    if n < 2 { n } else { plain(n - 1) + plain(n - 2) }
}

/// F(n) by addition.
fn fibonacci(n: u64) -> u64 {
    (0..n).fold((0u64, 1u64), |(a, b), _| (b, a + b)).0
}

impl Workload for Fib {
    fn id(&self) -> &'static str {
        "W07"
    }
    fn name(&self) -> &'static str {
        "fib"
    }
    fn group(&self) -> &'static str {
        "tree"
    }
    fn about(&self) -> &'static str {
        "fork fib(n-1), run fib(n-2) in place, wait: the cost of a fork with nothing in it"
    }
    fn unit(&self) -> &'static str {
        "fork"
    }
    fn variants(&self, size: Size) -> Vec<Params> {
        let set = |n: &str, c: &str, lane: &str| Params::of(&[("n", n), ("c", c), ("lane", lane)]);
        match size {
            Size::Smoke => vec![
                set("20", "1", "join"),
                set("20", "1", "goroutine"),
                set("30", "20", "join"),
                set("25", "1", "join"),
                set("25", "1", "goroutine"),
            ],
            Size::Std => {
                vec![set("30", "1", "join"), set("30", "1", "goroutine"), set("35", "20", "join")]
            }
            Size::Large => vec![
                set("35", "1", "join"),
                set("39", "1", "join"),
                set("42", "1", "join"),
                set("35", "1", "goroutine"),
                set("42", "25", "join"),
            ],
        }
    }
    fn check(&self, given: &Params) -> Result<Params, String> {
        let filled = fill(
            given,
            &[
                Field("n", "25", Want::Number(0, 50)),
                Field("c", "1", Want::Number(1, 50)),
                Field("lane", "join", Want::Word(&["join", "goroutine"])),
            ],
        )?;
        Ok(filled)
    }
    fn expected(&self, p: &Params, _workers: usize) -> (u64, u64) {
        let Input { n, cut } = Input::of(p);
        let forks = if n > cut { fibonacci(n - cut + 2) - 1 } else { 0 };
        (fibonacci(n), forks)
    }
    fn support(&self, runtime: &str) -> Support {
        match runtime {
            "gosteal" | "rayon" | "serial" => Support::Idiomatic,
            "tokio" | "smol" | "async-std" | "threads" => Support::Literal,
            _ => Support::Absent("no adapter".into()),
        }
    }
    fn support_for(&self, runtime: &str, p: &Params) -> Support {
        match (runtime, p.text("lane")) {
            ("gosteal" | "serial", _) | (_, Some("join") | None) => self.support(runtime),
            _ => Support::NotExpressible("lane goroutine: it has one lane, join"),
        }
    }
    fn ceiling(&self, _p: &Params, _workers: usize) -> Option<f64> {
        None
    }
    fn body(&self, runtime: &str, p: &Params, workers: usize) -> Option<Body> {
        let input = Input::of(p);
        Some(match (runtime, p.text("lane")) {
            ("gosteal", Some("goroutine")) => {
                Body::call(move || gosteal::goroutine(input).created())
            }
            ("serial", _) => Body::call(move || serial::fib(input)),
            (_, Some("goroutine")) => return None,
            ("gosteal", _) => Body::call(move || gosteal::join(input).created()),
            ("tokio", _) => Body::future(move || async move { tokio::fib(input).await.created() }),
            ("rayon", _) => Body::call(move || rayon::fib(input).created()),
            ("smol", _) => Body::future(move || async move { smol::fib(input).await.created() }),
            ("async-std", _) => {
                Body::future(move || async move { async_std::fib(input).await.created() })
            }
            ("threads", _) => Body::call(move || threads::fib(input, workers)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values and fork counts of the catalogue.
    #[test]
    fn w07_answers_and_forks_are_those_of_the_catalogue() {
        let expected = |n: &str, c: &str| {
            Fib.expected(&Fib.check(&Params::of(&[("n", n), ("c", c)])).unwrap(), 1)
        };
        assert_eq!(expected("25", "1").0, 75_025);
        assert_eq!(expected("30", "1").0, 832_040);
        assert_eq!(expected("35", "1"), (9_227_465, 14_930_351));
        assert_eq!(expected("39", "1").0, 63_245_986);
        assert_eq!(expected("42", "1").0, 267_914_296);
        assert_eq!(expected("35", "20"), (9_227_465, 1_596));
        assert_eq!(expected("5", "9"), (5, 0));
    }
}
