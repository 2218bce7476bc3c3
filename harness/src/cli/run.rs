//! harness/src/cli/run.rs: a session from the first word to the exit code. Question: can it be done, what
//! exactly, how did it end?
//!
//! # Invariants
//! - Everything that can be wrong with words, folder or machine is found before anything is measured.
//! - Whatever happens later, the journal is closed and the report of what there is gets written.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::report::{read, show, write_all};
use super::{RunArgs, print};
use crate::contender::Launcher;
use crate::error::{Error, Result, exit};
use crate::host::Host;
use crate::measure::{Ended, Interrupts, Progress, Session, check_pass};
use crate::plan::{Config, Plan, draft, expected_seconds, fit_budget};
use crate::report::{self, Report};
use crate::store::{
    self, End, Epoch, Journal, Loaded, MachineLock, Note, Output, Record, Stat, VerdictRecord, crc,
};
use crate::verdict::METHOD;

/// `run`: returns the exit code of the session.
pub(super) fn run(args: &RunArgs) -> Result<u8> {
    if args.placement != "none" {
        let want = "only none is built so far: affinity is left alone and recorded";
        return Err(Error::usage("--placement", &args.placement, want));
    }
    let host = Host::look();
    let progress = Progress::new(!args.no_progress, args.verbosity());
    if let Some(dir) = &args.resume {
        return resume(args, dir, &host, &progress);
    }
    let config = Config::check(&args.text(), host.usable_cores(), host.threads())?;
    let mut plan = draft(&config, host.usable_cores(), host.threads())?;
    if let Some(budget) = plan.budget_s {
        fit_budget(&mut plan, budget as f64, &mut None);
    }
    if args.dry_run {
        return print(&describe(&plan, &config));
    }
    let dir = args.out.clone().unwrap_or_else(|| PathBuf::from("results/latest"));
    let output = Output::create(&dir, args.out.is_none())?;
    let mut journal = Journal::create(output.dir())?;
    open_session(&mut journal, &config, &host)?;
    let start = Start { args, host: &host, progress: &progress, part: 1, output: &output };
    go(&start, plan, false, journal, Vec::new())
}

/// What every part of a session needs.
struct Start<'a> {
    args: &'a RunArgs,
    host: &'a Host,
    progress: &'a Progress,
    part: u32,
    output: &'a Output,
}

fn open_session(journal: &mut Journal, config: &Config, host: &Host) -> Result<()> {
    journal.append(&Record::Session(Box::new(store::Session {
        session_id: uuid::Uuid::now_v7().to_string(),
        tool: env!("CARGO_PKG_NAME").to_string(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        command: config.command(),
        config: config.clone(),
        config_hash: config_hash(config)?,
        seed: config.seed,
        schema: "stealbench schema".to_string(),
    })))?;
    journal.append(&Record::Env(host.env.clone()))?;
    journal.sync()
}

fn config_hash(config: &Config) -> Result<String> {
    let text = serde_json::to_vec(config).map_err(|e| Error::Failed(e.to_string()))?;
    Ok(crc(&text))
}

/// Checks what needs checking, measures what is left, closes the journal, reports.
fn go(
    start: &Start<'_>,
    mut plan: Plan,
    planned: bool,
    mut journal: Journal,
    epochs: Vec<Epoch>,
) -> Result<u8> {
    let began = Instant::now();
    let catch = Interrupts::catch();
    let interrupts =
        Rc::new(catch.map_err(|e| Error::Failed(format!("cannot catch Ctrl-C: {e}")))?);
    let launcher = launcher(&plan, &interrupts)?;
    let _machine = wait_for_machine(start.progress, &interrupts)?;
    let measured = (|| {
        if !planned {
            complete_plan(start, &mut plan, &mut journal, &launcher, &interrupts, began)?;
        }
        let cpus = start.host.allowed.clone();
        let (progress, journal) = (start.progress, &mut journal);
        let mut session =
            Session::new(&plan, journal, &launcher, &interrupts, progress, cpus, began);
        session.resume(epochs, start.part);
        let ended = session.measure()?;
        Ok((ended, session.epochs.len()))
    })();
    start.progress.end();
    let (ended, epochs) = match measured {
        Ok(done) => done,
        Err(Error::Interrupted) => (Ended::Interrupted, 0),
        Err(error) => return Err(error),
    };
    close(start, &plan, &mut journal, ended, epochs, began)
}

fn launcher(plan: &Plan, interrupts: &Rc<Interrupts>) -> Result<Launcher> {
    let own = std::env::current_exe();
    let own =
        own.map_err(|e| Error::Failed(format!("cannot find this program's own file: {e}")))?;
    let interrupts = Rc::clone(interrupts);
    let timeout = Duration::from_millis(plan.timeout_ms);
    Ok(Launcher { own, timeout, stop: Rc::new(move || interrupts.at_once()) })
}

fn wait_for_machine(progress: &Progress, interrupts: &Interrupts) -> Result<Option<MachineLock>> {
    let mut told = false;
    MachineLock::take(|| {
        if !told {
            progress.say("another session is measuring on this machine; waiting for it to end");
            told = true;
        }
        if interrupts.asked() {
            return Err(Error::Interrupted);
        }
        std::thread::sleep(Duration::from_millis(100));
        Ok(())
    })
}

/// The check pass, and the plan that follows from it.
fn complete_plan(
    start: &Start<'_>,
    plan: &mut Plan,
    journal: &mut Journal,
    launcher: &Launcher,
    interrupts: &Interrupts,
    began: Instant,
) -> Result<()> {
    let trials = check_pass(plan, journal, launcher, interrupts, start.progress)?;
    let mut trials = Some(trials);
    if let Some(budget) = plan.budget_s {
        let rest = (budget as f64 - began.elapsed().as_secs_f64()).max(0.0);
        let gone = fit_budget(plan, rest, &mut trials);
        if gone > 0 {
            let line =
                format!("{gone} cells do not fit the time budget of {budget} s; see the report");
            start.progress.say(&line);
        }
    }
    let seconds = expected_seconds(plan, trials.as_deref());
    let time = crate::figure::duration(seconds);
    start.progress.say(&format!("{} cells, about {time}", plan.cells.len()));
    journal.append(&Record::Plan(Box::new(plan.clone())))?;
    journal.sync()
}

/// Writes the derived lines and the end, then every report, and gives the exit code.
fn close(
    start: &Start<'_>,
    plan: &Plan,
    journal: &mut Journal,
    ended: Ended,
    epochs: usize,
    began: Instant,
) -> Result<u8> {
    let dir = start.output.dir();
    let interrupted = ended == Ended::Interrupted;
    if let (false, Ok(report)) = (interrupted, read(dir)) {
        derived(&report).iter().try_for_each(|record| journal.append(record))?;
    }
    journal.append(&Record::End(End {
        status: if interrupted { "interrupted" } else { "complete" }.to_string(),
        cells: plan.cells.len(),
        epochs,
        wall_ns: began.elapsed().as_nanos() as u64,
        crc_before: journal.crc_so_far(),
    }))?;
    journal.sync()?;
    let again = format!("stealbench run --resume {}", dir.display());
    let report = match read(dir) {
        Err(_) if interrupted => {
            start.progress.warn(&format!("interrupted before anything was measured; {again}"));
            return Ok(exit::INTERRUPTED);
        }
        report => report?,
    };
    write_all(&report, dir)?;
    finish(start, &report, dir)?;
    if interrupted {
        start.progress.warn(&format!("interrupted; continue with: {again}"));
        return Ok(exit::INTERRUPTED);
    }
    Ok(if report.failures().is_empty() { exit::DONE } else { exit::FAILED })
}

fn finish(start: &Start<'_>, report: &Report, dir: &Path) -> Result<()> {
    if start.args.json {
        print(&format!("{:#}\n", report::json(report)))?;
        return Ok(());
    }
    show(report)?;
    print(&format!("{}\n", report::footer(report, dir)))?;
    Ok(())
}

/// The figures and statements of a report as journal lines.
fn derived(report: &Report) -> Vec<Record> {
    let mut out = Vec::new();
    for (cell, result) in report.results.iter().enumerate() {
        for row in &result.rows {
            let pair = (row.arm, report.plan.reference);
            if let Some(r) = &row.ratio {
                out.push(Record::Stat(Stat {
                    cell,
                    pair,
                    metric: "time ratio".to_string(),
                    better: "lower".to_string(),
                    epochs: (result.kept, result.void.values().sum()),
                    estimate: r.interval.estimate,
                    lo: r.interval.lo,
                    hi: r.interval.hi,
                    confidence: r.interval.confidence,
                    method: METHOD.to_string(),
                    secondary: r.secondary,
                    states: row.states.clone(),
                }));
            }
            if let Some((verdict, reason)) = &row.verdict {
                out.push(Record::Verdict(VerdictRecord {
                    cell,
                    pair,
                    verdict: verdict.word().to_string(),
                    reason: reason.clone(),
                    margin: report.margin,
                }));
            }
        }
    }
    out
}

/// Continues the session in `dir`.
fn resume(args: &RunArgs, dir: &Path, host: &Host, progress: &Progress) -> Result<u8> {
    let output = Output::open(dir)?;
    let (mut journal, loaded) = Journal::reopen(dir)?;
    let before = Before::of(loaded);
    let Some((session, env)) = before.session.zip(before.env) else {
        let why =
            format!("{}: the journal ends before its first two lines; run again", dir.display());
        return Err(Error::Failed(why));
    };
    if env.class != host.env.class {
        let why = "this is another machine, or it was changed, since the session began (class \
                   differs): results would not belong together; run a new session";
        return Err(Error::NotComparable(format!("--resume {}: {why}", dir.display())));
    }
    if session.config_hash != config_hash(&session.config)? {
        let why = "its settings were recorded by a program that reads them differently; run again";
        return Err(Error::NotComparable(format!("--resume {}: {why}", dir.display())));
    }
    let part = before.parts + 1;
    let start = Start { args, host, progress, part, output: &output };
    if before.complete {
        progress.say("the session is complete: nothing is left to measure");
        let report = read(dir)?;
        finish(&start, &report, dir)?;
        return Ok(if report.failures().is_empty() { exit::DONE } else { exit::FAILED });
    }
    let mut note = |what: &str, text: String| {
        journal.append(&Record::Note(Note { what: what.to_string(), text, part }))
    };
    if let Some(torn) = &before.torn {
        progress.warn(&format!("the journal's last line was not whole and was cut ({torn})"));
        note("torn", torn.clone())?;
    }
    note("resume", format!("part {part} begins after {} epochs", before.epochs.len()))?;
    journal.sync()?;
    match before.plan {
        Some(plan) => go(&start, plan, true, journal, before.epochs),
        None => {
            let config = &session.config;
            let mut plan = draft(config, host.usable_cores(), host.threads())?;
            if let Some(budget) = plan.budget_s {
                fit_budget(&mut plan, budget as f64, &mut None);
            }
            go(&start, plan, false, journal, Vec::new())
        }
    }
}

/// What earlier parts of a session left.
#[derive(Default)]
struct Before {
    session: Option<store::Session>,
    env: Option<store::Env>,
    plan: Option<Plan>,
    epochs: Vec<Epoch>,
    parts: u32,
    complete: bool,
    torn: Option<String>,
}

impl Before {
    fn of(loaded: Loaded) -> Before {
        let mut out = Before { parts: 1, torn: loaded.torn, ..Before::default() };
        for record in loaded.records {
            match record {
                Record::Session(s) => out.session = Some(*s),
                Record::Env(e) => out.env = Some(e),
                Record::Plan(p) => out.plan = Some(*p),
                Record::Epoch(e) => out.epochs.push(*e),
                Record::Note(n) if n.what == "resume" => out.parts += 1,
                Record::End(e) => out.complete = e.status == "complete",
                _ => {}
            }
        }
        out
    }
}

/// The plan for people.
fn describe(plan: &Plan, config: &Config) -> String {
    let mut out = String::new();
    let arms: Vec<&str> = plan.arms.iter().map(|a| a.id.as_str()).collect();
    out += &format!("contenders: {}\n", arms.join(", "));
    out += &format!("reference:  {}\n", plan.arms[plan.reference].id);
    let effort = &plan.effort;
    out += &format!(
        "epochs:     {} to {} a cell, {} blocks each, samples of about {}\n",
        effort.epochs_min,
        effort.epochs_max,
        effort.blocks,
        crate::figure::time(effort.aim_ns as f64)
    );
    out += &format!("cells:      {}\n", plan.cells.len());
    for cell in &plan.cells {
        out += &format!("  {} ({} contenders)\n", cell.key(), cell.entries.len());
    }
    for (cell, why) in &plan.left_out {
        out += &format!("  not: {cell}: {why}\n");
    }
    let seconds = expected_seconds(plan, None);
    out += &format!("expected:   {}", crate::figure::duration(seconds));
    out += " (refined once each contender has been tried)\n";
    out += &format!("again:      {}\n", config.command().join(" "));
    out
}
