//! harness/src/measure/progress.rs: how far it is. Question: how long will this still take?
//!
//! # Invariants
//! - Draws only when called, and it is called only between epochs: never while something is timed.
//! - Everything goes to stderr; the bar only to a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar with the expected rest, or nothing.
pub struct Progress {
    bar: Option<ProgressBar>,
    verbosity: i8,
}

impl Progress {
    /// `bar`: draw one if stderr is a terminal. `verbosity`: -1 quiet, 0, 1 and more.
    pub fn new(bar: bool, verbosity: i8) -> Progress {
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let bar = (bar && terminal && verbosity >= 0).then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            let style = "{prefix:>9} {bar:28} {pos}/{len}  {elapsed} gone, {eta} to go  {wide_msg}";
            bar.set_style(
                ProgressStyle::with_template(style).unwrap_or(ProgressStyle::default_bar()),
            );
            bar
        });
        Progress { bar, verbosity }
    }

    /// Starts a stretch of `steps`, of which `done` lie behind us.
    pub fn stretch(&self, name: &'static str, steps: u64, done: u64) {
        if let Some(bar) = &self.bar {
            bar.reset();
            bar.set_prefix(name);
            bar.set_length(steps);
            bar.set_position(done);
        }
    }

    /// One step is done; `next` is what comes now.
    pub fn step(&self, next: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(next.to_string());
            bar.inc(1);
        }
    }

    /// A line that must be seen, also when quiet.
    pub fn warn(&self, line: &str) {
        self.print(&format!("stealbench: {line}"));
    }

    /// A line for those who did not ask for silence.
    pub fn say(&self, line: &str) {
        if self.verbosity >= 0 {
            self.print(line);
        }
    }

    /// A line for those who asked for more.
    pub fn detail(&self, line: &str) {
        if self.verbosity >= 1 {
            self.print(line);
        }
    }

    fn print(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| anstream::eprintln!("{line}")),
            None => anstream::eprintln!("{line}"),
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
