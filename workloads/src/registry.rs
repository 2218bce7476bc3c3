//! The two lists: workloads and runtimes. Adding to either is one line here.
use crate::cell::{Params, Size};
use crate::drive::Body;

/// Whether a runtime takes part in a workload, and in which lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// What the runtime's own documents recommend.
    Idiomatic,
    /// Expressible, but not the runtime's idiom: shown in a lane of its own.
    Literal,
    /// Cannot be said in it; the reason is printed in the table.
    NotExpressible(&'static str),
    /// Could run, but is not here: `"no go on PATH"`.
    Absent(String),
}

/// How the harness starts a contender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launch {
    /// `<own executable> worker --runtime NAME`.
    Own,
    /// Another program, already built.
    Program(std::path::PathBuf, Vec<String>),
}

/// Which clock `ns` of a sample is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Monotonic time from the gate to the result: nearly all workloads.
    Wall,
    /// CPU time of the process: where the wall time is fixed and the question is what it burned.
    Cpu,
}

/// One runtime under comparison.
pub struct RuntimeInfo {
    /// The key in results: `tokio`.
    pub name: &'static str,
    /// As locked: `1.54.1`.
    pub version: &'static str,
    /// One line for people: what it is.
    pub about: &'static str,
    /// Printed beside the name, e.g. `discontinued 2025`; empty for most.
    pub label: &'static str,
    /// Takes a policy name (gosteal only, as data: the driver asks this, never the name).
    pub policies: bool,
    /// Always one worker, whatever is asked (serial).
    pub fixed_workers: Option<usize>,
    /// How to start it.
    pub launch: Launch,
}

/// One workload: what it is, its sizes, its right answer and who can run it. The runs themselves are
/// behind `worker::serve`.
pub trait Workload: Sync {
    /// Part of every result's key, never renamed: `W07`.
    fn id(&self) -> &'static str;
    /// `fib`.
    fn name(&self) -> &'static str;
    /// `even`, `skewed`, `tree`, `message`, `spawn`, `io`, `mixed`, `pathology`.
    fn group(&self) -> &'static str;
    /// One line: the program and what it stresses.
    fn about(&self) -> &'static str;
    /// What one unit is: `fork`, `round trip`, `task`. Times are printed as ns/unit.
    fn unit(&self) -> &'static str;
    /// The parameter sets of a size, in order of interest. The first few carry the quick mode.
    fn variants(&self, size: Size) -> Vec<Params>;
    /// Fills defaults and refuses unknown names and bad values, naming them and what is wanted.
    fn check(&self, given: &Params) -> Result<Params, String>;
    /// The right answer and the units of one iteration, by a method that uses no scheduler. The
    /// units count those created and those run in place.
    fn expected(&self, p: &Params, workers: usize) -> (u64, u64);
    /// Whether `runtime` runs it, in the default lane.
    fn support(&self, runtime: &str) -> Support;
    /// Whether `runtime` runs it with these parameters: lanes differ.
    fn support_for(&self, runtime: &str, p: &Params) -> Support {
        let _ = p;
        self.support(runtime)
    }
    /// The best speed-up over serial that the model allows on `workers` workers, where one is known.
    fn ceiling(&self, p: &Params, workers: usize) -> Option<f64>;
    /// Which clock the samples are on.
    fn clock(&self) -> Clock {
        Clock::Wall
    }
    /// One iteration on `runtime`, with its input made; `p` has passed `check`. `None` exactly where
    /// `support_for` does not say `Idiomatic` or `Literal`.
    fn body(&self, runtime: &str, p: &Params, workers: usize) -> Option<Body>;
}

/// All workloads, in the order of the catalogue.
pub fn workloads() -> &'static [&'static dyn Workload] {
    &[
        &crate::w03_primes::Primes,
        &crate::w07_fib::Fib,
        &crate::w08_forkbench::Forkbench,
        &crate::w09_skynet::Skynet,
        &crate::w10_nqueens::Nqueens,
        &crate::w14_pingpong::PingPong,
        &crate::w14_ring::Ring,
        &crate::w18_flood::Flood,
        &crate::w19_yield::Yields,
        &crate::w20_parked::Parked,
        &crate::w23_file::FileRead,
        &crate::p4_head_of_line::HeadOfLine,
        &crate::p6_idle::IdleBurn,
    ]
}
/// All runtimes, gosteal first.
pub fn runtimes() -> &'static [RuntimeInfo] {
    &crate::runtimes::ALL
}
/// By id (`W07`, any case) or name (`fib`).
pub fn find_workload(key: &str) -> Option<&'static dyn Workload> {
    workloads().iter().copied().find(|w| w.id().eq_ignore_ascii_case(key) || w.name() == key)
}
/// By name.
pub fn find_runtime(name: &str) -> Option<&'static RuntimeInfo> {
    runtimes().iter().find(|r| r.name == name)
}
