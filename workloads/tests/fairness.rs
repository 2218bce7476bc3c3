//! Fairness that can be read off the sources: no file of the driver knows a runtime, and no runtime's
//! adapters, gosteal's least of all, are worked out further than those of its peers.
use std::fs;
use std::path::{Path, PathBuf};

use stealbench_workloads::runtimes;

fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path)
}

/// The lines that are neither blank nor comment.
fn code(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (body, _tests) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
    let lines = body.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//"));
    lines.map(str::to_string).collect()
}

/// The folders of workloads that have one file per runtime.
fn adapters() -> Vec<PathBuf> {
    let folders = fs::read_dir(source("")).unwrap().flatten().map(|entry| entry.path());
    folders
        .filter(|folder| folder.join("gosteal.rs").exists() && !folder.ends_with("runtimes"))
        .collect()
}

#[test]
fn fairness_no_driver_file_names_a_runtime() {
    for file in ["drive.rs", "session.rs", "worker.rs", "protocol/mod.rs", "protocol/replies.rs"] {
        for line in code(&source(file)) {
            for runtime in runtimes() {
                let word = |w: &str| w == runtime.name || w == runtime.name.replace('-', "_");
                let words = line.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
                // `threads` is also what the kernel calls its own.
                let named = words.filter(|w| word(w)).count() > 0 && runtime.name != "threads";
                assert!(!named, "{file} names {}: {line}", runtime.name);
            }
        }
    }
}

#[test]
fn fairness_gosteal_adapters_are_no_longer_than_their_peers() {
    let folders = adapters();
    assert!(folders.len() >= 10, "{folders:?}");
    for folder in folders {
        let own = code(&folder.join("gosteal.rs")).len();
        let peers = ["tokio.rs", "rayon.rs", "smol.rs", "async_std.rs"].map(|f| folder.join(f));
        let longest = peers.iter().filter(|p| p.exists()).map(|p| code(p).len()).max().unwrap();
        assert!(
            own * 2 <= longest * 3,
            "{}: {own} lines, peers at most {longest}",
            folder.display()
        );
    }
}

/// Each adapter says where its idiom comes from, or what it is.
#[test]
fn fairness_each_adapter_opens_with_its_owner_note() {
    for folder in adapters() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let text = fs::read_to_string(entry.path()).unwrap();
            assert!(text.starts_with("//! "), "{} does not", entry.path().display());
        }
    }
}
