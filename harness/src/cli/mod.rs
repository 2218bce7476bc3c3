//! harness/src/cli/mod.rs: the words of the command line. Question: what may be typed?
//!
//! # Invariants
//! - Results go to stdout, everything else to stderr.
//! - What is not understood is an error (exit 2) that names the alternatives; nothing is ignored.

mod list;
mod report;
mod run;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::error::{Error, Result, exit};
use crate::plan::{Mode, RunText, SizeName};
use crate::store;

const EXIT_CODES: &str = "\
Exit codes: 0 done and passed; 1 the tool or a contender failed (wrong answer, panic, I/O); \
2 usage; 3 regression; 4 not measurable; 5 not comparable; 130 interrupted, journal valid and resumable.";

/// Compares task schedulers side by side: checked answers, ratios with intervals, a report.
#[derive(Parser)]
#[command(name = "stealbench", version, after_help = EXIT_CODES)]
#[command(long_about = "Compares task schedulers side by side: checked answers, ratios with \
intervals, a report.\n\nWithout a command it runs a quick comparison of everything, which takes \
about two minutes on two cores.")]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Measure, and write a report.
    Run(Box<RunArgs>),
    /// Show what there is to measure.
    List(ListArgs),
    /// Make a report again from the journal of a session.
    Report(ReportArgs),
    /// Serve one contender over stdin and stdout.
    #[command(hide = true)]
    Worker {
        /// Which.
        #[arg(long, value_name = "NAME")]
        runtime: String,
    },
    /// Print a completion script.
    Completions {
        /// For which shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
    /// Print the JSON Schema of a journal line.
    Schema,
}

/// What `run` takes.
#[derive(Args, Default)]
struct RunArgs {
    /// Only cells with one of these words in their name (`fib`, `tree`, `n=20`).
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Effort; quick by default.
    #[arg(long)]
    mode: Option<Mode>,
    /// Size of the workloads; smoke for quick and standard, std for study.
    #[arg(long)]
    size: Option<SizeName>,
    /// Workloads, by id or name; all by default.
    #[arg(long, value_name = "W,..", value_delimiter = ',')]
    workload: Vec<String>,
    /// Runtimes; all by default.
    #[arg(long, value_name = "R,..", value_delimiter = ',')]
    runtime: Vec<String>,
    /// Policies of runtimes that have them. Switches of one policy are joined by `+`.
    #[arg(long, value_name = "P,..", value_delimiter = ',')]
    policy: Vec<String>,
    /// Worker counts: numbers, cores, threads, 2x; 1,cores,2x by default.
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    workers: Vec<String>,
    /// Parameter of the workloads, with one or more values.
    #[arg(long = "param", value_name = "NAME=VALUE,..")]
    params: Vec<String>,
    /// Runtime that ratios are taken to; the first by default.
    #[arg(long, value_name = "R")]
    reference: Option<String>,
    /// Where workers may run; only none is built so far: affinity is left alone and recorded.
    #[arg(long, default_value = "none")]
    placement: String,
    /// Folder of the session; must hold none yet. By default results/latest, where an earlier
    /// session is moved to earlier/.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed of all orders; a fresh one by default.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Wall time that the session may take (90s, 10m); 125 s in quick mode, else none.
    #[arg(long, value_name = "TIME")]
    budget_time: Option<String>,
    /// How long a contender may take for one answer; 30s by default.
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
    /// Print the plan with its expected time, and measure nothing.
    #[arg(long)]
    dry_run: bool,
    /// Continue the session in this folder; finished epochs are not run again.
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "filters", "mode", "size", "workload", "runtime", "policy", "workers", "params",
        "reference", "out", "seed", "budget_time", "timeout", "dry_run"])]
    resume: Option<PathBuf>,
    /// Print the report as JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// No progress bar.
    #[arg(long)]
    no_progress: bool,
    /// Only results and errors.
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Say more about what happens.
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

impl RunArgs {
    /// The words that go into the plan.
    fn text(&self) -> RunText {
        RunText {
            filters: self.filters.clone(),
            workloads: self.workload.clone(),
            runtimes: self.runtime.clone(),
            policies: self.policy.clone(),
            workers: self.workers.clone(),
            params: self.params.clone(),
            reference: self.reference.clone(),
            mode: self.mode,
            size: self.size,
            seed: self.seed,
            budget: self.budget_time.clone(),
            timeout: self.timeout.clone(),
        }
    }

    fn verbosity(&self) -> i8 {
        if self.quiet { -1 } else { i8::try_from(self.verbose).unwrap_or(i8::MAX) }
    }
}

#[derive(Args)]
struct ListArgs {
    /// What to list.
    what: What,
    /// How.
    #[arg(long, default_value = "pretty")]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// Programs to be scheduled.
    Workloads,
    /// Contenders.
    Runtimes,
    /// Policies of contenders that have them.
    Policies,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table.
    Pretty,
    /// JSON.
    Json,
}

#[derive(Args)]
struct ReportArgs {
    /// Folders of sessions, or journals.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Write the page here.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the Markdown here.
    #[arg(long, value_name = "FILE")]
    md: Option<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the command line `args` (program name first). Returns the exit code.
///
/// # Errors
/// What stopped it; the error knows its exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Result<u8> {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { exit::USAGE } else { exit::DONE };
            let _ = error.print();
            return Ok(code);
        }
    };
    match cli.command {
        None => run::run(&RunArgs { placement: "none".to_string(), ..RunArgs::default() }),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::List(args)) => list::list(args.what, args.format),
        Some(Command::Report(args)) => report::report(&args),
        Some(Command::Worker { runtime }) => worker(&runtime),
        Some(Command::Completions { shell }) => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "stealbench", &mut text);
            print(&String::from_utf8_lossy(&text))
        }
        Some(Command::Man) => {
            let mut text = Vec::new();
            let page = clap_mangen::Man::new(Cli::command());
            let out = std::path::Path::new("standard output");
            page.render(&mut text).map_err(Error::io("cannot write", out))?;
            print(&String::from_utf8_lossy(&text))
        }
        Some(Command::Schema) => print(store::JOURNAL_SCHEMA),
    }
}

/// Writes a result to stdout. A reader that has gone (`| head`) is no error.
fn print(text: &str) -> Result<u8> {
    match anstream::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::io("cannot write", std::path::Path::new("standard output"))(e))
        }
        _ => Ok(exit::DONE),
    }
}

fn worker(runtime: &str) -> Result<u8> {
    let known: Vec<_> = stealbench_workloads::runtimes().iter().map(|r| r.name).collect();
    if !known.contains(&runtime) {
        let want = format!("want one of {}", known.join(", "));
        return Err(Error::usage("--runtime", runtime, want));
    }
    let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
    stealbench_workloads::worker::serve(runtime, input, output)
        .map_err(|e| Error::Failed(format!("worker: {e}")))?;
    Ok(exit::DONE)
}
