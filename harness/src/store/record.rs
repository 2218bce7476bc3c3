//! harness/src/store/record.rs: the kinds of line in a journal. Question: what is kept of a session?
//!
//! Fields may be added within a major version; readers ignore those they do not know.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::{Config, Plan};

/// One line, without the envelope (`v`, `seq`, `t`, `crc`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// First line.
    Session(Box<Session>),
    /// The machine.
    Env(Env),
    /// One contender as built.
    Build(Build),
    /// What will be measured, after the check pass has fixed the iteration counts.
    Plan(Box<Plan>),
    /// One finding: a doctor's, or a contender's answer before anything is timed.
    Check(Check),
    /// How one process settled.
    Warm(Warm),
    /// One epoch of one cell: the independent unit of all statistics.
    Epoch(Box<Epoch>),
    /// A derived figure.
    Stat(Stat),
    /// A derived statement.
    Verdict(VerdictRecord),
    /// Interrupts, resumes, and other things that happened.
    Note(Note),
    /// Closes a part of a session.
    End(End),
}

/// Who measured, with which settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// UUID v7.
    pub session_id: String,
    /// `stealbench`.
    pub tool: String,
    /// Of the tool.
    pub version: String,
    /// The command that repeats the session, rebuilt from the settings: no paths.
    pub command: Vec<String>,
    /// All settings.
    pub config: Config,
    /// Checksum of the settings as JSON: must match on resume.
    pub config_hash: String,
    /// Where every order comes from.
    pub seed: u64,
    /// Where the schema of these lines can be had.
    pub schema: String,
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Env {
    /// Checksum of the facts named in `class_fields`: must match for a resume or a comparison.
    pub class: String,
    /// Names of the facts that make the class.
    pub class_fields: Vec<String>,
    /// Name to value or `{"missing": reason}`.
    pub facts: BTreeMap<String, Value>,
}

/// One contender as built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Build {
    /// Index into the plan's arms.
    pub arm: usize,
    /// Name in results.
    pub runtime: String,
    /// Version as locked.
    pub version: String,
    /// What `hello` answered, all keys.
    pub facts: BTreeMap<String, Value>,
}

/// One finding before anything is timed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// `answer`, `load`, `reference` ...
    pub id: String,
    /// `ok`, `info`, `warning`, `error`, `unsupported`.
    pub severity: String,
    /// Index into the plan's cells, if it is about one.
    pub cell: Option<String>,
    /// Arm id, if it is about one.
    pub arm: Option<String>,
    /// What was seen.
    pub observed: String,
    /// What should have been.
    pub expected: String,
    /// What to do about it.
    pub fix: String,
    /// Units created by one iteration, and of those run inline.
    pub units: Option<(u64, u64)>,
    /// Price of one iteration, from the untimed trial that chose the iteration count.
    pub trial_ns: Option<u64>,
    /// Share of one CPU that the idle runtime used, where it was asked to come to rest.
    pub idle_share: Option<f64>,
}

/// How one process settled before it was timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warm {
    /// Index into the plan's cells.
    pub cell: usize,
    /// Index into the plan's arms.
    pub arm: usize,
    /// Number of the epoch within the cell.
    pub epoch: u32,
    /// How many untimed samples it took.
    pub samples: usize,
    /// `steady`, or `capped` where the cap came first.
    pub verdict: String,
    /// Wall time spent.
    pub spent_ns: u64,
}

/// One process of an epoch: totals over its timed slots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Index into the plan's arms.
    pub arm: usize,
    /// From start of the process to its answer to `setup`.
    pub start_ns: u64,
    /// Workers it proved by a rendezvous.
    pub workers: usize,
    /// Threads it has in all.
    pub threads: Option<u64>,
    /// Affinity read back.
    pub cpus: Option<String>,
    /// CPU time of the process over its timed slots.
    pub cpu_ns: Option<u64>,
    /// Largest share of an off-stage time it spent on CPU.
    pub idle_burn: f64,
    /// Whether it was stopped by signal while off stage.
    pub stopped: bool,
    /// Resident set at its largest, bytes.
    pub max_rss: Option<u64>,
    /// Other numbers it reported (`c.*`, switches), summed over its timed slots.
    pub counters: BTreeMap<String, u64>,
    /// Latency percentiles in ns, medians over its timed slots.
    pub latency_ns: BTreeMap<String, u64>,
}

/// One palindromic block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockRecord {
    /// Arm of each slot, a palindrome.
    pub order: Vec<usize>,
    /// Time of each slot as the contender's clock inside the runtime saw it.
    pub ns: Vec<u64>,
    /// The same as this process saw it from outside.
    pub outside_ns: Vec<u64>,
    /// Iterations in each slot.
    pub iters: u64,
    /// Every answer was right.
    pub ok: bool,
    /// Share of the block's capacity that the hypervisor took, 0 to 1.
    pub steal: Option<f64>,
    /// Share of the block's capacity that other programs used, 0 to 1.
    pub foreign: Option<f64>,
    /// Why the block does not count, by a rule fixed in advance.
    pub drop: Option<String>,
}

/// A contender that failed in an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochFault {
    /// Index into the plan's arms.
    pub arm: usize,
    /// `died`, `hung`, `wrong answer`, `garbage`, `workers`, `clock`, `error`.
    pub what: String,
    /// One line for people.
    pub detail: String,
}

/// One epoch of one cell: a fresh process a contender.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Index into the plan's cells.
    pub cell: usize,
    /// Number within the cell, from 0.
    pub epoch: u32,
    /// From 0; more than 0 where a contender failed and the rest went again without it.
    pub attempt: u32,
    /// Arms in the order in which their processes were started.
    pub start_order: Vec<usize>,
    /// Arms in the order in which they took turns warming up.
    pub warm_order: Vec<usize>,
    /// One entry a process.
    pub processes: Vec<Process>,
    /// The timed blocks.
    pub blocks: Vec<BlockRecord>,
    /// Why the whole epoch does not count.
    pub drop: Option<String>,
    /// Who failed; the epoch then has no valid times.
    pub fault: Option<EpochFault>,
}

/// A derived figure: a ratio of times with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stat {
    /// Index into the plan's cells.
    pub cell: usize,
    /// The arm and what it is divided by.
    pub pair: (usize, usize),
    /// `time ratio`.
    pub metric: String,
    /// `lower`.
    pub better: String,
    /// Epochs used and dropped.
    pub epochs: (usize, usize),
    /// Estimate and ends of the interval.
    pub estimate: f64,
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Exact coverage.
    pub confidence: f64,
    /// Name and version of the method.
    pub method: String,
    /// Hodges–Lehmann, for the details page.
    pub secondary: f64,
    /// State labels of the cell for this arm.
    pub states: Vec<String>,
}

/// A derived statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictRecord {
    /// Index into the plan's cells.
    pub cell: usize,
    /// The arm and what it is compared with.
    pub pair: (usize, usize),
    /// `faster`, `slower`, `same`, `cannot tell`, `not measurable`.
    pub verdict: String,
    /// Why.
    pub reason: String,
    /// The margin it was decided with.
    pub margin: f64,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// `resume`, `interrupt`, `torn`, `budget`, `stopped`.
    pub what: String,
    /// One line for people.
    pub text: String,
    /// Part of the session, from 1.
    pub part: u32,
}

/// Closes a part of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// `complete`, `interrupted`, `failed`.
    pub status: String,
    /// Cells in the plan.
    pub cells: usize,
    /// Epochs in the journal, of all parts.
    pub epochs: usize,
    /// Of this part.
    pub wall_ns: u64,
    /// Checksum of all bytes before this line.
    pub crc_before: String,
}
