//! harness/src/plan/draft.rs: from settings to cells. Question: which cells are asked for, who takes
//! part in each, and which are most worth the time?

use std::collections::BTreeMap;

use stealbench_workloads::{
    Clock, Params, RuntimeInfo, Support, Workload, find_runtime, find_workload,
};

use super::{Arm, Cell, Config, DropRules, Effort, Entry, Mode, Plan};
use crate::error::{Error, Result};

/// The plan for `config` on a machine with `cpus` usable hardware threads. Iteration counts are still
/// 0: the check pass chooses them.
///
/// # Errors
/// A usage error if nothing is left to measure, or a workload refuses a parameter.
pub fn draft(config: &Config, cores: usize, cpus: usize) -> Result<Plan> {
    let arms = arms(config)?;
    let is_reference = |a: &Arm| a.runtime == config.reference && !a.null;
    let reference = arms.iter().position(is_reference).unwrap_or(0);
    let baseline = arms.iter().position(|a| a.fixed_workers == Some(1) && !a.null);
    let mut cells = Vec::new();
    for (rank, id) in config.workloads.iter().enumerate() {
        let Some(workload) = find_workload(id) else { continue };
        for (variant, params) in variants(workload, config)?.into_iter().enumerate() {
            for &workers in &config.workers {
                let tier = tier(variant, workers == cores || config.workers.len() == 1);
                let key = (tier, rank, variant, workers);
                cells.push((key, cell(workload, &params, workers, tier, &arms)));
            }
        }
    }
    cells.retain(|(_, c)| c.entries.iter().any(|e| !arms[e.arm].null));
    cells.retain(|(_, c)| wanted(c, &config.filters));
    cells.sort_by_key(|(key, _)| *key);
    if cells.is_empty() {
        return Err(nothing(config));
    }
    Ok(Plan {
        mode: config.mode,
        seed: config.seed,
        arms,
        reference,
        baseline,
        cells: cells.into_iter().map(|(_, c)| c).collect(),
        left_out: BTreeMap::new(),
        effort: effort(config.mode),
        confidence: 0.99,
        margin: 0.01,
        drop: drop_rules(),
        budget_s: config.budget_s,
        timeout_ms: config.timeout_ms,
        cpus,
    })
}

/// First every workload's leading variant on all cores, then the same on other worker counts, then
/// the further variants in the order of the catalogue.
fn tier(variant: usize, main_workers: bool) -> u32 {
    match (variant, main_workers) {
        (0, true) => 0,
        (0, false) => 1,
        (v, true) => 2 * v as u32,
        (v, false) => 2 * v as u32 + 1,
    }
}

fn arms(config: &Config) -> Result<Vec<Arm>> {
    let mut out = Vec::new();
    for name in &config.runtimes {
        let info = find_runtime(name).ok_or_else(|| Error::Failed(format!("lost {name}")))?;
        if info.policies {
            out.extend(config.policies.iter().map(|p| arm(info, Some(p))));
        } else {
            out.push(arm(info, None));
        }
    }
    let mut null = out.iter().find(|a| a.runtime == config.reference).cloned();
    if let Some(arm) = &mut null {
        arm.id = "null".to_string();
        arm.null = true;
    }
    out.extend(null);
    Ok(out)
}

fn arm(info: &RuntimeInfo, policy: Option<&String>) -> Arm {
    Arm {
        id: policy.map_or(info.name.to_string(), |p| format!("{}:{p}", info.name)),
        runtime: info.name.to_string(),
        policy: policy.cloned(),
        version: info.version.to_string(),
        label: info.label.to_string(),
        null: false,
        fixed_workers: info.fixed_workers,
    }
}

/// The workload's own parameter sets, or every combination of the given values.
fn variants(workload: &dyn Workload, config: &Config) -> Result<Vec<Params>> {
    if config.params.is_empty() {
        return Ok(workload.variants(config.size.into()));
    }
    let mut sets = vec![Params::default()];
    for (name, values) in &config.params {
        let with = |set: &Params, value: &String| {
            let mut set = set.clone();
            set.0.insert(name.clone(), value.clone());
            set
        };
        sets = sets.iter().flat_map(|s| values.iter().map(|v| with(s, v))).collect();
    }
    let check = |set: &Params| {
        let refused = |why: String| {
            Error::usage("--param", set, format!("{} {}: {why}", workload.id(), workload.name()))
        };
        workload.check(set).map_err(refused)
    };
    sets.iter().map(check).collect()
}

fn cell(workload: &dyn Workload, params: &Params, workers: usize, tier: u32, arms: &[Arm]) -> Cell {
    let mut entries = Vec::new();
    let mut absent = BTreeMap::new();
    for (i, arm) in arms.iter().enumerate() {
        let mut join = |lane: &str| entries.push(Entry { arm: i, lane: lane.to_string() });
        match workload.support_for(&arm.runtime, params) {
            Support::Idiomatic => join("idiomatic"),
            Support::Literal => join("literal"),
            Support::NotExpressible(why) => {
                absent.insert(arm.id.clone(), format!("not expressible: {why}"));
            }
            Support::Absent(why) => {
                absent.insert(arm.id.clone(), format!("absent: {why}"));
            }
        }
    }
    Cell {
        workload: workload.id().to_string(),
        name: workload.name().to_string(),
        group: workload.group().to_string(),
        about: workload.about().to_string(),
        unit: workload.unit().to_string(),
        params: params.0.clone(),
        workers,
        placement: "none".to_string(),
        units: 0,
        ceiling: None,
        entries,
        absent,
        failed: BTreeMap::new(),
        cpu_clock: workload.clock() == Clock::Cpu,
        iters: 0,
        tier,
    }
}

/// Whether any filter is a part of the cell's name; `key=value` terms are parts of it too.
fn wanted(cell: &Cell, filters: &[String]) -> bool {
    let text = format!("{} {} {}", cell.key(), cell.group, cell.params_text()).to_lowercase();
    filters.is_empty() || filters.iter().any(|f| text.contains(&f.to_lowercase()))
}

fn nothing(config: &Config) -> Error {
    let known: Vec<String> = stealbench_workloads::workloads()
        .iter()
        .map(|w| format!("{} {} ({})", w.id(), w.name(), w.group()))
        .collect();
    if config.filters.is_empty() {
        let want = format!("none of these runtimes runs {}", config.workloads.join(", "));
        return Error::usage("--runtime", config.runtimes.join(","), want);
    }
    let want = format!("no cell has that in its name; there are {}", known.join(", "));
    Error::usage("FILTER", config.filters.join(" "), want)
}

fn effort(mode: Mode) -> Effort {
    const MS: u64 = 1_000_000;
    let quick = Effort {
        epochs_min: 8,
        epochs_max: 11,
        target_half_width: None,
        blocks: 1,
        warm_window: 4,
        warm_samples: 4,
        warm_ns: 100 * MS,
        aim_ns: 5 * MS,
        floor_ns: MS,
        cap_ns: 30 * MS,
    };
    let standard = Effort {
        epochs_max: 30,
        target_half_width: Some(0.01),
        blocks: 5,
        warm_window: 8,
        warm_samples: 40,
        warm_ns: 2_000 * MS,
        aim_ns: 20 * MS,
        floor_ns: 5 * MS,
        cap_ns: 250 * MS,
        ..quick.clone()
    };
    match mode {
        Mode::Quick => quick,
        Mode::Standard => standard,
        Mode::Study => {
            let half = Some(0.005);
            Effort { epochs_min: 12, epochs_max: 60, target_half_width: half, ..standard }
        }
    }
}

fn drop_rules() -> DropRules {
    DropRules {
        steal: 0.02,
        foreign: 0.20,
        idle_burn: 0.01,
        dropped: 0.30,
        gap_share: 0.05,
        gap_ns: 1_000_000,
    }
}
