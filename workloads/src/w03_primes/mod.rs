//! W03 primes-contig: how much does contiguous, skewed work cost each runtime?
//!
//! The seed program: count the primes in 1..=M by 6k±1 trial division, the range cut into k equal
//! contiguous chunks, one task each. Later chunks are dearer, so the last one to start decides.
//! Answer and ceiling come from a sieve ([`sieve`]), which shares nothing with the leaf code.
use std::ops::RangeInclusive;

use crate::cell::{Params, Size};
use crate::drive::Body;
use crate::fields::{Field, Want, each, fill};
use crate::model;
use crate::registry::{Support, Workload};

mod async_std;
mod gosteal;
mod rayon;
mod serial;
mod sieve;
mod smol;
mod threads;
mod tokio;

/// The registry's entry.
pub(crate) struct Primes;

/// What a run needs: M and k.
#[derive(Clone, Copy)]
struct Input {
    m: u64,
    chunks: u64,
}

impl Input {
    fn of(p: &Params) -> Input {
        Input { m: p.num("m"), chunks: p.num("chunks") }
    }
    /// Chunk `i`; the last one also has the remainder.
    fn chunk(self, i: u64) -> RangeInclusive<u64> {
        let size = self.m / self.chunks;
        let end = if i + 1 == self.chunks { self.m } else { (i + 1) * size };
        i * size + 1..=end
    }
}

/// The leaf code, the same for all: primes in `range`.
fn count_primes(range: RangeInclusive<u64>) -> u64 {
    range.filter(|n| is_prime(*n)).count() as u64
}

fn is_prime(n: u64) -> bool {
    if n < 4 {
        return n > 1;
    }
    if n.is_multiple_of(2) || n.is_multiple_of(3) {
        return false;
    }
    let mut i = 5;
    while i * i <= n {
        if n.is_multiple_of(i) || n.is_multiple_of(i + 2) {
            return false;
        }
        i += 6;
    }
    true
}

impl Workload for Primes {
    fn id(&self) -> &'static str {
        "W03"
    }
    fn name(&self) -> &'static str {
        "primes-contig"
    }
    fn group(&self) -> &'static str {
        "skewed"
    }
    fn about(&self) -> &'static str {
        "count primes in k equal contiguous chunks, a task each: the last chunks are the dear ones"
    }
    fn unit(&self) -> &'static str {
        "chunk"
    }
    fn variants(&self, size: Size) -> Vec<Params> {
        let m = match size {
            Size::Smoke => "1000000",
            Size::Std => "10000000",
            Size::Large => "100000000",
        };
        each("chunks", &["16", "6", "1024", "4", "8", "64", "256"], &[("m", m)])
    }
    fn check(&self, given: &Params) -> Result<Params, String> {
        let filled = fill(
            given,
            &[
                Field("m", "1000000", Want::Number(100, 1_000_000_000)),
                Field("chunks", "16", Want::Number(1, 1_000_000)),
            ],
        )?;
        if filled.num("chunks") > filled.num("m") {
            return Err(format!("parameter chunks={}: want at most m", filled.num("chunks")));
        }
        Ok(filled)
    }
    fn expected(&self, p: &Params, _workers: usize) -> (u64, u64) {
        let input = Input::of(p);
        (sieve::costs(input).primes, input.chunks)
    }
    fn support(&self, runtime: &str) -> Support {
        match runtime {
            "gosteal" | "tokio" | "rayon" | "smol" | "async-std" | "serial" | "threads" => {
                Support::Idiomatic
            }
            _ => Support::Absent("no adapter".into()),
        }
    }
    fn ceiling(&self, p: &Params, workers: usize) -> Option<f64> {
        Some(model::list_ceiling(&sieve::costs(Input::of(p)).steps, workers))
    }
    fn body(&self, runtime: &str, p: &Params, workers: usize) -> Option<Body> {
        let input = Input::of(p);
        Some(match runtime {
            "gosteal" => Body::call(move || gosteal::run(input)),
            "tokio" => Body::future(move || tokio::run(input)),
            "rayon" => Body::call(move || rayon::run(input)),
            "smol" => Body::future(move || smol::run(input)),
            "async-std" => Body::future(move || async_std::run(input)),
            "serial" => Body::call(move || serial::run(input)),
            "threads" => Body::call(move || threads::run(input, workers)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(m: &str, chunks: &str) -> Params {
        Primes.check(&Params::of(&[("m", m), ("chunks", chunks)])).unwrap()
    }

    /// The known numbers of primes, by the sieve.
    #[test]
    fn w03_the_sieve_gives_the_known_answers() {
        for (m, primes) in [("100", 25), ("1000000", 78498), ("10000000", 664579)] {
            assert_eq!(Primes.expected(&params(m, "7"), 1), (primes, 7), "m {m}");
        }
    }

    /// The leaf code against the sieve, chunk borders included.
    #[test]
    fn w03_the_leaf_code_agrees_with_the_sieve() {
        for chunks in [1, 2, 7, 100, 1000] {
            let input = Input { m: 10_007, chunks };
            let sum: u64 = (0..chunks).map(|i| count_primes(input.chunk(i))).sum();
            assert_eq!(sum, sieve::costs(input).primes, "{chunks} chunks");
        }
    }

    /// The known table: best speed-up of a greedy list schedule at M = 10^7. Its two decimals were
    /// rounded from three, hence the half unit of the third on top of that of the second.
    #[test]
    fn w03_ceilings_are_those_of_the_table() {
        let table = [
            ("4", [1.77, 3.01, 3.01]),
            ("6", [1.83, 2.79, 4.43]),
            ("8", [1.87, 3.38, 5.85]),
            ("16", [1.93, 3.64, 6.62]),
            ("64", [1.98, 3.89, 7.54]),
            ("256", [2.00, 3.97, 7.87]),
        ];
        for (chunks, row) in table {
            let p = params("10000000", chunks);
            for (workers, want) in [2, 4, 8].into_iter().zip(row) {
                let got = Primes.ceiling(&p, workers).unwrap();
                assert!((got - want).abs() < 0.0056, "k {chunks}, P {workers}: {got} for {want}");
            }
        }
        let input = Input { m: 10_000_000, chunks: 6 };
        assert_eq!(sieve::costs(input).steps.iter().sum::<u64>(), 300_110_272);
    }
}
