//! harness/src/host.rs: what machine this is. Question: which facts about it could explain a result, and
//! which must be equal before two results may be compared?
//!
//! # Invariants
//! - Reads only; a fact that cannot be had is `{"missing": reason}`, never a guess.
//! - No host name, no user name, no path of the user.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::store::{Env, crc};

/// The machine as this process may use it.
#[derive(Clone, Debug)]
pub struct Host {
    /// Numbers of the CPUs that this process may run on.
    pub allowed: Vec<usize>,
    /// Physical cores behind them.
    pub cores: usize,
    /// Whole CPUs that a cgroup quota allows, where it allows fewer.
    pub quota: Option<f64>,
    /// All facts, for the journal.
    pub env: Env,
}

/// Facts that must match before results are compared.
const CLASS: [&str; 7] =
    ["arch", "cpu_model", "allowed_cpus", "cores", "cgroup_quota_cpus", "kernel", "governor"];

impl Host {
    /// Looks at this machine, now.
    pub fn look() -> Host {
        let allowed = allowed_cpus();
        let cores = physical_cores(&allowed);
        let quota = quota();
        let facts = facts(&allowed, cores, quota);
        let class: BTreeMap<_, _> = CLASS.iter().map(|name| (*name, &facts[*name])).collect();
        let class = crc(json!(class).to_string().as_bytes());
        let class_fields = CLASS.iter().map(|s| s.to_string()).collect();
        Host { allowed, cores, quota, env: Env { class, class_fields, facts } }
    }

    /// Worker threads that can run at once: usable CPUs, or a smaller quota rounded up.
    pub fn threads(&self) -> usize {
        self.limited(self.allowed.len())
    }

    /// Physical cores that can be used at once.
    pub fn usable_cores(&self) -> usize {
        self.limited(self.cores)
    }

    fn limited(&self, n: usize) -> usize {
        self.quota.map_or(n, |q| n.min(q.ceil() as usize)).max(1)
    }
}

fn facts(allowed: &[usize], cores: usize, quota: Option<f64>) -> BTreeMap<String, Value> {
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    let info =
        |key: &str| field(&cpuinfo, key).map_or(missing("not in /proc/cpuinfo"), Value::from);
    let memory = read("/proc/meminfo").and_then(|t| field(&t, "MemTotal").map(str::to_string));
    let list: Vec<String> = allowed.iter().map(usize::to_string).collect();
    let first = allowed.first().copied().unwrap_or(0);
    let cpu = format!("/sys/devices/system/cpu/cpu{first}");
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let mut facts: BTreeMap<String, Value> = BTreeMap::new();
    let mut put = |name: &str, value: Value| facts.insert(name.to_string(), value);
    put("arch", std::env::consts::ARCH.into());
    put("os", std::env::consts::OS.into());
    put("cpu_model", info("model name"));
    put("cpu_vendor", info("vendor_id"));
    put("cpu_family", info("cpu family"));
    put("cpu_stepping", info("stepping"));
    put("microcode", info("microcode"));
    put("allowed_cpus", list.join(",").into());
    put("logical_cpus", allowed.len().into());
    put("cores", cores.into());
    put("smt", file("/sys/devices/system/cpu/smt/control"));
    put("cache_l2", file(&format!("{cpu}/cache/index2/size")));
    put("cache_l3", file(&format!("{cpu}/cache/index3/size")));
    put("governor", file(&format!("{cpu}/cpufreq/scaling_governor")));
    put("boost", file("/sys/devices/system/cpu/cpufreq/boost"));
    put("memory", memory.map_or(missing("not in /proc/meminfo"), Value::from));
    put("cgroup_quota_cpus", quota.map_or(missing("no quota"), Value::from));
    put("kernel", file("/proc/sys/kernel/osrelease"));
    put("distribution", distribution());
    put("clock_source", file(clock));
    put("transparent_huge_pages", selected("/sys/kernel/mm/transparent_hugepage/enabled"));
    put("address_randomisation", file("/proc/sys/kernel/randomize_va_space"));
    put("hypervisor", hypervisor(&cpuinfo));
    put("load_at_start", file("/proc/loadavg"));
    put("cpu_pressure_at_start", file("/proc/pressure/cpu"));
    facts
}

fn missing(reason: &str) -> Value {
    json!({ "missing": reason })
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The first line of a small file.
fn file(path: &str) -> Value {
    match std::fs::read_to_string(path) {
        Ok(text) => text.lines().next().unwrap_or("").trim().into(),
        Err(e) => missing(&format!("{path}: {}", e.kind())),
    }
}

/// The word in square brackets: how such files show the choice in force.
fn selected(path: &str) -> Value {
    let text = read(path).unwrap_or_default();
    let word = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    word.map_or(missing("not offered by this kernel"), |(word, _)| word.into())
}

/// The value of `key: value` or `key\t: value`.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|l| l.split_once(':'))
        .find(|(k, _)| k.trim() == key)
        .map(|(_, v)| v.trim())
}

fn distribution() -> Value {
    let text = read("/etc/os-release").unwrap_or_default();
    let name = text.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="));
    name.map_or(missing("no /etc/os-release"), |n| n.trim_matches('"').into())
}

fn hypervisor(cpuinfo: &str) -> Value {
    let vendor = file("/sys/class/dmi/id/sys_vendor");
    let flagged = field(cpuinfo, "flags").is_some_and(|f| f.split(' ').any(|w| w == "hypervisor"));
    match (flagged, vendor) {
        (true, Value::String(name)) => name.into(),
        (true, _) => "present, vendor unknown".into(),
        (false, _) => missing("no sign of one"),
    }
}

/// CPUs in this process's affinity mask; on systems without one, as many as the standard library says.
fn allowed_cpus() -> Vec<usize> {
    stealbench_workloads::system::allowed_cpus().filter(|cpus| !cpus.is_empty()).unwrap_or_else(
        || (0..std::thread::available_parallelism().map_or(1, usize::from)).collect(),
    )
}

/// Distinct (package, core) pairs; the number of CPUs where the kernel does not say.
fn physical_cores(allowed: &[usize]) -> usize {
    let id = |cpu: usize, name: &str| {
        read(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}"))
            .map(|t| t.trim().to_string())
    };
    let pair = |cpu: &usize| Some((id(*cpu, "physical_package_id")?, id(*cpu, "core_id")?));
    let pairs: Option<std::collections::BTreeSet<_>> = allowed.iter().map(pair).collect();
    pairs.map_or(allowed.len(), |p| p.len()).max(1)
}

/// CPUs that the cgroup's quota is worth, version 2 or 1; the tightest of the visible levels.
fn quota() -> Option<f64> {
    let own = read("/proc/self/cgroup").unwrap_or_default();
    let v2 = own.lines().find_map(|l| l.strip_prefix("0::")).unwrap_or("/").to_string();
    let mut tightest: Option<f64> = None;
    let mut at = Path::new("/sys/fs/cgroup").join(v2.trim_start_matches('/'));
    while at.starts_with("/sys/fs/cgroup") {
        let here = std::fs::read_to_string(at.join("cpu.max")).ok().and_then(|t| ratio_of(&t));
        tightest = [tightest, here].into_iter().flatten().reduce(f64::min);
        if !at.pop() {
            break;
        }
    }
    let number =
        |name: &str| read(&format!("/sys/fs/cgroup/cpu/{name}"))?.trim().parse::<f64>().ok();
    let v1 = number("cpu.cfs_quota_us").filter(|q| *q > 0.0).zip(number("cpu.cfs_period_us"));
    [tightest, v1.map(|(q, p)| q / p)].into_iter().flatten().reduce(f64::min)
}

/// `max 100000` is no quota; `150000 100000` is one and a half CPUs.
fn ratio_of(cpu_max: &str) -> Option<f64> {
    let (quota, period) = cpu_max.trim().split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_read_as_cpus_and_max_is_none() {
        assert_eq!(ratio_of("150000 100000\n"), Some(1.5));
        assert_eq!(ratio_of("max 100000"), None);
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 49\nmodel name\t: Some CPU @ 2 GHz\n";
        assert_eq!(field(text, "model name"), Some("Some CPU @ 2 GHz"));
        assert_eq!(field(text, "name"), None);
    }

    #[test]
    fn this_machine_has_a_class_and_tells_no_names() {
        let host = Host::look();
        assert!(!host.allowed.is_empty() && host.cores >= 1 && host.threads() >= 1);
        assert_eq!(
            host.env.class,
            Host::look().env.class,
            "the class does not depend on the moment"
        );
        let text = serde_json::to_string(&host.env).unwrap();
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        assert!(name.trim().len() < 4 || !text.contains(name.trim()), "host name in the facts");
    }
}
