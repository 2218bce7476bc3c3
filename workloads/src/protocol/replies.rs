//! The fields of each reply, typed: both sides read and write them here only.
use std::collections::BTreeMap;

use super::Fields;

/// The reply to `hello`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// Protocol version; must be [`super::PROTO`].
    pub proto: u64,
    /// Name of the runtime.
    pub runtime: String,
    /// Its version.
    pub version: String,
    /// The language of the worker program.
    pub lang: String,
    /// Process id.
    pub pid: u64,
}

/// The reply to `setup`: what was read back, not what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Workers that were seen to run at once.
    pub workers: usize,
    /// Threads of the process, all of them.
    pub threads: Option<usize>,
    /// CPUs that the workers may run on.
    pub cpus: Option<Vec<usize>>,
}

/// The reply to `check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The answer.
    pub answer: u64,
    /// Units created.
    pub units: u64,
    /// Units run in place.
    pub inlined: u64,
}

/// The reply to `run`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The region on the workload's own clock, all iterations together.
    pub ns: u64,
    /// The region on the monotonic clock.
    pub wall_ns: u64,
    /// Answer and units of one iteration.
    pub checked: Checked,
    /// CPU time of the process over the region.
    pub cpu_ns: Option<u64>,
    /// Voluntary switches over the region.
    pub voluntary: Option<u64>,
    /// Involuntary switches over the region.
    pub involuntary: Option<u64>,
    /// Peak resident memory of the process so far.
    pub max_rss_kib: Option<u64>,
    /// How long tasks waited, where the workload knows.
    pub latency: Option<Latency>,
    /// The runtime's and the workload's own counters, over the region, without their prefix.
    pub counters: BTreeMap<String, u64>,
}

/// Percentiles of the waits in one region, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// Half waited at most this long.
    pub p50: u64,
    /// 90 %.
    pub p90: u64,
    /// 99 %.
    pub p99: u64,
    /// 99.9 %.
    pub p999: u64,
    /// The longest wait.
    pub max: u64,
}

/// The reply to `park`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// CPU time of the process over the window.
    pub cpu_ns: Option<u64>,
    /// Length of the window.
    pub window_ns: Option<u64>,
    /// Threads that were still running or runnable at its end.
    pub busy: Option<usize>,
}

impl Greeting {
    /// For the line.
    pub fn to_fields(&self) -> Fields {
        let mut fields = Fields::default();
        fields.set("proto", self.proto);
        fields.set("runtime", &self.runtime);
        fields.set("version", &self.version);
        fields.set("lang", &self.lang);
        fields.set("pid", self.pid);
        fields
    }
    /// From the line.
    ///
    /// # Errors
    /// Names the key that is missing or bad.
    pub fn from_fields(mut fields: Fields) -> Result<Greeting, String> {
        Ok(Greeting {
            proto: fields.number("proto")?,
            runtime: fields.take("runtime")?,
            version: fields.take("version")?,
            lang: fields.take("lang")?,
            pid: fields.number("pid")?,
        })
    }
}

impl Facts {
    /// For the line.
    pub fn to_fields(&self) -> Fields {
        let mut fields = Fields::default();
        fields.set("workers", self.workers);
        fields.set_some("threads", self.threads);
        let list =
            |cpus: &Vec<usize>| cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        fields.set_some("cpus", self.cpus.as_ref().map(list));
        fields
    }
    /// From the line.
    ///
    /// # Errors
    /// Names the key that is missing or bad.
    pub fn from_fields(fields: &Fields) -> Result<Facts, String> {
        let numbers = |text: &String| {
            let parsed = text.split(',').map(str::parse).collect::<Result<_, _>>();
            parsed.map_err(|_| format!("cpus={text}: want numbers joined by commas"))
        };
        Ok(Facts {
            workers: fields.number("workers")? as usize,
            threads: fields.get_number("threads").map(|n| n as usize),
            cpus: fields.0.get("cpus").map(numbers).transpose()?,
        })
    }
}

impl Checked {
    /// For the line.
    pub fn to_fields(&self) -> Fields {
        let mut fields = Fields::default();
        fields.set("answer", self.answer);
        fields.set("units", self.units);
        fields.set("inlined", self.inlined);
        fields
    }
    /// From the line.
    ///
    /// # Errors
    /// Names the key that is missing or bad.
    pub fn from_fields(fields: &Fields) -> Result<Checked, String> {
        let number = |key| fields.number(key);
        Ok(Checked {
            answer: number("answer")?,
            units: number("units")?,
            inlined: fields.get_number("inlined").unwrap_or(0),
        })
    }
    /// Whether this is what `Workload::expected` says.
    pub fn is_right(&self, expected: (u64, u64)) -> bool {
        (self.answer, self.units + self.inlined) == expected
    }
}

impl Sample {
    /// For the line.
    pub fn to_fields(&self) -> Fields {
        let mut fields = self.checked.to_fields();
        fields.set("ns", self.ns);
        fields.set("wall_ns", self.wall_ns);
        fields.set_some("cpu_ns", self.cpu_ns);
        fields.set_some("voluntary", self.voluntary);
        fields.set_some("involuntary", self.involuntary);
        fields.set_some("max_rss_kib", self.max_rss_kib);
        fields.set_some("lat_ns", self.latency.map(|l| l.encode()));
        self.counters.iter().for_each(|(name, n)| fields.set(&format!("c.{name}"), n));
        fields
    }
    /// From the line.
    ///
    /// # Errors
    /// Names the key that is missing or bad.
    pub fn from_fields(fields: &Fields) -> Result<Sample, String> {
        let ns = fields.number("ns")?;
        let counter =
            |(k, v): (&String, &String)| Some((k.strip_prefix("c.")?.to_string(), v.parse().ok()?));
        Ok(Sample {
            ns,
            wall_ns: fields.get_number("wall_ns").unwrap_or(ns),
            checked: Checked::from_fields(fields)?,
            cpu_ns: fields.get_number("cpu_ns"),
            voluntary: fields.get_number("voluntary"),
            involuntary: fields.get_number("involuntary"),
            max_rss_kib: fields.get_number("max_rss_kib"),
            latency: fields.0.get("lat_ns").map(|text| Latency::parse(text)).transpose()?,
            counters: fields.0.iter().filter_map(counter).collect(),
        })
    }
}

impl Latency {
    /// The percentiles of `waits`, by nearest rank. `None` if there are none. Sorts: O(n log n).
    pub fn of(waits: &mut [u64]) -> Option<Latency> {
        waits.sort_unstable();
        let max = *waits.last()?;
        let rank = |per_mille: usize| waits[(waits.len() * per_mille).div_ceil(1000).max(1) - 1];
        Some(Latency { p50: rank(500), p90: rank(900), p99: rank(990), p999: rank(999), max })
    }
    fn encode(&self) -> String {
        let Latency { p50, p90, p99, p999, max } = self;
        format!("p50:{p50},p90:{p90},p99:{p99},p999:{p999},max:{max}")
    }
    fn parse(text: &str) -> Result<Latency, String> {
        let parts: BTreeMap<&str, u64> = text
            .split(',')
            .filter_map(|part| part.split_once(':'))
            .filter_map(|(k, v)| Some((k, v.parse().ok()?)))
            .collect();
        let get =
            |k: &str| parts.get(k).copied().ok_or_else(|| format!("lat_ns={text}: want {k}:"));
        Ok(Latency {
            p50: get("p50")?,
            p90: get("p90")?,
            p99: get("p99")?,
            p999: get("p999")?,
            max: get("max")?,
        })
    }
}

impl Idle {
    /// For the line.
    pub fn to_fields(&self) -> Fields {
        let mut fields = Fields::default();
        fields.set_some("cpu_ns", self.cpu_ns);
        fields.set_some("window_ns", self.window_ns);
        fields.set_some("busy", self.busy);
        fields
    }
    /// From the line.
    pub fn from_fields(fields: &Fields) -> Idle {
        Idle {
            cpu_ns: fields.get_number("cpu_ns"),
            window_ns: fields.get_number("window_ns"),
            busy: fields.get_number("busy").map(|n| n as usize),
        }
    }
}
