//! Names of scheduling policies, for those runtimes of the registry that take one.

/// The name of the policy that a runtime has where none is named.
pub const DEFAULT: &str = "go1.26";

/// Names that can be listed, each with one line about it: the default, and each switch alone.
pub fn known() -> Vec<(String, &'static str)> {
    let with = |(name, about): (&str, &'static str)| (format!("{DEFAULT},{name}"), about);
    let mut out = vec![(DEFAULT.to_string(), "Go 1.26, rule for rule")];
    out.extend(gosteal::Policy::switches().map(with));
    out
}

/// The full name of the policy that `text` names, as results show it.
///
/// # Errors
/// One line that names what is unknown and what there is.
pub fn check(text: &str) -> Result<String, String> {
    gosteal::Policy::parse(text).map(|policy| policy.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_default_is_what_the_runtime_has_by_default() {
        assert_eq!(gosteal::Policy::go().name(), DEFAULT);
        assert_eq!(check(DEFAULT).as_deref(), Ok(DEFAULT));
        assert!(check("no-such-rule").unwrap_err().contains("no-such-rule"));
    }
}
