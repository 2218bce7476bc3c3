//! harness/src/contender/client.rs: the typed side of the line protocol. Question: is every reply what it
//! has to be, before any figure in it is believed?

use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use stealbench_workloads::protocol::{
    Checked, Facts, Fields, Greeting, Idle, PROTO, Reply, Request, Sample, Setup,
};
use stealbench_workloads::{Launch, Params, find_runtime};

use super::{Broken, Fault, FaultKind, Process};
use crate::plan::{Arm, Cell};

/// How contenders are started and how long they may take.
#[derive(Clone)]
pub struct Launcher {
    /// This program: runs the contenders that are built in.
    pub own: PathBuf,
    /// How long any answer may take.
    pub timeout: Duration,
    /// Whether the user wants everything to stop now.
    pub stop: Rc<dyn Fn() -> bool>,
}

/// A contender that has answered `hello` and `setup`.
pub struct Client {
    process: Process,
    launcher: Launcher,
    expected: (u64, u64),
}

/// What a contender said while it got ready.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Who it is.
    pub greeting: Greeting,
    /// What it runs on.
    pub facts: Facts,
    /// From start to here.
    pub start_ns: u64,
}

/// A timed region, with the time that passed outside.
#[derive(Clone, Debug)]
pub struct Timed {
    /// What it reported.
    pub sample: Sample,
    /// From sending the request to having the reply.
    pub outside_ns: u64,
}

/// How long a contender may take to end after it was asked to.
const FAREWELL: Duration = Duration::from_secs(2);

impl Client {
    /// Starts `arm` and sets it up for `cell`. `expected`: answer and units of one iteration.
    ///
    /// # Errors
    /// What went wrong; a reason not to take part (`unsupported`) comes as `Ok(Err(reason))`.
    pub fn start(
        launcher: &Launcher,
        arm: &Arm,
        cell: &Cell,
        expected: (u64, u64),
    ) -> Result<Result<(Client, Ready), String>, Fault> {
        let from = Instant::now();
        let (program, args) = command(launcher, arm)?;
        let process = Process::start(&program, &args)
            .map_err(|e| Fault::new(FaultKind::NoStart, format!("{}: {e}", program.display())))?;
        let mut client = Client { process, launcher: launcher.clone(), expected };
        let greeting = client.ask(&Request::Hello)?.map_err(|why| client.garbage(&why))?;
        let greeting = Greeting::from_fields(greeting).map_err(|why| client.garbage(&why))?;
        if greeting.proto != PROTO || greeting.runtime != arm.runtime {
            let got = format!("it is {} with protocol {}", greeting.runtime, greeting.proto);
            return Err(client.garbage(&got));
        }
        let workers = arm.fixed_workers.unwrap_or(cell.workers);
        let setup = Request::Setup(Setup {
            workload: cell.workload.clone(),
            workers,
            policy: arm.policy.clone(),
            params: Params(cell.params.clone()),
        });
        let facts = match client.ask(&setup)? {
            Ok(fields) => Facts::from_fields(&fields).map_err(|why| client.garbage(&why))?,
            Err(reason) => return Ok(Err(reason)),
        };
        if facts.workers != workers {
            let detail = format!("runs {} workers, want {workers}", facts.workers);
            return Err(client.fault(FaultKind::Workers, detail));
        }
        let start_ns = from.elapsed().as_nanos() as u64;
        Ok(Ok((client, Ready { greeting, facts, start_ns })))
    }

    /// One untimed iteration.
    ///
    /// # Errors
    /// Also if the answer or the number of units is wrong.
    pub fn check(&mut self) -> Result<Checked, Fault> {
        let fields = self.done(&Request::Check)?;
        let checked = Checked::from_fields(&fields).map_err(|why| self.garbage(&why))?;
        self.right(checked)
    }

    /// `iters` iterations in one timed region.
    ///
    /// # Errors
    /// Also if the answer or the number of units is wrong, or the inner time exceeds the outer.
    pub fn run(&mut self, iters: u64) -> Result<Timed, Fault> {
        let from = Instant::now();
        let fields = self.done(&Request::Run { iters })?;
        let outside_ns = from.elapsed().as_nanos() as u64;
        let sample = Sample::from_fields(&fields).map_err(|why| self.garbage(&why))?;
        self.right(sample.checked)?;
        if sample.wall_ns > outside_ns || sample.wall_ns == 0 {
            let got = sample.wall_ns;
            let detail = format!("says it took {got} ns, and {outside_ns} ns passed outside");
            return Err(self.fault(FaultKind::Clock, detail));
        }
        Ok(Timed { sample, outside_ns })
    }

    /// Lets it come to rest. Takes 20 ms or more.
    ///
    /// # Errors
    /// As for every request.
    pub fn park(&mut self) -> Result<Idle, Fault> {
        Ok(Idle::from_fields(&self.done(&Request::Park)?))
    }

    /// Asks it to end, and kills it if it does not. What was wrong with its end, if anything.
    pub fn quit(mut self) -> Option<String> {
        let _ = self.process.send(&Request::Quit.encode());
        self.process.finish(FAREWELL)
    }

    /// CPU time of the process so far, in ns.
    pub fn cpu_ns(&self) -> Option<u64> {
        self.process.cpu_ns()
    }

    /// Stops all its threads, or lets them go on.
    pub fn freeze(&self, stop: bool) {
        self.process.freeze(stop);
    }

    fn right(&self, checked: Checked) -> Result<Checked, Fault> {
        if checked.is_right(self.expected) {
            return Ok(checked);
        }
        let (answer, units) = self.expected;
        let (got, created) = (checked.answer, checked.units + checked.inlined);
        let detail = if got == answer {
            format!("answer {got} is right, but from {created} units, want {units}")
        } else {
            format!("answer {got}, want {answer}")
        };
        Err(self.fault(FaultKind::WrongAnswer, detail))
    }

    /// A request whose only good reply is `ok`.
    fn done(&mut self, request: &Request) -> Result<Fields, Fault> {
        self.ask(request)?.map_err(|why| self.garbage(&format!("unsupported {why}")))
    }

    /// Sends `request`; the fields of `ok`, or the reason of `unsupported` in the inner error.
    fn ask(&mut self, request: &Request) -> Result<Result<Fields, String>, Fault> {
        let line = request.encode();
        let verb = line.split(' ').next().unwrap_or("").to_string();
        // A child that is gone shows as the end of its output just below, with its status.
        let _ = self.process.send(&line);
        let stop = Rc::clone(&self.launcher.stop);
        let timeout = self.launcher.timeout;
        let reply = self.process.receive(timeout, &*stop).map_err(|b| self.broken(&verb, b))?;
        match Reply::parse(&reply) {
            Ok(Reply::Ok(fields)) => Ok(Ok(fields)),
            Ok(Reply::Unsupported(reason)) => Ok(Err(reason)),
            Ok(Reply::Error(reason)) => Err(self.fault(FaultKind::Error, reason)),
            Err(why) => Err(self.garbage(&why)),
        }
    }

    fn broken(&self, verb: &str, broken: Broken) -> Fault {
        let (kind, detail) = match broken {
            Broken::Ended(how) => (FaultKind::Died, format!("{how}, while asked to {verb}")),
            Broken::TimedOut => {
                let limit = self.launcher.timeout.as_secs_f64();
                (FaultKind::Hung, format!("no answer to {verb} within {limit} s"))
            }
            Broken::Stopped => (FaultKind::Interrupted, "stopped by the user".to_string()),
            Broken::TooLong => (FaultKind::Garbage, format!("endless line as answer to {verb}")),
            Broken::Io(e) => (FaultKind::Died, format!("{e}, while asked to {verb}")),
        };
        self.fault(kind, detail)
    }

    fn garbage(&self, why: &str) -> Fault {
        self.fault(FaultKind::Garbage, why.to_string())
    }

    /// Adds the end of its error output.
    fn fault(&self, kind: FaultKind, detail: String) -> Fault {
        let tail = self.process.error_tail();
        let said = if tail.is_empty() { tail } else { format!("; it said: {tail}") };
        Fault::new(kind, format!("{detail}{said}"))
    }
}

fn command(launcher: &Launcher, arm: &Arm) -> Result<(PathBuf, Vec<String>), Fault> {
    let lost =
        || Fault::new(FaultKind::NoStart, format!("no runtime {} in this build", arm.runtime));
    let info = find_runtime(&arm.runtime).ok_or_else(lost)?;
    Ok(match &info.launch {
        Launch::Own => {
            let args = ["worker", "--runtime", &arm.runtime].map(String::from);
            (launcher.own.clone(), args.to_vec())
        }
        Launch::Program(program, args) => (program.clone(), args.clone()),
    })
}
