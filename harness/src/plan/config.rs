//! harness/src/plan/config.rs: the words of a command line, checked. Question: do they name things that
//! exist, and what would have to be typed to get the same again?
//!
//! # Invariants
//! - Every refusal names the flag, what was given, and what there is to choose from.
//! - `Config::command` gives a command that leads to an equal `Config`.

use serde::{Deserialize, Serialize};
use stealbench_workloads::{Size, Workload, find_runtime, find_workload, runtimes, workloads};

use crate::error::{Error, Result};

/// How much effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// About two minutes on two cores: 8 epochs, small sizes.
    Quick,
    /// 8 to 30 epochs, until each ratio is known to 1 %.
    Standard,
    /// 12 to 60 epochs, until each ratio is known to half a percent; larger sizes.
    Study,
}

/// A size of workload, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum SizeName {
    /// At most 0.3 s an iteration on two cores.
    Smoke,
    /// 1 to 3 s.
    Std,
    /// 10 s and more.
    Large,
}

impl From<SizeName> for Size {
    fn from(name: SizeName) -> Size {
        match name {
            SizeName::Smoke => Size::Smoke,
            SizeName::Std => Size::Std,
            SizeName::Large => Size::Large,
        }
    }
}

/// What was typed, before any of it was looked up.
#[derive(Clone, Debug, Default)]
pub struct RunText {
    /// Words that a cell's name must contain, any of them.
    pub filters: Vec<String>,
    /// Ids or names.
    pub workloads: Vec<String>,
    /// Names.
    pub runtimes: Vec<String>,
    /// Policy names.
    pub policies: Vec<String>,
    /// Numbers, `cores`, `threads`, `2x`.
    pub workers: Vec<String>,
    /// `k=v` or `k=v1,v2`.
    pub params: Vec<String>,
    /// The runtime that ratios are taken to.
    pub reference: Option<String>,
    /// Effort.
    pub mode: Option<Mode>,
    /// Size.
    pub size: Option<SizeName>,
    /// Seed of all orders.
    pub seed: Option<u64>,
    /// `90s`, `10m`, `1h`.
    pub budget: Option<String>,
    /// How long a contender may take to answer; the same form.
    pub timeout: Option<String>,
}

/// All settings of a session, resolved and checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Effort.
    pub mode: Mode,
    /// Size of the workloads.
    pub size: SizeName,
    /// Words that a cell's name must contain, any of them; empty: all.
    pub filters: Vec<String>,
    /// Workload ids.
    pub workloads: Vec<String>,
    /// Runtime names.
    pub runtimes: Vec<String>,
    /// Policy names for runtimes that take one.
    pub policies: Vec<String>,
    /// Numbers of workers.
    pub workers: Vec<usize>,
    /// Parameter names, each with the values to try.
    pub params: Vec<(String, Vec<String>)>,
    /// Registry name of the reference.
    pub reference: String,
    /// Seed of all orders.
    pub seed: u64,
    /// Wall time that the session may take, in seconds.
    pub budget_s: Option<u64>,
    /// How long a contender may take to answer, in ms.
    pub timeout_ms: u64,
}

/// The quick mode's own budget: with it the whole run takes about two minutes.
const QUICK_BUDGET_S: u64 = 125;
/// More workers than this are a slip of the finger.
const MOST_WORKERS: usize = 1024;
/// Seeds fit a JSON number that every reader keeps exact.
const MOST_SEED: u64 = 1 << 53;

impl Config {
    /// Looks everything up. `cores` and `threads`: physical and logical CPUs this process may use.
    ///
    /// # Errors
    /// A usage error for the first thing that does not exist or is out of range.
    pub fn check(text: &RunText, cores: usize, threads: usize) -> Result<Config> {
        let mode = text.mode.unwrap_or(Mode::Quick);
        let study = mode == Mode::Study;
        let names = runtime_names(&text.runtimes)?;
        let reference = reference(text.reference.as_deref(), &names)?;
        let budget = text.budget.as_deref().map(|b| duration("--budget-time", b)).transpose()?;
        let timeout = text.timeout.as_deref().map(|t| duration("--timeout", t)).transpose()?;
        let seed = text.seed.unwrap_or_else(fresh_seed);
        if seed >= MOST_SEED {
            return Err(Error::usage("--seed", seed, format!("want less than {MOST_SEED}")));
        }
        Ok(Config {
            mode,
            size: text.size.unwrap_or(if study { SizeName::Std } else { SizeName::Smoke }),
            filters: text.filters.clone(),
            workloads: workload_ids(&text.workloads)?,
            policies: policies(&text.policies, &names)?,
            runtimes: names,
            workers: workers(&text.workers, cores, threads)?,
            params: params(&text.params)?,
            reference,
            seed,
            budget_s: budget
                .map(|ms| ms.div_ceil(1000))
                .or((mode == Mode::Quick).then_some(QUICK_BUDGET_S)),
            timeout_ms: timeout.unwrap_or(30_000),
        })
    }

    /// The command that measures the same cells in the same orders: program name first, no paths.
    pub fn command(&self) -> Vec<String> {
        let word = |v: &dyn erased::Word| v.word();
        let mut out = vec!["stealbench".to_string(), "run".to_string()];
        out.extend(self.filters.iter().cloned());
        let workers: Vec<String> = self.workers.iter().map(usize::to_string).collect();
        let policies: Vec<String> = self.policies.iter().map(|p| p.replace(',', "+")).collect();
        // What is the default needs no words, unless it is all there is to tell.
        let unless = |all: bool, list: String| if all { String::new() } else { list };
        let every = workloads().len() == self.workloads.len();
        let all = runtimes().iter().map(|r| r.name).eq(self.runtimes.iter());
        let lists = [
            ("--mode", word(&self.mode)),
            ("--size", word(&self.size)),
            ("--workload", unless(every, self.workloads.join(","))),
            ("--runtime", unless(all, self.runtimes.join(","))),
            ("--policy", policies.join(",")),
            ("--workers", workers.join(",")),
            ("--reference", self.reference.clone()),
            ("--seed", self.seed.to_string()),
            ("--budget-time", self.budget_s.map_or(String::new(), |s| format!("{s}s"))),
            ("--timeout", format!("{}ms", self.timeout_ms)),
        ];
        for (flag, value) in lists.into_iter().filter(|(_, v)| !v.is_empty()) {
            out.extend([flag.to_string(), value]);
        }
        for (name, values) in &self.params {
            out.extend(["--param".to_string(), format!("{name}={}", values.join(","))]);
        }
        out
    }
}

/// The word a value enum is typed as.
mod erased {
    pub(super) trait Word {
        fn word(&self) -> String;
    }
    impl<T: clap::ValueEnum> Word for T {
        fn word(&self) -> String {
            self.to_possible_value().map_or_else(String::new, |v| v.get_name().to_string())
        }
    }
}

fn fresh_seed() -> u64 {
    let id = uuid::Uuid::now_v7().as_u128();
    (id as u64 ^ (id >> 64) as u64) % MOST_SEED
}

fn workload_ids(given: &[String]) -> Result<Vec<String>> {
    let all = || workloads().iter().map(|w| w.id().to_string()).collect();
    let known = |w: &&dyn Workload| format!("{} {}", w.id(), w.name());
    let find = |key: &String| match find_workload(key) {
        Some(w) => Ok(w.id().to_string()),
        None => {
            let names: Vec<String> = workloads().iter().map(known).collect();
            Err(Error::usage("--workload", key, format!("want one of {}", names.join(", "))))
        }
    };
    if given.is_empty() { Ok(all()) } else { given.iter().map(find).collect() }
}

fn runtime_names(given: &[String]) -> Result<Vec<String>> {
    let all: Vec<String> = runtimes().iter().map(|r| r.name.to_string()).collect();
    if given.is_empty() {
        return Ok(all);
    }
    for (i, name) in given.iter().enumerate() {
        if !all.contains(name) {
            return Err(Error::usage(
                "--runtime",
                name,
                format!("want some of {}", all.join(", ")),
            ));
        }
        if given[..i].contains(name) {
            return Err(Error::usage("--runtime", name, "named twice; want each once"));
        }
    }
    Ok(given.to_vec())
}

/// The named one, else the first that can take any number of workers, else the first.
fn reference(given: Option<&str>, names: &[String]) -> Result<String> {
    if let Some(name) = given {
        let want = format!("want one of the runtimes that take part: {}", names.join(", "));
        let found = names.iter().find(|n| *n == name);
        return found.cloned().ok_or_else(|| Error::usage("--reference", name, want));
    }
    let free = |n: &&String| find_runtime(n).is_some_and(|r| r.fixed_workers.is_none());
    let first = names.iter().find(free).or(names.first());
    first.cloned().ok_or_else(|| Error::Failed("this build knows no runtime".to_string()))
}

fn policies(given: &[String], names: &[String]) -> Result<Vec<String>> {
    let takes = |n: &String| find_runtime(n).is_some_and(|r| r.policies);
    if !given.is_empty() && !names.iter().any(takes) {
        let want = "none of the runtimes that take part has policies; leave it out";
        return Err(Error::usage("--policy", given.join(","), want));
    }
    if given.is_empty() {
        return Ok(vec![stealbench_workloads::policy::DEFAULT.to_string()]);
    }
    // On the command line commas part policies, so the switches of one are joined by a plus sign.
    let check = |p: &String| stealbench_workloads::policy::check(&p.replace('+', ","));
    given.iter().map(|p| check(p).map_err(|why| Error::usage("--policy", p, why))).collect()
}

/// `1,2,cores,threads,2x` to numbers, ascending, each once. Default: 1, cores, twice the cores.
fn workers(given: &[String], cores: usize, threads: usize) -> Result<Vec<usize>> {
    let default = ["1", "cores", "2x"].map(String::from);
    let given = if given.is_empty() { &default[..] } else { given };
    let mut out = Vec::new();
    for word in given {
        let n = match word.as_str() {
            "cores" => cores,
            "threads" => threads,
            "2x" => 2 * cores,
            number => number.parse().unwrap_or(0),
        };
        if n == 0 || n > MOST_WORKERS {
            let want = format!("want 1 to {MOST_WORKERS}, cores, threads or 2x");
            return Err(Error::usage("--workers", word, want));
        }
        out.push(n);
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

fn params(given: &[String]) -> Result<Vec<(String, Vec<String>)>> {
    let mut out: Vec<(String, Vec<String>)> = Vec::new();
    for text in given {
        let pair = text.split_once('=').filter(|(k, v)| !k.is_empty() && !v.is_empty());
        let Some((name, values)) = pair else {
            return Err(Error::usage("--param", text, "want name=value or name=value,value"));
        };
        if out.iter().any(|(n, _)| n == name) {
            let want = format!("{name} is set twice; want {name}=value,value");
            return Err(Error::usage("--param", text, want));
        }
        out.push((name.to_string(), values.split(',').map(String::from).collect()));
    }
    Ok(out)
}

/// `1500ms`, `90s`, `10m`, `1h` to milliseconds; a bare number is seconds.
fn duration(flag: &'static str, text: &str) -> Result<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 1,
        "s" | "" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    let ms = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor));
    ms.filter(|ms| *ms > 0)
        .ok_or_else(|| Error::usage(flag, text, "want a time such as 90s or 10m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_bad_ones_are_refused() {
        assert_eq!(duration("--timeout", "90s").unwrap(), 90_000);
        assert_eq!(duration("--timeout", "10m").unwrap(), 600_000);
        assert_eq!(duration("--timeout", "250ms").unwrap(), 250);
        assert_eq!(duration("--timeout", "7").unwrap(), 7_000);
        for bad in ["", "0s", "ten", "5d", "-1s", "99999999999999999999h"] {
            assert!(duration("--timeout", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn workers_are_counted_sorted_and_bounded() {
        let of = |words: &[&str]| {
            workers(&words.iter().map(|w| w.to_string()).collect::<Vec<_>>(), 2, 4)
        };
        assert_eq!(of(&[]).unwrap(), [1, 2, 4]);
        assert_eq!(of(&["threads", "cores", "2", "1"]).unwrap(), [1, 2, 4]);
        for bad in ["0", "-1", "many", "1025"] {
            let message = of(&[bad]).unwrap_err().to_string();
            assert!(message.starts_with(&format!("--workers {bad}: want 1 to")), "{message}");
        }
    }

    #[test]
    fn parameters_split_into_values() {
        let got = params(&["k=4,6".into(), "m=10".into()]).unwrap();
        assert_eq!(got[0], ("k".to_string(), vec!["4".to_string(), "6".to_string()]));
        assert!(params(&["k".into()]).is_err());
        assert!(params(&["k=1".into(), "k=2".into()]).is_err());
    }
}
