//! W14 (a) ping-pong: what does a message and the switch it causes cost?
//!
//! Pairs of tasks; in each the first sends a number, the second sends it back plus one. The trips are
//! dealt out to the pairs. Capacity 0 is a rendezvous, which only gosteal has (Go's unbuffered
//! channel); at capacity 1 all are comparable, each with its own channel. That is not a rendezvous.
use crate::cell::{Params, Size};
use crate::drive::Body;
use crate::fields::{Field, Want, fill, number_or_workers};
use crate::registry::{Support, Workload};

mod async_std;
mod gosteal;
mod smol;
mod tokio;

/// The registry's entry.
pub(crate) struct PingPong;

/// What a run needs.
#[derive(Clone, Copy)]
struct Input {
    pairs: u64,
    trips: u64,
    cap: usize,
}

impl Input {
    fn of(p: &Params, workers: usize) -> Input {
        let pairs = number_or_workers(p, "pairs", workers);
        Input { pairs, trips: p.num("trips"), cap: p.num("cap") as usize }
    }
    /// The trips of each pair; they add up to all trips.
    fn shares(self) -> impl Iterator<Item = u64> {
        let more = self.trips % self.pairs;
        (0..self.pairs).map(move |i| self.trips / self.pairs + u64::from(i < more))
    }
}

impl Workload for PingPong {
    fn id(&self) -> &'static str {
        "W14"
    }
    fn name(&self) -> &'static str {
        "ping-pong"
    }
    fn group(&self) -> &'static str {
        "message"
    }
    fn about(&self) -> &'static str {
        "pairs of tasks send a number to and fro: the cost of a message and a switch"
    }
    fn unit(&self) -> &'static str {
        "round trip"
    }
    fn variants(&self, size: Size) -> Vec<Params> {
        let trips = match size {
            Size::Smoke => "10000",
            Size::Std => "1000000",
            Size::Large => "10000000",
        };
        let set = |(pairs, cap): (&str, &str)| {
            Params::of(&[("pairs", pairs), ("trips", trips), ("cap", cap)])
        };
        [("1", "1"), ("P", "1"), ("1000", "1"), ("1", "0"), ("P", "0"), ("1000", "0")]
            .map(set)
            .into()
    }
    fn check(&self, given: &Params) -> Result<Params, String> {
        fill(
            given,
            &[
                Field("pairs", "1", Want::NumberOrWorkers(1, 1_000_000)),
                Field("trips", "10000", Want::Number(1, 1_000_000_000_000)),
                Field("cap", "1", Want::Number(0, 1_000_000)),
            ],
        )
    }
    fn expected(&self, p: &Params, _workers: usize) -> (u64, u64) {
        (p.num("trips"), p.num("trips"))
    }
    fn support(&self, runtime: &str) -> Support {
        match runtime {
            "gosteal" | "tokio" | "smol" | "async-std" => Support::Idiomatic,
            "rayon" => Support::NotExpressible(
                "a job cannot wait for a message without blocking its worker",
            ),
            "serial" => Support::NotExpressible("one thread has nobody to answer it"),
            "threads" => {
                Support::NotExpressible("a pair of threads is two workers, whatever is asked")
            }
            _ => Support::Absent("no adapter".into()),
        }
    }
    fn support_for(&self, runtime: &str, p: &Params) -> Support {
        match (runtime, p.text("cap")) {
            ("tokio" | "smol" | "async-std", Some("0")) => {
                Support::NotExpressible("it has no rendezvous channel; compare at cap=1")
            }
            _ => self.support(runtime),
        }
    }
    fn ceiling(&self, _p: &Params, _workers: usize) -> Option<f64> {
        None
    }
    fn body(&self, runtime: &str, p: &Params, workers: usize) -> Option<Body> {
        let input = Input::of(p, workers);
        Some(match runtime {
            "gosteal" => Body::call(move || gosteal::run(input)),
            _ if input.cap == 0 => return None,
            "tokio" => Body::future(move || tokio::run(input)),
            "smol" => Body::future(move || smol::run(input)),
            "async-std" => Body::future(move || async_std::run(input)),
            _ => return None,
        })
    }
}
