//! harness/src/measure/epoch.rs: one epoch. Question: what does each contender take, when all are warm,
//! take turns in palindromes, and only one of them runs at a time?
//!
//! # Invariants
//! - Each timed slot follows an untimed lead-in of the same contender with the same iteration count.
//! - A contender off stage that uses more than its share of CPU time voids the epoch.
//! - Blocks are dropped only by rules that cannot see how the contenders differ.
//! # Not here
//! Processes and signals: contenders are `Actor`s, the machine is an `Outside`, so that a test can run
//! the same code in made-up time.

use std::collections::BTreeMap;

use super::noise::Noise;
use super::order::{Orders, Purpose};
use crate::contender::{Client, Fault, FaultKind, Timed};
use crate::plan::{DropRules, Effort};
use crate::stats::{Steady, median, steady};
use crate::store::{BlockRecord, Epoch, Process, Warm};

/// A contender that is set up.
pub trait Actor {
    /// Runs `iters` iterations; answer and units have been found right if this is `Ok`.
    fn run(&mut self, iters: u64) -> Result<Timed, Fault>;
    /// CPU time used so far, in ns.
    fn cpu_ns(&self) -> Option<u64>;
    /// Stops it entirely, or lets it go on.
    fn freeze(&self, stop: bool);
}

impl Actor for Client {
    fn run(&mut self, iters: u64) -> Result<Timed, Fault> {
        Client::run(self, iters)
    }
    fn cpu_ns(&self) -> Option<u64> {
        Client::cpu_ns(self)
    }
    fn freeze(&self, stop: bool) {
        Client::freeze(self, stop);
    }
}

/// The machine around the contenders.
pub trait Outside {
    /// A monotonic clock.
    fn now_ns(&self) -> u64;
    /// Takes note of the counters. `contenders_cpu_ns`: CPU time of all contenders so far.
    fn block_starts(&mut self, contenders_cpu_ns: Option<u64>);
    /// What happened since.
    fn block_ends(&mut self, contenders_cpu_ns: Option<u64>) -> Noise;
}

/// What an epoch is to do.
pub struct EpochInput<'a> {
    /// Index of the cell.
    pub cell: usize,
    /// Number of the epoch within the cell.
    pub epoch: u32,
    /// Iterations of each sample.
    pub iters: u64,
    /// How much.
    pub effort: &'a Effort,
    /// When to drop.
    pub rules: &'a DropRules,
    /// Where orders come from.
    pub orders: Orders,
}

/// A contender on its way through an epoch.
struct Player<A> {
    arm: usize,
    actor: A,
    process: Process,
    /// Clock and CPU time when it left the stage.
    left: Option<(u64, u64)>,
    latencies: BTreeMap<String, Vec<f64>>,
    /// Gaps between inner and outer clock in undisturbed blocks, in units of what is allowed.
    gaps: Vec<f64>,
}

/// An epoch, how each contender warmed up, and the contenders in the order in which they came.
pub type Measured<A> = (Epoch, Vec<Warm>, Vec<A>);

/// CPU time off stage that is not held against a contender: reading its pipe, going to sleep.
const IDLE_FREE_NS: u64 = 200_000;

/// Warms `actors` (arm, contender, and what is known of its process so far) and runs the blocks.
/// Returns the epoch, how each warmed up, and the contenders.
///
/// # Errors
/// The first contender that failed, and how. What was measured until then is of no use.
pub fn measure_epoch<A: Actor, O: Outside>(
    input: &EpochInput<'_>,
    actors: Vec<(usize, A, Process)>,
    outside: &mut O,
) -> Result<Measured<A>, (usize, Fault)> {
    let mut players: Vec<Player<A>> = actors.into_iter().map(Player::new).collect();
    let arms: Vec<usize> = players.iter().map(|p| p.arm).collect();
    let place = [input.cell as u64, u64::from(input.epoch), 0];
    let warm_order = input.orders.shuffle(&arms, Purpose::Warm, place);
    let warms = warm_up(input, &mut players, &warm_order, outside)?;
    let mut epoch = Epoch {
        cell: input.cell,
        epoch: input.epoch,
        start_order: arms.clone(),
        warm_order,
        ..Epoch::default()
    };
    let mut sorted = arms;
    sorted.sort_unstable();
    for block in 0..input.effort.blocks {
        let place = [place[0], place[1], u64::from(block)];
        let order = input.orders.palindrome(&sorted, place);
        epoch.blocks.push(run_block(input, &mut players, order, outside)?);
    }
    epoch.drop = burned_too_much(input, &players);
    if let Some(player) = players.iter().find(|p| p.clock_is_off()) {
        let detail = "its clock shows much less time than passes outside, in every sample";
        return Err((player.arm, Fault::new(FaultKind::Clock, detail)));
    }
    let (actors, processes) = players.into_iter().map(Player::into_record).unzip();
    epoch.processes = processes;
    Ok((epoch, warms, actors))
}

/// Round-robin until each is steady or at its cap.
fn warm_up<A: Actor, O: Outside>(
    input: &EpochInput<'_>,
    players: &mut [Player<A>],
    order: &[usize],
    outside: &mut O,
) -> Result<Vec<Warm>, (usize, Fault)> {
    let effort = input.effort;
    let mut samples: BTreeMap<usize, (Vec<f64>, u64, Steady)> =
        order.iter().map(|arm| (*arm, (Vec::new(), 0, Steady::NotYet))).collect();
    let mut open: Vec<usize> = order.to_vec();
    while !open.is_empty() {
        for &arm in &open {
            let Some(player) = players.iter_mut().find(|p| p.arm == arm) else { continue };
            let from = outside.now_ns();
            let timed = player.on_stage(outside, |a| a.run(input.iters))?;
            let entry = samples.entry(arm).or_insert((Vec::new(), 0, Steady::NotYet));
            entry.0.push(timed.sample.wall_ns as f64);
            entry.1 += outside.now_ns() - from;
            entry.2 = steady(&entry.0, effort.warm_window);
        }
        open.retain(|arm| {
            let (series, spent, state) = &samples[arm];
            let capped = series.len() >= effort.warm_samples || *spent >= effort.warm_ns;
            *state != Steady::Steady && !capped
        });
    }
    // What a contender does between its last warm-up turn and its first slot is judged like the rest.
    let warm = |(arm, (series, spent_ns, state)): (usize, (Vec<f64>, u64, Steady))| Warm {
        cell: input.cell,
        arm,
        epoch: input.epoch,
        samples: series.len(),
        verdict: if state == Steady::Steady { "steady" } else { "capped" }.to_string(),
        spent_ns,
    };
    Ok(samples.into_iter().map(warm).collect())
}

fn run_block<A: Actor, O: Outside>(
    input: &EpochInput<'_>,
    players: &mut [Player<A>],
    order: Vec<usize>,
    outside: &mut O,
) -> Result<BlockRecord, (usize, Fault)> {
    outside.block_starts(all_cpu(players));
    let mut block = BlockRecord { iters: input.iters, ok: true, ..BlockRecord::default() };
    let mut gaps = Vec::new();
    for &arm in &order {
        let Some(player) = players.iter_mut().find(|p| p.arm == arm) else { continue };
        let timed = player.on_stage(outside, |actor| {
            actor.run(input.iters)?;
            actor.run(input.iters)
        })?;
        gaps.push((arm, player.note(&timed, input.rules)));
        block.ns.push(timed.sample.ns);
        block.outside_ns.push(timed.outside_ns);
    }
    let noise = outside.block_ends(all_cpu(players));
    (block.steal, block.foreign) = (noise.steal, noise.foreign);
    block.drop = drop_reason(&noise, input.rules);
    if block.drop.is_none() {
        for player in players.iter_mut() {
            player.gaps.extend(gaps.iter().filter(|g| g.0 == player.arm).map(|g| g.1));
        }
        let wide = gaps.iter().any(|g| g.1 > 1.0);
        block.drop = wide.then(|| "gap between the inner and the outer clock".to_string());
    }
    block.order = order;
    Ok(block)
}

fn drop_reason(noise: &Noise, rules: &DropRules) -> Option<String> {
    if noise.steal.is_some_and(|s| s > rules.steal) {
        return Some("stolen CPU time".to_string());
    }
    noise.foreign.is_some_and(|f| f > rules.foreign).then(|| "foreign CPU use".to_string())
}

fn all_cpu<A: Actor>(players: &[Player<A>]) -> Option<u64> {
    players.iter().map(|p| p.actor.cpu_ns()).sum()
}

/// Names the worst of those that did not rest while off stage.
fn burned_too_much<A>(input: &EpochInput<'_>, players: &[Player<A>]) -> Option<String> {
    let over = |p: &&Player<A>| p.process.idle_burn > input.rules.idle_burn;
    let burn = |p: &&Player<A>| p.process.idle_burn;
    let worst = players.iter().filter(over).max_by(|a, b| burn(a).total_cmp(&burn(b)))?;
    Some(format!("arm {} was busy while off stage", worst.arm))
}

impl<A: Actor> Player<A> {
    fn new((arm, actor, process): (usize, A, Process)) -> Player<A> {
        let (latencies, gaps) = (BTreeMap::new(), Vec::new());
        Player { arm, actor, process, left: None, latencies, gaps }
    }

    /// Judges the time since it left the stage, lets it play, and takes note of when it leaves.
    fn on_stage<O: Outside>(
        &mut self,
        outside: &O,
        play: impl FnOnce(&mut A) -> Result<Timed, Fault>,
    ) -> Result<Timed, (usize, Fault)> {
        if let Some(((then, cpu_then), cpu)) = self.left.zip(self.actor.cpu_ns()) {
            let off = outside.now_ns().saturating_sub(then).max(1);
            let burned = cpu.saturating_sub(cpu_then).saturating_sub(IDLE_FREE_NS);
            self.process.idle_burn = self.process.idle_burn.max(burned as f64 / off as f64);
        }
        if self.process.stopped {
            self.actor.freeze(false);
        }
        let timed = play(&mut self.actor).map_err(|fault| (self.arm, fault))?;
        if self.process.stopped {
            self.actor.freeze(true);
        }
        self.left = self.actor.cpu_ns().map(|cpu| (outside.now_ns(), cpu));
        Ok(timed)
    }

    /// Adds what a timed slot reported. Returns how far inner and outer clock are apart, in units of
    /// what is allowed: above 1 is too much.
    fn note(&mut self, timed: &Timed, rules: &DropRules) -> f64 {
        let sample = &timed.sample;
        let add = |sum: &mut Option<u64>, n: Option<u64>| {
            if let Some(n) = n {
                *sum = Some(sum.unwrap_or(0) + n);
            }
        };
        add(&mut self.process.cpu_ns, sample.cpu_ns);
        self.process.max_rss = self.process.max_rss.max(sample.max_rss_kib.map(|k| k * 1024));
        let mut counters = sample.counters.clone();
        counters.extend(sample.voluntary.map(|n| ("voluntary_switches".to_string(), n)));
        counters.extend(sample.involuntary.map(|n| ("involuntary_switches".to_string(), n)));
        for (name, n) in counters {
            *self.process.counters.entry(name).or_insert(0) += n;
        }
        if let Some(l) = sample.latency {
            let all =
                [("p50", l.p50), ("p90", l.p90), ("p99", l.p99), ("p999", l.p999), ("max", l.max)];
            for (name, ns) in all {
                self.latencies.entry(name.to_string()).or_default().push(ns as f64);
            }
        }
        let gap = timed.outside_ns - sample.wall_ns;
        let share = gap as f64 / timed.outside_ns as f64;
        (gap as f64 / rules.gap_ns as f64).min(share / rules.gap_share)
    }

    /// Whether every sample is off, on a machine that was quiet: then it is not that this process or
    /// the contender's had to wait for a CPU.
    fn clock_is_off(&self) -> bool {
        self.gaps.len() >= 4 && self.gaps.iter().all(|gap| *gap > 1.0)
    }

    fn into_record(self) -> (A, Process) {
        let mut process = self.process;
        let middle = |v: &Vec<f64>| median(v).unwrap_or(0.0) as u64;
        process.latency_ns = self.latencies.iter().map(|(k, v)| (k.clone(), middle(v))).collect();
        (self.actor, process)
    }
}
