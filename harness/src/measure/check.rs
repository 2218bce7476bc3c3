//! harness/src/measure/check.rs: the pass before the first timing. Question: does every contender give the
//! right answer in every cell, on the workers it was asked for, and how long is one iteration?

use std::collections::BTreeSet;

use stealbench_workloads::{Params, find_workload};

use super::{Interrupts, Progress};
use crate::contender::{Client, Fault, FaultKind, Launcher, Ready};
use crate::error::{Error, Result};
use crate::plan::{Arm, Cell, Plan, choose_iters};
use crate::store::{Build, Check, Journal, Record};

/// What one contender showed in one cell.
struct Trial {
    ready: Ready,
    units: u64,
    inlined: u64,
    ns_per_iter: u64,
    idle_share: Option<f64>,
}

/// Why a contender has no trial.
enum No {
    Unsupported(String),
    Fault(Fault),
}

/// Checks every contender of every cell, writes what it finds, and completes the plan: units, ceilings
/// and iteration counts. Contenders that fail leave their cell; cells without any stay listed.
/// Returns the price of one iteration for each entry of each cell.
///
/// # Errors
/// I/O of the journal, or an interrupt.
pub fn check_pass(
    plan: &mut Plan,
    journal: &mut Journal,
    launcher: &Launcher,
    interrupts: &Interrupts,
    progress: &Progress,
) -> Result<Vec<Vec<u64>>> {
    progress.stretch("checking", plan.cells.len() as u64, 0);
    let (mut met, mut rested) = (BTreeSet::new(), BTreeSet::new());
    let mut trials = Vec::new();
    let mut cells = std::mem::take(&mut plan.cells);
    for cell in &mut cells {
        if interrupts.asked() {
            return Err(Error::Interrupted);
        }
        trials.push(check_cell(plan, cell, journal, launcher, progress, &mut met, &mut rested)?);
        journal.sync()?;
        progress.step(&cell.key());
    }
    plan.cells = cells;
    Ok(trials)
}

fn check_cell(
    plan: &Plan,
    cell: &mut Cell,
    journal: &mut Journal,
    launcher: &Launcher,
    progress: &Progress,
    met: &mut BTreeSet<usize>,
    rested: &mut BTreeSet<(usize, usize)>,
) -> Result<Vec<u64>> {
    cell.units = expected(cell, cell.workers).1;
    let params = Params(cell.params.clone());
    let model = find_workload(&cell.workload).and_then(|w| w.ceiling(&params, cell.workers));
    cell.ceiling = model.filter(|c| c.is_finite());
    let mut prices = Vec::new();
    for entry in cell.entries.clone() {
        let arm = &plan.arms[entry.arm];
        let workers = arm.fixed_workers.unwrap_or(cell.workers);
        let park = rested.insert((entry.arm, workers));
        progress.detail(&format!("{}: checking {}", cell.key(), arm.id));
        match trial(launcher, arm, cell, plan.effort.aim_ns, park) {
            Ok(trial) => {
                if met.insert(entry.arm) {
                    journal.append(&Record::Build(build(entry.arm, arm, &trial.ready)))?;
                }
                prices.push(trial.ns_per_iter);
                journal.append(&Record::Check(passed(cell, arm, &trial)))?;
            }
            Err(No::Fault(fault)) if fault.kind == FaultKind::Interrupted => {
                return Err(Error::Interrupted);
            }
            Err(no) => {
                let check = refused(cell, arm, &no);
                cell.entries.retain(|e| e.arm != entry.arm);
                let list =
                    if matches!(no, No::Fault(_)) { &mut cell.failed } else { &mut cell.absent };
                list.insert(arm.id.clone(), check.observed.clone());
                if check.severity == "error" {
                    progress.warn(&format!("{}, {}: {}", arm.id, cell.key(), check.observed));
                }
                journal.append(&Record::Check(check))?;
            }
        }
    }
    cell.iters = choose_iters(&prices, &plan.effort);
    Ok(prices)
}

/// Answer and units of one iteration on `workers` workers.
pub(super) fn expected(cell: &Cell, workers: usize) -> (u64, u64) {
    let params = Params(cell.params.clone());
    find_workload(&cell.workload).map_or((0, 0), |w| w.expected(&params, workers))
}

fn trial(
    launcher: &Launcher,
    arm: &Arm,
    cell: &Cell,
    aim_ns: u64,
    park: bool,
) -> std::result::Result<Trial, No> {
    let workers = arm.fixed_workers.unwrap_or(cell.workers);
    let expected = expected(cell, workers);
    if expected.1 != cell.units {
        let why = format!("does other work on its fixed {workers} worker");
        return Err(No::Unsupported(why));
    }
    let (mut client, ready) = match Client::start(launcher, arm, cell, expected) {
        Ok(Ok(started)) => started,
        Ok(Err(reason)) => return Err(No::Unsupported(reason)),
        Err(fault) => return Err(No::Fault(fault)),
    };
    let checked = client.check().map_err(No::Fault)?;
    let mut iters = 1u64;
    let ns_per_iter = loop {
        let ns = client.run(iters).map_err(No::Fault)?.sample.wall_ns;
        if ns >= aim_ns / 3 || iters >= 1 << 24 {
            break ns.div_ceil(iters);
        }
        iters *= (aim_ns / 2 / ns.max(1)).clamp(2, 64);
    };
    let idle = if park { Some(client.park().map_err(No::Fault)?) } else { None };
    let share = |i: stealbench_workloads::protocol::Idle| {
        Some(i.cpu_ns? as f64 / i.window_ns.filter(|w| *w > 0)? as f64)
    };
    if let Some(how) = client.quit() {
        let detail = format!("{how}, after it was asked to quit");
        return Err(No::Fault(Fault::new(FaultKind::Died, detail)));
    }
    let idle_share = idle.and_then(share);
    Ok(Trial { ready, units: checked.units, inlined: checked.inlined, ns_per_iter, idle_share })
}

fn build(index: usize, arm: &Arm, ready: &Ready) -> Build {
    let debug = cfg!(debug_assertions);
    let facts = [
        ("lang", ready.greeting.lang.clone().into()),
        ("label", arm.label.clone().into()),
        ("profile", if debug { "debug" } else { "release" }.into()),
        ("threads", ready.facts.threads.map_or(missing("not reported"), |n| n.into())),
        ("target", std::env::consts::ARCH.into()),
    ];
    Build {
        arm: index,
        runtime: arm.runtime.clone(),
        version: ready.greeting.version.clone(),
        facts: facts.into_iter().map(|(k, v)| (k.to_string(), v)).collect(),
    }
}

fn missing(reason: &str) -> serde_json::Value {
    serde_json::json!({ "missing": reason })
}

fn passed(cell: &Cell, arm: &Arm, trial: &Trial) -> Check {
    Check {
        id: "answer".to_string(),
        severity: "ok".to_string(),
        cell: Some(cell.key()),
        arm: Some(arm.id.clone()),
        observed: "right".to_string(),
        expected: "right".to_string(),
        units: Some((trial.units, trial.inlined)),
        trial_ns: Some(trial.ns_per_iter),
        idle_share: trial.idle_share,
        ..Check::default()
    }
}

fn refused(cell: &Cell, arm: &Arm, no: &No) -> Check {
    let (severity, observed) = match no {
        No::Unsupported(reason) => ("unsupported", reason.clone()),
        No::Fault(fault) => ("error", format!("{}: {}", fault.kind.word(), fault.detail)),
    };
    Check {
        id: "answer".to_string(),
        severity: severity.to_string(),
        cell: Some(cell.key()),
        arm: Some(arm.id.clone()),
        observed,
        expected: "right".to_string(),
        fix: "the contender takes no part in this cell".to_string(),
        ..Check::default()
    }
}
