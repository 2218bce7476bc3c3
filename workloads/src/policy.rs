//! The policies of runtimes that take one, as data for the harness: names, checked.

/// The policy that is used where none is named: Go 1.26, rule for rule.
pub const DEFAULT: &str = "go1.26";

/// Names that can be listed, each with one line about it. A name may go on with switches, joined by
/// commas: see [`check`].
pub const KNOWN: [(&str, &str); 1] = [(DEFAULT, "Go 1.26, rule for rule")];

/// The full name of the policy called `text`.
///
/// # Errors
/// What is wrong with the name and what is wanted.
pub fn check(text: &str) -> Result<String, String> {
    gosteal::Policy::parse(text).map(|policy| policy.name())
}
