//! harness/src/plan/mod.rs: what will be measured, fully decided. Question: which contenders meet in
//! which cells, how often, and by which rules is what they show judged?
//!
//! # Invariants
//! - Nothing after `Plan` reads a flag, an environment variable or the number of CPUs.
//! - The plan holds all that a report needs to name things, so that a report needs the journal alone.
//! - No runtime is named here: the reference, the serial baseline and the null arm are fields.

mod config;
mod draft;
mod fit;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use config::{Config, Mode, RunText, SizeName};
pub use draft::draft;
pub use fit::{choose_iters, expected_seconds, fit_budget};

/// One contender. Two arms may be the same program: the null arm is the reference a second time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Name in tables: `NAME`, `NAME:POLICY`, or `null`.
    pub id: String,
    /// Registry name.
    pub runtime: String,
    /// Policy, for a runtime that takes one.
    pub policy: Option<String>,
    /// As locked.
    pub version: String,
    /// Printed beside the name; mostly empty.
    pub label: String,
    /// The reference under another name: shows the noise floor of this session.
    pub null: bool,
    /// Always this many workers, whatever the cell asks.
    pub fixed_workers: Option<usize>,
}

/// An arm in a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Index into the plan's arms.
    pub arm: usize,
    /// `idiomatic` or `literal`: never ranked together.
    pub lane: String,
}

/// One thing to be measured: a workload with parameters on a number of workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// `W07`.
    pub workload: String,
    /// `fib`.
    pub name: String,
    /// `tree`.
    pub group: String,
    /// One line about the program.
    pub about: String,
    /// What a unit is: `fork`.
    pub unit: String,
    /// All parameters.
    pub params: BTreeMap<String, String>,
    /// Workers asked of every arm that has no fixed number.
    pub workers: usize,
    /// `none`: affinity is left alone and recorded.
    pub placement: String,
    /// Units of one iteration, by a method that uses no scheduler.
    pub units: u64,
    /// Best speed-up over serial that the model allows.
    pub ceiling: Option<f64>,
    /// Who takes part.
    pub entries: Vec<Entry>,
    /// Who does not, by arm id, and why.
    pub absent: BTreeMap<String, String>,
    /// Who failed in the check pass, by arm id, and how.
    pub failed: BTreeMap<String, String>,
    /// Whether samples are CPU time of the process, not wall time.
    pub cpu_clock: bool,
    /// Iterations of each sample, the same for all arms. 0 until the check pass has chosen it.
    pub iters: u64,
    /// Rank for the time budget: the highest numbers are left out first.
    pub tier: u32,
}

impl Cell {
    /// `W07 fib n=20, 2 workers`: names the cell in messages.
    pub fn key(&self) -> String {
        let s = if self.workers == 1 { "" } else { "s" };
        let params = self.params_text();
        let gap = if params.is_empty() { "" } else { " " };
        format!("{} {}{gap}{params}, {} worker{s}", self.workload, self.name, self.workers)
    }

    /// `chunks=16,m=10000000`.
    pub fn params_text(&self) -> String {
        let pairs: Vec<String> = self.params.iter().map(|(k, v)| format!("{k}={v}")).collect();
        pairs.join(",")
    }

    /// Whether `arm` takes part.
    pub fn has(&self, arm: usize) -> bool {
        self.entries.iter().any(|e| e.arm == arm)
    }
}

/// How much is measured, and how long a sample is. Times in ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// Fewest epochs of a cell, and the first look.
    pub epochs_min: u32,
    /// Most epochs of a cell, those that did not count included.
    pub epochs_max: u32,
    /// Stop once every ratio's half-width is at most this; none: stop at `epochs_min`.
    pub target_half_width: Option<f64>,
    /// Palindromic blocks in an epoch.
    pub blocks: u32,
    /// Samples in the window that decides whether a process is warm.
    pub warm_window: usize,
    /// Most warm-up samples of a process.
    pub warm_samples: usize,
    /// Most warm-up time of a process.
    pub warm_ns: u64,
    /// Length of a sample of the slowest contender.
    pub aim_ns: u64,
    /// Length below which a sample of any contender is labelled short.
    pub floor_ns: u64,
    /// Length above which no sample is stretched.
    pub cap_ns: u64,
}

/// Rules by which blocks are dropped. They cannot see how the contenders differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DropRules {
    /// Share of the capacity that the hypervisor may take.
    pub steal: f64,
    /// Share of the capacity that other programs may use.
    pub foreign: f64,
    /// Share of an off-stage time that a parked contender may spend on CPU; more voids the epoch.
    pub idle_burn: f64,
    /// Share of the blocks that may go before a cell counts as not measurable.
    pub dropped: f64,
    /// Gap between the inner and the outer clock: this share of the sample ...
    pub gap_share: f64,
    /// ... or this many ns, whichever is more.
    pub gap_ns: u64,
}

/// A validated session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Quick, standard or study.
    pub mode: Mode,
    /// Where every order comes from.
    pub seed: u64,
    /// Contenders; the null arm is last.
    pub arms: Vec<Arm>,
    /// Index of the arm that all ratios are taken to.
    pub reference: usize,
    /// Index of the arm that speed-ups are taken to, if one has a fixed single worker.
    pub baseline: Option<usize>,
    /// Cells, most informative first.
    pub cells: Vec<Cell>,
    /// Cells that did not fit the time budget, and why, by key.
    pub left_out: BTreeMap<String, String>,
    /// How much.
    pub effort: Effort,
    /// Coverage asked of every interval.
    pub confidence: f64,
    /// Least difference that is called one: `0.01`.
    pub margin: f64,
    /// Drop rules.
    pub drop: DropRules,
    /// Wall time that the session may take.
    pub budget_s: Option<u64>,
    /// How long a contender may take to answer.
    pub timeout_ms: u64,
    /// Hardware threads that this process may use.
    pub cpus: usize,
}

impl Plan {
    /// Index of the null arm.
    pub fn null_arm(&self) -> Option<usize> {
        self.arms.iter().position(|a| a.null)
    }
}
