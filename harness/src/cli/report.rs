//! harness/src/cli/report.rs: reports from journals. Question: what does a session say, without measuring
//! anything?

use std::path::Path;

use super::{ReportArgs, print};
use crate::error::{Error, Result, exit};
use crate::report::{self, Report};
use crate::store;

/// Reads every journal and writes what was asked for; a table on stdout if nothing was.
pub(super) fn report(args: &ReportArgs) -> Result<u8> {
    if args.dirs.len() > 1 && (args.html.is_some() || args.md.is_some()) {
        let want = "one report a file: name one folder at a time with --html or --md";
        return Err(Error::usage("DIR", args.dirs.len(), want));
    }
    let mut values = Vec::new();
    for dir in &args.dirs {
        let report = read(dir)?;
        if let Some(path) = &args.html {
            write(path, &report::html(&report)?)?;
        }
        if let Some(path) = &args.md {
            write(path, &report::markdown(&report))?;
        }
        if args.json {
            values.push(report::json(&report));
        } else if args.html.is_none() && args.md.is_none() {
            show(&report)?;
        }
    }
    match values.len() {
        0 => Ok(exit::DONE),
        1 => print(&format!("{:#}\n", values[0])),
        _ => print(&format!("{:#}\n", serde_json::Value::from(values))),
    }
}

/// The report on the session in `dir`.
pub(super) fn read(dir: &Path) -> Result<Report> {
    Report::build(store::load(dir)?)
}

/// Prints the table, as wide as the terminal, or 120 columns where there is none.
pub(super) fn show(report: &Report) -> Result<u8> {
    let terminal = std::io::IsTerminal::is_terminal(&std::io::stdout());
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let width = (!terminal).then_some(120);
    print(&report::table(report, width, terminal && !plain))
}

/// Writes the files of a session that are derived from its journal.
pub(super) fn write_all(report: &Report, dir: &Path) -> Result<()> {
    write(&dir.join("report.html"), &report::html(report)?)?;
    write(&dir.join("report.md"), &report::markdown(report))?;
    store::write_manifest(dir, &["journal.jsonl", "report.html", "report.md"])
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(Error::io("cannot write", path))
}
