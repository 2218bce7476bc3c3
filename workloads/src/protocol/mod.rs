//! The line protocol between the harness and a contender: one request line, one reply line.
//!
//! ```text
//! hello                                   ok proto=1 runtime=tokio version=1.54.1 lang=rust pid=..
//! setup workload=W07 workers=2 policy=-  n=20   ok workers=2 threads=3 cpus=0,1     | unsupported <reason>
//! check                                   ok answer=6765 units=10945 inlined=0
//! run iters=3                             ok ns=123 answer=6765 units=.. inlined=.. cpu_ns=.. c.steals=12 ..
//! park                                    ok cpu_ns=..      (all workers idle)
//! quit                                    ok                (then the process exits 0)
//! anything wrong                          error <reason>
//! ```
//! Keys and values are percent-encoded where they hold a space, `=`, `%` or a control character; the
//! reason after `unsupported` and `error` is the rest of the line. Counters carry the prefix `c.`;
//! latency samples, where a workload has them, are `lat_ns=p50:..,p90:..,p99:..,p999:..,max:..`.
//! Times are integer nanoseconds. Unknown keys are ignored by both sides.
//!
//! `ns` is the whole region, all iterations together; `answer`, `units` and `inlined` are those of
//! one iteration (all iterations agree, or the reply is an error). A contender is right when `answer`
//! and `units + inlined` are what `Workload::expected` says. `ns` is the workload's own clock
//! (`Workload::clock`); `wall_ns` is always the monotonic clock and may be left out where it is `ns`.
//! What a contender does not know it leaves out; it never says 0.
use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::cell::Params;

mod replies;

pub use replies::{Checked, Facts, Greeting, Idle, Latency, Sample};

/// The version of this protocol.
pub const PROTO: u64 = 1;

/// What the harness asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Who are you?
    Hello,
    /// Start the runtime and prepare a workload. Again, with something else, at any time.
    Setup(Setup),
    /// One untimed iteration, for its answer.
    Check,
    /// So many iterations in one timed region.
    Run {
        /// At least 1.
        iters: u64,
    },
    /// Come to rest and say what resting costs.
    Park,
    /// End.
    Quit,
}

/// What is to be run, and on what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Id of the workload.
    pub workload: String,
    /// How many workers; at least 1.
    pub workers: usize,
    /// Name of a policy, for runtimes that take one.
    pub policy: Option<String>,
    /// The workload's parameters; what is missing has its default.
    pub params: Params,
}

impl Request {
    /// The request as one line, without the line feed.
    pub fn encode(&self) -> String {
        match self {
            Request::Hello => "hello".into(),
            Request::Check => "check".into(),
            Request::Park => "park".into(),
            Request::Quit => "quit".into(),
            Request::Run { iters } => format!("run iters={iters}"),
            Request::Setup(setup) => {
                let mut fields = Fields::default();
                fields.set("workload", &setup.workload);
                fields.set("workers", setup.workers);
                fields.set("policy", setup.policy.as_deref().unwrap_or("-"));
                setup.params.0.iter().for_each(|(k, v)| fields.set(k, v));
                format!("setup{}", fields.encode())
            }
        }
    }

    /// Reads one line.
    ///
    /// # Errors
    /// One line of text that names what is wrong.
    pub fn parse(line: &str) -> Result<Request, String> {
        let line = line.trim_end_matches(['\r', '\n']);
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut fields = Fields::parse(rest)?;
        Ok(match verb {
            "hello" => Request::Hello,
            "check" => Request::Check,
            "park" => Request::Park,
            "quit" => Request::Quit,
            "run" => match fields.number("iters")? {
                0 => return Err("iters=0: want at least 1".into()),
                iters => Request::Run { iters },
            },
            "setup" => Request::Setup(Setup {
                workload: fields.take("workload")?,
                workers: match fields.take("workers")?.parse() {
                    Ok(n) if n > 0 => n,
                    _ => return Err("workers: want a number from 1".into()),
                },
                policy: fields.0.remove("policy").filter(|p| p != "-"),
                params: Params(fields.0),
            }),
            other => {
                return Err(format!(
                    "unknown request {other:?}: want hello, setup, check, run, park or quit"
                ));
            }
        })
    }
}

/// What the contender answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Done; what it was is in the fields.
    Ok(Fields),
    /// This runtime does not run this workload, and why. A table entry, no failure.
    Unsupported(String),
    /// It went wrong.
    Error(String),
}

impl Reply {
    /// The reply as one line, without the line feed. Line ends in a reason become spaces.
    pub fn encode(&self) -> String {
        let one_line = |text: &str| text.replace(|c: char| c.is_control(), " ");
        match self {
            Reply::Ok(fields) => format!("ok{}", fields.encode()),
            Reply::Unsupported(reason) => format!("unsupported {}", one_line(reason)),
            Reply::Error(reason) => format!("error {}", one_line(reason)),
        }
    }

    /// Reads one line.
    ///
    /// # Errors
    /// What is wrong with it, with the line itself, cut to 80 characters.
    pub fn parse(line: &str) -> Result<Reply, String> {
        let line = line.trim_end_matches(['\r', '\n']);
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb {
            "ok" => Fields::parse(rest).map(Reply::Ok),
            "unsupported" => Ok(Reply::Unsupported(rest.into())),
            "error" => Ok(Reply::Error(rest.into())),
            _ => {
                let start: String = line.chars().take(80).collect();
                Err(format!("not a reply: {start:?} (want ok, unsupported or error)"))
            }
        }
    }
}

/// `key=value` pairs of one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(pub BTreeMap<String, String>);

impl Fields {
    /// Sets `key`.
    pub fn set(&mut self, key: &str, value: impl ToString) {
        self.0.insert(key.to_string(), value.to_string());
    }
    /// Sets `key` where there is a value.
    pub fn set_some(&mut self, key: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.set(key, value);
        }
    }
    /// The number under `key`, if it is there and is one.
    pub fn get_number(&self, key: &str) -> Option<u64> {
        self.0.get(key)?.parse().ok()
    }
    /// The number under `key`.
    ///
    /// # Errors
    /// Names the key that is missing or no number.
    pub fn number(&self, key: &str) -> Result<u64, String> {
        let text = self.0.get(key).ok_or_else(|| format!("{key} is missing"))?;
        text.parse().map_err(|_| format!("{key}={text}: want a whole number"))
    }
    fn take(&mut self, key: &str) -> Result<String, String> {
        self.0.remove(key).ok_or_else(|| format!("{key} is missing"))
    }
    fn encode(&self) -> String {
        let pair = |(k, v): (&String, &String)| format!(" {}={}", escape(k), escape(v));
        self.0.iter().map(pair).collect()
    }
    fn parse(text: &str) -> Result<Fields, String> {
        let pair = |word: &str| {
            let (k, v) = word.split_once('=').ok_or_else(|| format!("{word:?}: want key=value"))?;
            Ok((unescape(k)?, unescape(v)?))
        };
        text.split(' ')
            .filter(|word| !word.is_empty())
            .map(pair)
            .collect::<Result<_, _>>()
            .map(Fields)
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == ' ' || c == '=' || c == '%' || c.is_control() {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

fn unescape(text: &str) -> Result<String, String> {
    let bad = || format!("{text:?}: want % followed by two hexadecimal digits");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [hi, lo, tail @ ..] = rest else { return Err(bad()) };
        let digit = |b: u8| (b as char).to_digit(16).ok_or_else(bad);
        bytes.push((digit(*hi)? * 16 + digit(*lo)?) as u8);
        rest = tail;
    }
    String::from_utf8(bytes).map_err(|_| format!("{text:?}: not UTF-8 once decoded"))
}

#[cfg(test)]
mod tests;
