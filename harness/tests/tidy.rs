//! harness/tests/tidy.rs: does the code keep the rules that a compiler does not know? Lengths, headers,
//! rooms. Looks at all three crates of the workspace.

use std::path::{Path, PathBuf};

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 70;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Every .rs file under `dir`.
fn sources(dir: &Path, out: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_some_and(|n| n != "target") {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            out.push((path.strip_prefix(root()).unwrap().to_path_buf(), text));
        }
    }
}

fn all() -> Vec<(PathBuf, String)> {
    let mut out = Vec::new();
    for name in ["scheduler", "workloads", "harness"] {
        sources(&root().join(name), &mut out);
    }
    assert!(out.len() > 40, "found only {} files", out.len());
    out
}

fn of(name: &str) -> Vec<(PathBuf, String)> {
    all().into_iter().filter(|(path, _)| path.starts_with(name)).collect()
}

fn fail(what: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

/// Name, first line and length of each function: from `fn` to the brace at the same depth.
fn functions(text: &str) -> Vec<(String, usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let word = code.split("fn ").next().unwrap_or("");
        let modifiers =
            ["pub", "pub(crate)", "pub(super)", "const", "async", "unsafe", "extern", "\"C\""];
        let starts =
            code.contains("fn ") && word.split_whitespace().all(|w| modifiers.contains(&w));
        if !starts || code.starts_with("//") {
            continue;
        }
        let close = format!("{}}}", " ".repeat(indent));
        let end = lines[i..].iter().position(|l| *l == close);
        if let Some(end) = end {
            let name =
                code.split("fn ").nth(1).unwrap_or("").split(['(', '<']).next().unwrap_or("");
            out.push((name.to_string(), i + 1, end + 1));
        }
    }
    out
}

#[test]
fn every_file_says_what_it_is() {
    let silent = |(path, text): (PathBuf, String)| {
        (!text.starts_with("//!")).then(|| format!("{} does not open with //!", path.display()))
    };
    fail("files", all().into_iter().filter_map(silent).collect());
}

#[test]
fn files_and_functions_stay_short() {
    let mut found = Vec::new();
    for (path, text) in all() {
        let lines = text.lines().count();
        if lines > FILE_LINES {
            found.push(format!("{}: {lines} lines, at most {FILE_LINES}", path.display()));
        }
        for (name, line, length) in functions(&text) {
            // A longer one needs its reason written above it, with this word.
            let above: Vec<&str> = text.lines().take(line - 1).collect();
            let reasoned = above.iter().rev().take(6).any(|l| l.contains("Long:"));
            if length > FUNCTION_LINES && !reasoned {
                found.push(format!("{}:{line}: fn {name} has {length} lines", path.display()));
            }
        }
    }
    fail("too long", found);
}

#[test]
fn the_measure_of_functions_works() {
    let text = "fn a() {\n    x\n}\n\nimpl X {\n    pub fn b(\n    ) {\n    }\n}\n";
    assert_eq!(functions(text), [("a".to_string(), 1, 3), ("b".to_string(), 6, 3)]);
}

/// The driver has no branch for one runtime: its sources do not even know their names.
#[test]
fn the_harness_names_no_runtime() {
    // These two are ordinary words as well: of CPUs, and of programs.
    let words = ["threads", "serial"];
    let all = stealbench_workloads::runtimes().iter().map(|r| r.name);
    let names: Vec<&str> = all.filter(|n| !words.contains(n)).collect();
    assert!(!names.is_empty());
    let mut found = Vec::new();
    for (path, text) in of("harness/src") {
        let tests = text.find("#[cfg(test)]").unwrap_or(text.len());
        for (i, line) in text[..tests].lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            let named = names.iter().find(|n| code.contains(&format!("\"{n}\"")));
            found.extend(named.map(|n| format!("{}:{}: {n}", path.display(), i + 1)));
        }
    }
    fail("a runtime is named", found);
}

#[test]
fn nothing_unfinished_is_left() {
    // In pieces, so that this file does not find itself.
    let words = [
        concat!("FIX", "ME"),
        concat!("dbg", "!("),
        concat!("todo", "!("),
        concat!("#[ign", "ore"),
    ];
    let mut found = Vec::new();
    for (path, text) in all() {
        for (i, line) in text.lines().enumerate() {
            let hit = words.iter().find(|w| line.contains(*w));
            found.extend(hit.map(|w| format!("{}:{}: {w}", path.display(), i + 1)));
        }
    }
    fail("unfinished", found);
}

/// In the scheduler, atomics and the model checker come through one door.
#[test]
fn atomics_are_named_in_the_shim_only() {
    let mut found = Vec::new();
    for (path, text) in of("scheduler/src") {
        // Tests of real threads count with real atomics, and models name the model checker.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let test = name.ends_with("_tests.rs") || name.starts_with("loom_");
        if path.ends_with("shim.rs") || test {
            continue;
        }
        for (i, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            if code.contains("sync::atomic") || code.contains("loom::") {
                found.push(format!("{}:{}: {}", path.display(), i + 1, code.trim()));
            }
        }
    }
    fail("outside the shim", found);
}
