//! harness/src/measure/session.rs: from a plan to a closed journal. Question: what comes next, what has
//! been done already, and when is it over?
//!
//! # Invariants
//! - A finished epoch is never run again, in whichever part of the session it was measured.
//! - However a session ends (complete, interrupt, fault of a contender), its journal says so.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::check::expected;
use super::epoch::{EpochInput, measure_epoch};
use super::noise::RealOutside;
use super::order::{Orders, Purpose};
use super::{Interrupts, Progress, rounds};
use crate::contender::{Client, Fault, FaultKind, Launcher};
use crate::error::Result;
use crate::plan::Plan;
use crate::store::{Epoch, EpochFault, Journal, Note, Process, Record, Warm};
use crate::verdict;

/// How the measuring ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All that was planned.
    Complete,
    /// The user stopped it.
    Interrupted,
}

/// A session under way.
pub struct Session<'a> {
    plan: &'a Plan,
    journal: &'a mut Journal,
    launcher: &'a Launcher,
    interrupts: &'a Interrupts,
    progress: &'a Progress,
    outside: RealOutside,
    part: u32,
    start: Instant,
    /// Every epoch in the journal, of all parts.
    pub epochs: Vec<Epoch>,
    /// (cell, arm) that failed while being timed.
    out: BTreeSet<(usize, usize)>,
    /// (cell, arm) that must be stopped by signal while off stage.
    restless: BTreeSet<(usize, usize)>,
    /// Cells given up because of the time budget.
    shed: BTreeSet<usize>,
    /// What the epochs of each cell took in this part, in seconds.
    costs: BTreeMap<usize, Vec<f64>>,
}

/// How far above the time budget a session may run before cells are given up.
const OVERRUN: f64 = 1.35;
/// No cell is given up before this share of the first round is done: the projection is too rough.
const SHED_FROM: f64 = 0.2;

impl<'a> Session<'a> {
    /// Takes up `plan`, with the epochs that earlier parts have measured. `start`: when this part
    /// began, for the time budget.
    pub fn new(
        plan: &'a Plan,
        journal: &'a mut Journal,
        launcher: &'a Launcher,
        interrupts: &'a Interrupts,
        progress: &'a Progress,
        cpus: Vec<usize>,
        start: Instant,
    ) -> Session<'a> {
        Session {
            plan,
            journal,
            launcher,
            interrupts,
            progress,
            outside: RealOutside::new(cpus),
            part: 1,
            start,
            epochs: Vec::new(),
            out: BTreeSet::new(),
            restless: BTreeSet::new(),
            shed: BTreeSet::new(),
            costs: BTreeMap::new(),
        }
    }

    /// Goes on after `epochs`, measured by earlier parts, as part number `part`.
    pub fn resume(&mut self, epochs: Vec<Epoch>, part: u32) {
        self.part = part;
        for epoch in &epochs {
            self.learn(epoch);
        }
        self.epochs = epochs;
    }

    /// What an epoch tells about later ones.
    fn learn(&mut self, epoch: &Epoch) {
        self.out.extend(epoch.fault.as_ref().map(|f| (epoch.cell, f.arm)));
        let burn = self.plan.drop.idle_burn;
        let over = epoch.processes.iter().filter(|p| p.idle_burn > burn || p.stopped);
        self.restless.extend(over.map(|p| (epoch.cell, p.arm)));
    }

    /// Runs what is left. Every epoch is on disk before the next starts.
    ///
    /// # Errors
    /// I/O of the journal. Faults of contenders are results, not errors.
    pub fn measure(&mut self) -> Result<Ended> {
        for round in 0.. {
            let needs = |cell, below| self.needs_more(cell, below);
            let pairs = rounds::pairs(self.plan, round, needs);
            if pairs.is_empty() || (round > 0 && self.over_budget(1.0)) {
                break;
            }
            let done = pairs.iter().filter(|p| self.is_done(**p)).count();
            self.progress.stretch("measuring", pairs.len() as u64, done as u64);
            for (i, &(cell, epoch)) in pairs.iter().enumerate() {
                if self.is_done((cell, epoch)) || self.shed.contains(&cell) {
                    continue;
                }
                if self.interrupts.asked() {
                    return Ok(Ended::Interrupted);
                }
                let from = Instant::now();
                if !self.epoch(cell, epoch)? {
                    return Ok(Ended::Interrupted);
                }
                self.costs.entry(cell).or_default().push(from.elapsed().as_secs_f64());
                self.progress.step(&self.plan.cells[cell].key());
                let share = (i + 1) as f64 / pairs.len() as f64;
                self.shed_if_late(round, &pairs[i + 1..], share)?;
            }
        }
        Ok(Ended::Complete)
    }

    fn is_done(&self, (cell, epoch): (usize, u32)) -> bool {
        self.epochs.iter().any(|e| (e.cell, e.epoch) == (cell, epoch) && e.fault.is_none())
    }

    /// Judged by the epochs numbered below `below`.
    fn needs_more(&self, cell: usize, below: u32) -> bool {
        let mine: Vec<&Epoch> =
            self.epochs.iter().filter(|e| e.cell == cell && e.epoch < below).collect();
        verdict::needs_more(self.plan, cell, &mine)
    }

    fn over_budget(&self, factor: f64) -> bool {
        let spent = self.start.elapsed().as_secs_f64();
        self.plan.budget_s.is_some_and(|b| spent > b as f64 * factor)
    }

    /// Gives a cell up while the first round looks like passing the budget: of the least important
    /// tier, the one with the most still to come.
    fn shed_if_late(&mut self, round: u32, rest: &[(usize, u32)], share: f64) -> Result<()> {
        let Some(budget) = self.plan.budget_s.filter(|_| round == 0 && share >= SHED_FROM) else {
            return Ok(());
        };
        let mean = |costs: &[f64]| costs.iter().sum::<f64>() / costs.len().max(1) as f64;
        let all: Vec<f64> = self.costs.values().flatten().copied().collect();
        let mut left: BTreeMap<usize, f64> = BTreeMap::new();
        for (cell, _) in rest.iter().filter(|p| !self.shed.contains(&p.0) && !self.is_done(**p)) {
            let price = self.costs.get(cell).map_or_else(|| mean(&all), |c| mean(c));
            *left.entry(*cell).or_insert(0.0) += price;
        }
        let total = self.start.elapsed().as_secs_f64() + left.values().sum::<f64>();
        if total <= budget as f64 * OVERRUN || left.len() < 2 {
            return Ok(());
        }
        let tier = |cell: usize| self.plan.cells[cell].tier;
        let worst = left
            .iter()
            .max_by(|a, b| tier(*a.0).cmp(&tier(*b.0)).then(a.1.total_cmp(b.1)).then(a.0.cmp(b.0)));
        let Some((&cell, seconds)) = worst else { return Ok(()) };
        let key = self.key(cell);
        let text = format!("{key}: given up, {seconds:.0} s more would pass the time budget");
        self.shed.insert(cell);
        self.note("budget", &text)
    }

    fn note(&mut self, what: &str, text: &str) -> Result<()> {
        self.progress.detail(text);
        let note = Note { what: what.to_string(), text: text.to_string(), part: self.part };
        self.journal.append(&Record::Note(note))
    }

    /// Measures one epoch of one cell, again without a contender that fails. False if the user
    /// stopped it.
    fn epoch(&mut self, cell: usize, number: u32) -> Result<bool> {
        let entries = self.plan.cells[cell].entries.iter();
        let arms: Vec<usize> = entries.map(|e| e.arm).collect();
        for attempt in 0..=arms.len() as u32 {
            let arms: Vec<usize> =
                arms.iter().copied().filter(|a| !self.out.contains(&(cell, *a))).collect();
            if arms.is_empty() {
                break;
            }
            let (mut epoch, warms) = match self.attempt(cell, number, &arms) {
                Ok(done) => done,
                Err((_, fault)) if fault.kind == FaultKind::Interrupted => return Ok(false),
                Err((arm, fault)) => (self.failed(cell, number, arm, &fault), Vec::new()),
            };
            epoch.attempt = attempt;
            self.learn(&epoch);
            for warm in warms {
                self.journal.append(&Record::Warm(warm))?;
            }
            self.journal.append(&Record::Epoch(Box::new(epoch.clone())))?;
            self.journal.sync()?;
            let failed = epoch.fault.is_some();
            let how = epoch.drop.as_ref().map_or("done".to_string(), |why| format!("void: {why}"));
            self.progress.detail(&format!("{}: epoch {number} {how}", self.key(cell)));
            self.epochs.push(epoch);
            if !failed {
                break;
            }
        }
        Ok(true)
    }

    fn key(&self, cell: usize) -> String {
        self.plan.cells[cell].key()
    }

    fn failed(&self, cell: usize, number: u32, arm: usize, fault: &Fault) -> Epoch {
        let (id, key) = (&self.plan.arms[arm].id, self.key(cell));
        self.progress.warn(&format!("{id}, {key}: {}: {}", fault.kind.word(), fault.detail));
        let what = fault.kind.word().to_string();
        Epoch {
            cell,
            epoch: number,
            drop: Some(format!("{id} failed")),
            fault: Some(EpochFault { arm, what, detail: fault.detail.clone() }),
            ..Epoch::default()
        }
    }

    /// Fresh processes in random order, warm-up, blocks, end of the processes.
    fn attempt(
        &mut self,
        cell: usize,
        number: u32,
        arms: &[usize],
    ) -> std::result::Result<(Epoch, Vec<Warm>), (usize, Fault)> {
        let orders = Orders::new(self.plan.seed);
        let place = [cell as u64, u64::from(number), 0];
        let mut actors = Vec::new();
        for arm in orders.shuffle(arms, Purpose::Start, place) {
            let (client, process) = self.start_one(cell, arm).map_err(|fault| (arm, fault))?;
            actors.push((arm, client, process));
        }
        let input = EpochInput {
            cell,
            epoch: number,
            iters: self.plan.cells[cell].iters,
            effort: &self.plan.effort,
            rules: &self.plan.drop,
            orders,
        };
        let (epoch, warms, clients) = measure_epoch(&input, actors, &mut self.outside)?;
        for (client, arm) in clients.into_iter().zip(&epoch.start_order) {
            client.freeze(false);
            if let Some(how) = client.quit() {
                let detail = format!("{how}, after it was asked to quit");
                return Err((*arm, Fault::new(FaultKind::Died, detail)));
            }
        }
        Ok((epoch, warms))
    }

    fn start_one(&self, cell: usize, arm: usize) -> std::result::Result<(Client, Process), Fault> {
        let (spec, target) = (&self.plan.arms[arm], &self.plan.cells[cell]);
        let workers = spec.fixed_workers.unwrap_or(target.workers);
        let expected = expected(target, workers);
        let (client, ready) = Client::start(self.launcher, spec, target, expected)?
            .map_err(|reason| Fault::new(FaultKind::Error, format!("unsupported: {reason}")))?;
        let list =
            |cpus: Vec<usize>| cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let process = Process {
            arm,
            start_ns: ready.start_ns,
            workers: ready.facts.workers,
            threads: ready.facts.threads.map(|n| n as u64),
            cpus: ready.facts.cpus.map(list),
            stopped: self.restless.contains(&(cell, arm)),
            ..Process::default()
        };
        Ok((client, process))
    }
}
