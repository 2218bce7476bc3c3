//! What identifies one thing to be measured: a parameter set and a size.
use std::collections::BTreeMap;
use std::fmt;

/// A parameter set, ordered by name, so that its text form is a stable key.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Params(pub BTreeMap<String, String>);

impl Params {
    /// From pairs.
    pub fn of(pairs: &[(&str, &str)]) -> Params {
        Params(pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect())
    }
    /// The number under `name`. Panics if it is absent or no number: `Workload::check` ran before.
    pub fn num(&self, name: &str) -> u64 {
        let text = self.0.get(name).unwrap_or_else(|| panic!("parameter {name} is missing"));
        text.parse().unwrap_or_else(|_| panic!("parameter {name}={text} is not a number"))
    }
    /// The text under `name`, if set.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// `k=v` pairs joined by commas: `chunks=16,m=10000000`.
impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (k, v)) in self.0.iter().enumerate() {
            write!(f, "{}{k}={v}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// How large a workload is run. Every size has its own key (its parameters).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// At most 0.3 s on two cores; what CI and the quick mode use.
    Smoke,
    /// 1 to 3 s.
    Std,
    /// 10 s and more, for big hosts.
    Large,
}
