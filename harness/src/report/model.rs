//! harness/src/report/model.rs: a journal, understood. Question: what was planned, what was measured, and
//! how did it end?

use crate::error::{Error, Result};
use crate::plan::{Arm, Cell, Plan};
use crate::store::{Build, Check, End, Env, Epoch, Loaded, Note, Record, Session};
use crate::verdict::{self, CellResult, Row, Verdict};

/// All that a report says, before it is laid out.
#[derive(Debug)]
pub struct Report {
    /// Who measured, with which settings.
    pub session: Session,
    /// When it began, RFC 3339.
    pub started: String,
    /// The machine.
    pub env: Env,
    /// Contenders as they introduced themselves.
    pub builds: Vec<Build>,
    /// What was planned.
    pub plan: Plan,
    /// One a cell of the plan.
    pub results: Vec<CellResult>,
    /// Differences below this are not called differences.
    pub margin: f64,
    /// What the check pass found.
    pub checks: Vec<Check>,
    /// What happened.
    pub notes: Vec<Note>,
    /// `complete`, `interrupted`, or `cut off` where the session did not close its journal.
    pub status: String,
    /// In how many parts it was measured.
    pub parts: u32,
    /// Epochs in the journal that are whole and not of a failed attempt.
    pub epochs: usize,
    /// Wall time of all closed parts, in ns.
    pub wall_ns: u64,
    /// Why the journal's last line was cut, if it was.
    pub torn: Option<String>,
}

/// A workload with one parameter set, over its worker counts.
#[derive(Debug)]
pub struct Group<'a> {
    /// Cells with their results, by ascending workers.
    pub cells: Vec<(&'a Cell, &'a CellResult)>,
}

impl Report {
    /// From a journal that was read back.
    ///
    /// # Errors
    /// If it ends before the plan was complete: then nothing was measured.
    pub fn build(loaded: Loaded) -> Result<Report> {
        let started = loaded.times.first().cloned().unwrap_or_default();
        let mut parts = Parts::default();
        loaded.records.into_iter().for_each(|r| parts.take(r));
        let (Some(session), Some(env), Some(plan)) = (parts.session, parts.env, parts.plan) else {
            let why = "the journal ends before anything was measured; resume it or run again";
            return Err(Error::Failed(why.to_string()));
        };
        let mine = |cell: usize| parts.epochs.iter().filter(move |e| e.cell == cell);
        let mut results: Vec<CellResult> = (0..plan.cells.len())
            .map(|c| verdict::cell_result(&plan, c, &mine(c).collect::<Vec<_>>()))
            .collect();
        let margin = verdict::session_margin(&plan, &results);
        verdict::decide(&plan, &mut results, margin);
        let resumes = parts.notes.iter().filter(|n| n.what == "resume").count() as u32;
        Ok(Report {
            session,
            started,
            env,
            builds: parts.builds,
            results,
            margin,
            checks: parts.checks,
            notes: parts.notes,
            status: parts.status.unwrap_or_else(|| "cut off".to_string()),
            parts: 1 + resumes,
            epochs: parts.epochs.iter().filter(|e| e.fault.is_none()).count(),
            wall_ns: parts.wall_ns,
            torn: loaded.torn,
            plan,
        })
    }

    /// Cells grouped by workload and parameters, in the order of the plan.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut out: Vec<Group<'_>> = Vec::new();
        for pair in self.plan.cells.iter().zip(&self.results) {
            let key = |c: &Cell| (c.workload.clone(), c.params.clone(), c.name.clone());
            match out.iter_mut().find(|g| key(g.cells[0].0) == key(pair.0)) {
                Some(group) => group.cells.push(pair),
                None => out.push(Group { cells: vec![pair] }),
            }
        }
        for group in &mut out {
            group.cells.sort_by_key(|(cell, _)| cell.workers);
        }
        out.sort_by(|a, b| a.cells[0].0.workload.cmp(&b.cells[0].0.workload));
        out
    }

    /// The arm of a row.
    pub fn arm(&self, row: &Row) -> &Arm {
        &self.plan.arms[row.arm]
    }

    /// The arm that ratios are taken to.
    pub fn reference(&self) -> &Arm {
        &self.plan.arms[self.plan.reference]
    }

    /// Every row with a verdict, with its cell; without the null arm.
    pub fn judged(&self) -> impl Iterator<Item = (&Cell, &Row, Verdict)> {
        let pairs = self.plan.cells.iter().zip(&self.results);
        pairs.flat_map(|(c, r)| r.rows.iter().map(move |row| (c, row))).filter_map(|(c, row)| {
            let verdict = row.verdict.as_ref().filter(|_| !self.arm(row).null)?.0;
            Some((c, row, verdict))
        })
    }

    /// Contenders that failed: name, cell, what happened.
    pub fn failures(&self) -> Vec<(String, String, String)> {
        let mut out = Vec::new();
        for (cell, result) in self.plan.cells.iter().zip(&self.results) {
            let failed = cell.failed.iter();
            out.extend(failed.map(|(arm, how)| (arm.clone(), cell.key(), how.clone())));
            for row in &result.rows {
                if let Some(fault) = &row.fault {
                    let how = format!("{}: {}", fault.what, fault.detail);
                    out.push((self.arm(row).id.clone(), cell.key(), how));
                }
            }
        }
        out
    }
}

/// What the records of a journal add up to.
#[derive(Default)]
struct Parts {
    session: Option<Session>,
    env: Option<Env>,
    plan: Option<Plan>,
    builds: Vec<Build>,
    checks: Vec<Check>,
    notes: Vec<Note>,
    epochs: Vec<Epoch>,
    status: Option<String>,
    wall_ns: u64,
}

impl Parts {
    fn take(&mut self, record: Record) {
        match record {
            Record::Session(session) => self.session = Some(*session),
            Record::Env(env) => self.env = Some(env),
            // A check pass that was cut off is repeated as a whole; the last one counts.
            Record::Plan(plan) => self.plan = Some(*plan),
            Record::Build(build) => self.builds.push(build),
            Record::Check(check) => self.checks.push(check),
            Record::Epoch(epoch) => self.epochs.push(*epoch),
            Record::Note(note) => {
                if note.what == "resume" {
                    self.status = None;
                }
                self.notes.push(note);
            }
            Record::End(End { status, wall_ns, .. }) => {
                self.status = Some(status);
                self.wall_ns += wall_ns;
            }
            Record::Warm(_) | Record::Stat(_) | Record::Verdict(_) => {}
        }
    }
}
