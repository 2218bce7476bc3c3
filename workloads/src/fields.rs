//! Parameters of a workload as data: defaults, what is allowed, and the message when it is not.
use crate::cell::Params;

/// What a parameter may be.
pub(crate) enum Want {
    /// A whole number in the closed range.
    Number(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number in the closed range, or `P`, the number of workers.
    NumberOrWorkers(u64, u64),
}

/// One parameter: name, default, what is allowed.
pub(crate) struct Field(pub(crate) &'static str, pub(crate) &'static str, pub(crate) Want);

impl Want {
    fn allows(&self, text: &str) -> bool {
        match self {
            Want::Number(lo, hi) => text.parse().is_ok_and(|n: u64| (*lo..=*hi).contains(&n)),
            Want::Word(words) => words.contains(&text),
            Want::NumberOrWorkers(lo, hi) => text == "P" || Want::Number(*lo, *hi).allows(text),
        }
    }
    fn wanted(&self) -> String {
        match self {
            Want::Number(lo, hi) => format!("{lo} to {hi}"),
            Want::Word(words) => words.join(" or "),
            Want::NumberOrWorkers(lo, hi) => format!("{lo} to {hi}, or P for the workers"),
        }
    }
}

/// `given` with the defaults of `fields` filled in.
///
/// # Errors
/// One line that names the parameter, the value and what is wanted.
pub(crate) fn fill(given: &Params, fields: &[Field]) -> Result<Params, String> {
    let names: Vec<&str> = fields.iter().map(|f| f.0).collect();
    if let Some(unknown) = given.0.keys().find(|k| !names.contains(&k.as_str())) {
        return Err(format!("unknown parameter {unknown}: want {}", names.join(", ")));
    }
    let mut filled = Params::default();
    for Field(name, default, want) in fields {
        let text = given.text(name).unwrap_or(default);
        if !want.allows(text) {
            return Err(format!("parameter {name}={text}: want {}", want.wanted()));
        }
        filled.0.insert((*name).to_string(), text.to_string());
    }
    Ok(filled)
}

/// The number under `name`, with `P` read as `workers`.
pub(crate) fn number_or_workers(p: &Params, name: &str, workers: usize) -> u64 {
    if p.text(name) == Some("P") { workers as u64 } else { p.num(name) }
}

/// Parameter sets that differ in one name: `each("chunks", &["4", "6"], &[("m", "1000000")])`.
pub(crate) fn each(name: &str, values: &[&str], rest: &[(&str, &str)]) -> Vec<Params> {
    let with = |value: &&str| {
        let mut p = Params::of(rest);
        p.0.insert(name.to_string(), value.to_string());
        p
    };
    values.iter().map(with).collect()
}
