//! harness/benches/common/mod.rs: cells of the catalogue as criterion benchmarks. Question: what does each
//! runtime take for the same work, through the same worker processes as `stealbench run`?
//!
//! # Invariants
//! - A benchmark is a fresh process of one runtime, alive only while it is measured.
//! - The times are those that the worker takes inside. Answer and units are checked in every sample; a
//!   wrong one, like any other fault, ends the suite with one line and exit code 1.
//! - Ids are stable: `W07/fib/c=1,lane=join,n=20/RUNTIME/pWORKERS`, and the same in test mode.
//! # Not here
//! No runtime is named, no adapter exists. No verdict between runtimes either: criterion measures one
//! benchmark after the other, so a slow minute hits one runtime and spares the next. `stealbench run`
//! takes turns, and says what can be said.

use std::fmt::Display;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput};
use stealbench::contender::{Client, Launcher};
use stealbench::error::Result;
use stealbench::figure;
use stealbench::host::Host;
use stealbench::plan::{Arm, Cell, Config, Mode, Plan, RunText, SizeName, draft};
use stealbench::stats::median;
use stealbench::store::MachineLock;
use stealbench_workloads::{Params, find_workload};

/// Twenty samples of 40 ms: a benchmark takes about 1.2 s, all suites together some minutes. The flags
/// of `cargo bench` (`--sample-size`, `--measurement-time`, ...) override it. Pictures would take longer
/// than the measurement; `stealbench run` draws.
pub(crate) fn config() -> Criterion {
    Criterion::default()
        .without_plots()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
        .nresamples(20_000)
        .confidence_level(0.99)
        .significance_level(0.01)
        .noise_threshold(0.03)
}

/// Benchmarks every cell of `family`: workload and parameters (`n=20 c=1`, the rest by default), each
/// on one worker and on all cores, on every runtime that can.
pub(crate) fn suite(c: &mut Criterion, family: &[(&str, &str)]) {
    let _machine = measuring().then(wait_for_machine);
    for (workload, params) in family {
        let plan = plan(workload, params).unwrap_or_else(|e| fail(workload, e));
        group(c, &plan);
    }
}

/// The cells as `stealbench run` would draft them.
fn plan(workload: &str, params: &str) -> Result<Plan> {
    let host = Host::look();
    let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
    let text = RunText {
        workloads: words(workload),
        params: words(params),
        workers: words("1 cores"),
        mode: Some(Mode::Quick),
        size: Some(SizeName::Smoke),
        seed: Some(0),
        ..RunText::default()
    };
    let config = Config::check(&text, host.usable_cores(), host.threads())?;
    let mut plan = draft(&config, host.usable_cores(), host.threads())?;
    plan.cells.sort_by_key(|cell| cell.workers);
    Ok(plan)
}

/// One workload with one parameter set: the runtimes of a worker count stand next to each other.
fn group(c: &mut Criterion, plan: &Plan) {
    let first = &plan.cells[0];
    let name = format!("{}/{}/{}", first.workload, first.name, first.params_text());
    let mut group = c.benchmark_group(&name);
    // Equally long samples are equally precise; and a slow runtime does not take ten times as long.
    group.sampling_mode(SamplingMode::Flat);
    let mut ran = false;
    for cell in &plan.cells {
        for entry in &cell.entries {
            let arm = &plan.arms[entry.arm];
            if !arm.null && arm.fixed_workers.is_none_or(|n| n == cell.workers) {
                ran |= bench(&mut group, plan, arm, cell, &name);
            }
        }
    }
    group.finish();
    if ran {
        say_who_differs(plan, first, &name);
    }
}

/// Benchmarks one runtime in one cell. Returns whether the filter let it run.
fn bench(
    group: &mut BenchmarkGroup<'_, WallTime>,
    plan: &Plan,
    arm: &Arm,
    cell: &Cell,
    name: &str,
) -> bool {
    let id = format!("{name}/{}/p{}", arm.runtime, cell.workers);
    let expected = find_workload(&cell.workload)
        .map(|w| w.expected(&Params(cell.params.clone()), cell.workers))
        .unwrap_or_else(|| fail(&id, "no such workload"));
    let mut client = None;
    let mut samples: Vec<(u64, u64)> = Vec::new();
    group.throughput(Throughput::Elements(expected.1));
    let in_group = BenchmarkId::new(&arm.runtime, format!("p{}", cell.workers));
    group.bench_function(in_group, |b| {
        let client = client.get_or_insert_with(|| start(plan, arm, cell, expected, &id));
        b.iter_custom(|iters| {
            let timed = client.run(iters).unwrap_or_else(|fault| fail(&id, fault.detail));
            samples.push((iters, timed.sample.ns));
            Duration::from_nanos(timed.sample.ns)
        });
    });
    if measuring() {
        say_unit_time(&samples, expected.1, cell);
    }
    if let Some(why) = client.and_then(Client::quit) {
        fail(&id, why);
    }
    !samples.is_empty()
}

fn start(plan: &Plan, arm: &Arm, cell: &Cell, expected: (u64, u64), id: &str) -> Client {
    let own = PathBuf::from(env!("CARGO_BIN_EXE_stealbench"));
    let timeout = Duration::from_millis(plan.timeout_ms);
    let launcher = Launcher { own, timeout, stop: Rc::new(|| false) };
    match Client::start(&launcher, arm, cell, expected) {
        Ok(Ok((client, _))) => client,
        Ok(Err(reason)) => fail(id, reason),
        Err(fault) => fail(id, fault.detail),
    }
}

/// Time per unit, which criterion shows as units per second only. Samples of the measurement are those
/// with the iteration count of the last one; the warm-up's are powers of two on the way there.
fn say_unit_time(samples: &[(u64, u64)], units: u64, cell: &Cell) {
    let Some((count, _)) = samples.last() else { return };
    let measured = samples.iter().filter(|s| s.0 == *count);
    let per_unit: Vec<f64> = measured.map(|(n, ns)| *ns as f64 / (n * units) as f64).collect();
    if let Some(middle) = median(&per_unit) {
        let n = per_unit.len();
        eprintln!("{:24}{} per {} (median of {n})", "", figure::time(middle), cell.unit);
    }
}

/// Who is left out and why; whose program is not its own idiom.
fn say_who_differs(plan: &Plan, cell: &Cell, name: &str) {
    for (arm, why) in cell.absent.iter().filter(|(arm, _)| *arm != "null") {
        eprintln!("{name}: without {arm}: {why}");
    }
    let literal = cell.entries.iter().filter(|e| e.lane == "literal");
    let arms = literal.map(|e| &plan.arms[e.arm]).filter(|a| !a.null);
    let names: Vec<&str> = arms.map(|a| a.runtime.as_str()).collect();
    if !names.is_empty() {
        eprintln!("{name}: not their idiom, not to be ranked with others: {}", names.join(", "));
    }
}

/// Whether times are wanted: not in test mode, not for a list, not of stored results.
fn measuring() -> bool {
    let has = |flag: &str| std::env::args().any(|a| a.split('=').next() == Some(flag));
    has("--bench") && !["--test", "--list", "--load-baseline"].into_iter().any(has)
}

/// Two measurements at once would measure each other.
fn wait_for_machine() -> Option<MachineLock> {
    let mut told = false;
    let wait = || {
        if !told {
            eprintln!("another session is measuring on this machine; waiting for it to end");
            told = true;
        }
        std::thread::sleep(Duration::from_millis(100));
        Ok(())
    };
    MachineLock::take(wait).unwrap_or_else(|e| fail("the machine's lock", e))
}

/// One line, and the exit code of a contender that failed. Workers end with the process.
fn fail(what: &str, why: impl Display) -> ! {
    eprintln!("{what}: {why}");
    std::process::exit(1)
}
