//! harness/tests/common/mod.rs: sessions in made-up time. A journal like a real one, from contenders
//! whose true speeds are known, so that reports and verdicts can be tested against the truth.
#![allow(dead_code, unreachable_pub)]

use std::cell::Cell as Shared;
use std::collections::BTreeMap;
use std::rc::Rc;

use stealbench::contender::{Fault, Timed};
use stealbench::measure::{Actor, EpochInput, Noise, Orders, Outside, Purpose, measure_epoch};
use stealbench::plan::{Arm, Cell, Config, DropRules, Effort, Entry, Mode, Plan, SizeName};
use stealbench::store::{Check, Env, Epoch, Journal, Process, Record, Session};
use stealbench_workloads::protocol::{Checked, Sample};

/// How the made-up machine behaves.
#[derive(Clone, Copy, Default)]
pub struct World {
    /// The machine's speed goes up and down by this much (in logs) every 5 s: nearly linear drift
    /// within a block.
    pub drift: f64,
    /// The first process that was started is slower by this share.
    pub first_started: f64,
    /// Standard deviation of the log of a sample, about.
    pub noise: f64,
    /// Seed of the noise.
    pub seed: u64,
}

/// A contender that takes `ns` for an iteration.
struct Made {
    clock: Rc<Shared<u64>>,
    random: Rc<Shared<u64>>,
    ns: f64,
    world: World,
}

/// A number in -1..1, from a splitmix step.
fn random(state: &Shared<u64>) -> f64 {
    state.set(state.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
    let mut x = state.get();
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

impl Actor for Made {
    fn run(&mut self, iters: u64) -> Result<Timed, Fault> {
        let phase = self.clock.get() as f64 / 5e9 * std::f64::consts::TAU;
        let drift = self.world.drift * phase.sin();
        let noise = self.world.noise * (random(&self.random) + random(&self.random));
        let ns = (self.ns * iters as f64 * (drift + noise).exp()).round() as u64;
        self.clock.set(self.clock.get() + ns + 20_000);
        let checked = Checked { answer: 1, units: 1, inlined: 0 };
        let sample = Sample {
            ns,
            wall_ns: ns,
            checked,
            cpu_ns: Some(ns),
            voluntary: Some(3),
            involuntary: Some(0),
            max_rss_kib: Some(4096),
            latency: None,
            counters: BTreeMap::new(),
        };
        Ok(Timed { sample, outside_ns: ns + 20_000 })
    }
    fn cpu_ns(&self) -> Option<u64> {
        Some(0)
    }
    fn freeze(&self, _: bool) {}
}

struct Quiet(Rc<Shared<u64>>);

impl Outside for Quiet {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }
    fn block_starts(&mut self, _: Option<u64>) {}
    fn block_ends(&mut self, _: Option<u64>) -> Noise {
        Noise { steal: Some(0.0), foreign: Some(0.0) }
    }
}

/// A plan with `arms` (the first is the reference, `serial` the baseline) and a null arm, and a cell a
/// worker count for each workload name.
pub fn plan(arms: &[&str], workloads: &[&str], workers: &[usize], seed: u64) -> Plan {
    let arm = |id: &str, runtime: &str| Arm {
        id: id.to_string(),
        runtime: runtime.to_string(),
        policy: None,
        version: "1.0".to_string(),
        label: String::new(),
        null: id == "null",
        fixed_workers: (runtime == "serial").then_some(1),
    };
    let mut list: Vec<Arm> = arms.iter().map(|a| arm(a, a)).collect();
    list.push(arm("null", arms[0]));
    let lane = "idiomatic".to_string();
    let cell = |name: &&str, n: &usize| Cell {
        workload: format!("X{:02}", workloads.iter().position(|w| w == name).unwrap()),
        name: name.to_string(),
        group: "tree".to_string(),
        about: "a made-up program".to_string(),
        unit: "task".to_string(),
        params: BTreeMap::from([("n".to_string(), "20".to_string())]),
        workers: *n,
        placement: "none".to_string(),
        units: 1000,
        ceiling: (*n > 1).then_some(1.93),
        entries: (0..list.len()).map(|arm| Entry { arm, lane: lane.clone() }).collect(),
        absent: BTreeMap::new(),
        failed: BTreeMap::new(),
        cpu_clock: false,
        iters: 10,
        tier: 0,
    };
    let cells = workloads.iter().flat_map(|w| workers.iter().map(move |n| cell(w, n))).collect();
    Plan {
        mode: Mode::Quick,
        seed,
        reference: 0,
        baseline: arms.iter().position(|a| *a == "serial"),
        arms: list,
        cells,
        left_out: BTreeMap::new(),
        effort: effort(),
        confidence: 0.99,
        margin: 0.01,
        drop: DropRules {
            steal: 0.02,
            foreign: 0.2,
            idle_burn: 0.01,
            dropped: 0.3,
            gap_share: 0.05,
            gap_ns: 1_000_000,
        },
        budget_s: None,
        timeout_ms: 1000,
        cpus: 2,
    }
}

fn effort() -> Effort {
    Effort {
        epochs_min: 8,
        epochs_max: 8,
        target_half_width: None,
        blocks: 2,
        warm_window: 4,
        warm_samples: 5,
        warm_ns: 150_000_000,
        aim_ns: 6_000_000,
        floor_ns: 1_000_000,
        cap_ns: 40_000_000,
    }
}

/// Measures `plan` in made-up time. `ns`: true time of an iteration of (arm id, cell).
pub fn epochs(plan: &Plan, world: World, ns: impl Fn(&Arm, &Cell) -> f64) -> Vec<Epoch> {
    let clock = Rc::new(Shared::new(0));
    let noise = Rc::new(Shared::new(world.seed));
    let orders = Orders::new(plan.seed);
    let mut out = Vec::new();
    for (c, cell) in plan.cells.iter().enumerate() {
        for number in 0..plan.effort.epochs_min {
            let arms: Vec<usize> = cell.entries.iter().map(|e| e.arm).collect();
            let start = orders.shuffle(&arms, Purpose::Start, [c as u64, u64::from(number), 0]);
            let made = |(place, arm): (usize, &usize)| {
                let handicap = if place == 0 { 1.0 + world.first_started } else { 1.0 };
                let ns = ns(&plan.arms[*arm], cell) * handicap;
                let (clock, random) = (Rc::clone(&clock), Rc::clone(&noise));
                let process = Process { arm: *arm, workers: cell.workers, ..Process::default() };
                (*arm, Made { clock, random, ns, world }, process)
            };
            let actors = start.iter().enumerate().map(made).collect();
            let input = EpochInput {
                cell: c,
                epoch: number,
                iters: cell.iters,
                effort: &plan.effort,
                rules: &plan.drop,
                orders,
            };
            let done = measure_epoch(&input, actors, &mut Quiet(Rc::clone(&clock)));
            out.push(done.unwrap_or_else(|(arm, f)| panic!("arm {arm}: {}", f.detail)).0);
        }
    }
    out
}

/// Writes a journal with `plan` and `epochs` to `dir`.
pub fn journal(dir: &std::path::Path, plan: &Plan, epochs: Vec<Epoch>) {
    let mut journal = Journal::create(dir).unwrap();
    let config = Config {
        mode: Mode::Quick,
        size: SizeName::Smoke,
        filters: Vec::new(),
        workloads: Vec::new(),
        runtimes: Vec::new(),
        policies: Vec::new(),
        workers: vec![1, 2],
        params: Vec::new(),
        reference: plan.arms[0].runtime.clone(),
        seed: plan.seed,
        budget_s: None,
        timeout_ms: 1000,
    };
    let session = Session {
        session_id: "00000000-0000-7000-8000-000000000000".to_string(),
        tool: "stealbench".to_string(),
        version: "0.1.0".to_string(),
        command: config.command(),
        config,
        config_hash: "00000000".to_string(),
        seed: plan.seed,
        schema: "stealbench schema".to_string(),
    };
    let facts = [("cpu_model", "a made-up <CPU>".into()), ("logical_cpus", 2.into())];
    let facts = facts.into_iter().map(|(k, v)| (k.to_string(), v)).collect();
    let env = Env { class: "made-up".to_string(), class_fields: Vec::new(), facts };
    journal.append(&Record::Session(Box::new(session))).unwrap();
    journal.append(&Record::Env(env)).unwrap();
    journal.append(&Record::Plan(Box::new(plan.clone()))).unwrap();
    for (i, arm) in plan.arms.iter().enumerate() {
        let idle_share = Some([0.002, 0.0125, 1.0][i % 3]);
        let check = Check { arm: Some(arm.id.clone()), idle_share, ..Check::default() };
        journal.append(&Record::Check(check)).unwrap();
    }
    for epoch in epochs {
        journal.append(&Record::Epoch(Box::new(epoch))).unwrap();
    }
    journal.sync().unwrap();
}
