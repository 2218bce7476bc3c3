//! One runtime, started, with one workload set up on it: what the line protocol serves, as calls.
//!
//! For one process that measures one contender, as the worker does, or for a suite that measures
//! several in one process and says so.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::drive::{self, Body, Job, Region};
use crate::protocol::{Checked, Facts, Idle, Latency, Sample, Setup};
use crate::registry::{Clock, RuntimeInfo, Support, Workload, find_runtime, find_workload};
use crate::runtimes::{self, Running, Seen};
use crate::system;

/// How long all workers have to be seen at once before the count is called wrong.
const RENDEZVOUS_LIMIT: Duration = Duration::from_secs(5);

/// Why a session could not be set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The runtime does not run this workload, and why: an entry of the table, no failure.
    Unsupported(String),
    /// Something else, in one line.
    Error(String),
}

/// A started runtime with the workers that were seen in it.
struct Started {
    workers: usize,
    policy: Option<String>,
    running: Box<dyn Running>,
    seen: Seen,
}

/// A runtime and what is set up on it. One at a time a process and runtime: pools are found through
/// statics, as their users find them.
pub struct Session {
    info: &'static RuntimeInfo,
    started: Option<Started>,
    ready: Option<(&'static dyn Workload, Arc<Body>)>,
}

impl Session {
    /// A session of the runtime called `name`; nothing is started yet.
    ///
    /// # Errors
    /// An unknown name, with those that are known.
    pub fn new(name: &str) -> Result<Session, String> {
        let known = || runtimes::ALL.iter().map(|r| r.name).collect::<Vec<_>>().join(", ");
        let info = find_runtime(name)
            .ok_or_else(|| format!("unknown runtime {name}: want one of {}", known()))?;
        Ok(Session { info, started: None, ready: None })
    }

    /// What the registry says of the runtime.
    pub fn runtime(&self) -> &'static RuntimeInfo {
        self.info
    }

    /// Starts the runtime, unless it runs already with these workers and policy, sees all workers in
    /// a rendezvous, and makes the workload's input. Blocks up to some seconds.
    ///
    /// # Errors
    /// [`Refusal`]: unsupported, or one line that names what is wrong and what is wanted.
    pub fn setup(&mut self, setup: &Setup) -> Result<Facts, Refusal> {
        self.ready = None;
        let workload = find_workload(&setup.workload)
            .ok_or_else(|| Refusal::Error(format!("unknown workload {}", setup.workload)))?;
        let params = workload
            .check(&setup.params)
            .map_err(|e| Refusal::Error(format!("{}: {e}", workload.id())))?;
        match workload.support_for(self.info.name, &params) {
            Support::Idiomatic | Support::Literal => {}
            Support::NotExpressible(reason) => return Err(Refusal::Unsupported(reason.into())),
            Support::Absent(reason) => return Err(Refusal::Unsupported(reason)),
        }
        let workers = self.info.fixed_workers.unwrap_or(setup.workers);
        self.start(workers, setup.policy.as_deref()).map_err(Refusal::Error)?;
        // An input may need what this machine does not give, such as a folder for temporary files.
        let body = drive::caught(|| workload.body(self.info.name, &params, workers))
            .map_err(Refusal::Error)?
            .ok_or_else(|| Refusal::Unsupported("no adapter".into()))?;
        self.ready = Some((workload, Arc::new(body)));
        self.facts().map_err(Refusal::Error)
    }

    fn start(&mut self, workers: usize, policy: Option<&str>) -> Result<(), String> {
        if let Some(policy) = policy.filter(|_| !self.info.policies) {
            return Err(format!("policy={policy}: {} takes none, want -", self.info.name));
        }
        let same = |s: &Started| s.workers == workers && s.policy.as_deref() == policy;
        if self.started.as_ref().is_some_and(same) {
            return Ok(());
        }
        self.started = None; // Stops the old one before the new one starts.
        let running = drive::caught(|| runtimes::start(self.info.name, workers, policy))??;
        let seen = runtimes::rendezvous(&*running, workers, RENDEZVOUS_LIMIT)
            .map_err(|e| format!("{}: {e}", self.info.name))?;
        let policy = policy.map(str::to_string);
        self.started = Some(Started { workers, policy, running, seen });
        Ok(())
    }

    /// What was read back of the runtime.
    ///
    /// # Errors
    /// If nothing is set up.
    pub fn facts(&self) -> Result<Facts, String> {
        let seen = &self.started.as_ref().ok_or(NOT_SET_UP)?.seen;
        let cpus: Vec<usize> = seen.cpus.iter().copied().collect();
        let cpus = (!cpus.is_empty()).then_some(cpus);
        Ok(Facts { workers: seen.workers, threads: system::thread_count(), cpus })
    }

    /// One iteration, for its answer.
    ///
    /// # Errors
    /// If nothing is set up, or the message of the panic that ended it.
    pub fn check(&self) -> Result<Checked, String> {
        let (_, region) = self.region(1)?;
        Ok(checked(&region))
    }

    /// `iters` iterations in one timed region.
    ///
    /// # Errors
    /// As [`Session::check`], and if two iterations disagree.
    pub fn run(&self, iters: u64) -> Result<Sample, String> {
        let (workload, _) = self.ready.as_ref().ok_or(NOT_SET_UP)?;
        let (counters, mut region) = self.region(iters)?;
        let ns = match workload.clock() {
            Clock::Wall => region.wall_ns,
            Clock::Cpu => region.cpu_ns.ok_or("this system has no CPU clock of the process")?,
        };
        Ok(Sample {
            ns,
            wall_ns: region.wall_ns,
            checked: checked(&region),
            cpu_ns: region.cpu_ns,
            voluntary: region.voluntary,
            involuntary: region.involuntary,
            max_rss_kib: region.max_rss_kib,
            latency: Latency::of(&mut region.outcome.waits_ns),
            counters,
        })
    }

    /// Waits until all workers are idle, at most about a second, and says what idling cost.
    pub fn park(&self) -> Idle {
        let cost = system::settle();
        Idle { cpu_ns: cost.cpu_ns, window_ns: Some(cost.window_ns), busy: cost.busy }
    }

    /// Puts `body` in the place of the workload's own: for the fault knob of the worker.
    pub(crate) fn replace_body(&mut self, body: Body) {
        if let Some((_, old)) = &mut self.ready {
            *old = Arc::new(body);
        }
    }

    fn region(&self, iters: u64) -> Result<(BTreeMap<String, u64>, Region), String> {
        let (Some(started), Some((_, body))) = (&self.started, &self.ready) else {
            return Err(NOT_SET_UP.into());
        };
        let before: BTreeMap<_, _> = started.running.counters().into_iter().collect();
        let region = drive::region(body, iters, |job: Job| started.running.enter(job))?;
        if !matches!(**body, Body::Outside(_)) {
            let fixed = started.running.threads_are_fixed();
            on_worker(region.thread, &started.seen, fixed)?;
        }
        let since = |(name, now): (&'static str, u64)| {
            (name.to_string(), now.saturating_sub(before.get(name).copied().unwrap_or(0)))
        };
        let mut counters: BTreeMap<_, _> =
            started.running.counters().into_iter().map(since).collect();
        counters.extend(region.outcome.facts.iter().map(|(k, v)| ((*k).to_string(), *v)));
        Ok((counters, region))
    }
}

const NOT_SET_UP: &str = "nothing is set up: want setup first";

/// The driver of a workload runs on a worker, in every runtime and every sample: from outside, each
/// step would cross threads, and that is another workload.
fn on_worker(driver: u64, seen: &Seen, threads_are_fixed: bool) -> Result<(), String> {
    let on_worker = if threads_are_fixed {
        seen.threads.contains(&driver)
    } else {
        driver != system::thread_id()
    };
    if on_worker { Ok(()) } else { Err("the driver did not run on a worker".into()) }
}

fn checked(region: &Region) -> Checked {
    let outcome = &region.outcome;
    Checked { answer: outcome.answer, units: outcome.units, inlined: outcome.inlined }
}

#[cfg(test)]
mod tests;
