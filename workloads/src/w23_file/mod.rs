//! W23 compute with a file read: does a task that blocks in the kernel hold up the others?
//!
//! The seed program: 20 tasks of 10^6 opaque increments; at half, each reads a whole number from a
//! small file and adds it. The file holds 7, so the answer is tasks * (increments + 7).
//! Lanes: `recommended`, the call that a runtime's documents name for files; `naive`, a plain blocking
//! read in the task. Where there is no such call (rayon, threads, serial), the naive way is all there is.
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::cell::{Params, Size};
use crate::drive::Body;
use crate::fields::{Field, Want, fill};
use crate::kernel::opaque_increments;
use crate::registry::{Support, Workload};

mod async_std;
mod gosteal;
mod rayon;
mod serial;
mod smol;
mod threads;
mod tokio;

const HELD: u64 = 7;

/// The registry's entry.
pub(crate) struct FileRead;

/// A small file of our own, removed with the last that uses it.
struct TempFile(PathBuf);

impl TempFile {
    fn new() -> std::io::Result<TempFile> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Relaxed); // Ordering: only to be unique.
        let name = format!("stealbench-w23-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, format!("{HELD}\n"))?;
        Ok(TempFile(path))
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // If it cannot be removed it stays in the folder for temporary files.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What a run needs.
#[derive(Clone)]
struct Input {
    tasks: u64,
    increments: u64,
    file: Arc<TempFile>,
}

impl Input {
    /// Panics, naming the file, if it cannot be made: then there is nothing to run.
    fn of(p: &Params) -> Input {
        let file = TempFile::new().unwrap_or_else(|e| {
            panic!("cannot write a file in {}: {e}", std::env::temp_dir().display())
        });
        let (tasks, increments) = (p.num("tasks"), p.num("increments"));
        Input { tasks, increments, file: Arc::new(file) }
    }
    /// The leaf code before the read.
    fn first_half(&self) -> u64 {
        opaque_increments(0, self.increments / 2)
    }
    /// The blocking read; the other halves of it are the runtimes' own.
    fn read(&self) -> u64 {
        parse(&std::fs::read_to_string(&self.file.0).expect("the file is there"))
    }
    /// The leaf code after the read.
    fn second_half(&self, value: u64, read: u64) -> u64 {
        opaque_increments(value + read, self.increments - self.increments / 2)
    }
    /// The whole task, blocking.
    fn whole(&self) -> u64 {
        let value = self.first_half();
        self.second_half(value, self.read())
    }
}

fn parse(text: &str) -> u64 {
    text.trim().parse().expect("the file holds a number")
}

impl Workload for FileRead {
    fn id(&self) -> &'static str {
        "W23"
    }
    fn name(&self) -> &'static str {
        "file-read"
    }
    fn group(&self) -> &'static str {
        "io"
    }
    fn about(&self) -> &'static str {
        "compute tasks that read a small file half way: does a blocked task hold up the others?"
    }
    fn unit(&self) -> &'static str {
        "task"
    }
    fn variants(&self, size: Size) -> Vec<Params> {
        let (tasks, increments) = match size {
            Size::Smoke => ("20", "1000000"),
            Size::Std => ("200", "5000000"),
            Size::Large => ("2000", "5000000"),
        };
        let set = |lane: &str| {
            Params::of(&[("tasks", tasks), ("increments", increments), ("lane", lane)])
        };
        vec![set("recommended"), set("naive")]
    }
    fn check(&self, given: &Params) -> Result<Params, String> {
        fill(
            given,
            &[
                Field("tasks", "20", Want::Number(1, 1_000_000)),
                Field("increments", "1000000", Want::Number(1, 1_000_000_000_000)),
                Field("lane", "recommended", Want::Word(&["recommended", "naive"])),
            ],
        )
    }
    fn expected(&self, p: &Params, _workers: usize) -> (u64, u64) {
        (p.num("tasks") * (p.num("increments") + HELD), p.num("tasks"))
    }
    fn support(&self, runtime: &str) -> Support {
        match runtime {
            "gosteal" | "tokio" | "smol" | "async-std" | "serial" => Support::Idiomatic,
            "rayon" | "threads" => Support::Literal,
            _ => Support::Absent("no adapter".into()),
        }
    }
    fn support_for(&self, runtime: &str, p: &Params) -> Support {
        match (runtime, p.text("lane")) {
            ("gosteal" | "tokio" | "smol" | "async-std", Some("naive")) => Support::Literal,
            ("rayon" | "threads" | "serial", Some("naive")) => Support::NotExpressible(
                "it has one way to read a file, shown in lane recommended: a worker blocks",
            ),
            _ => self.support(runtime),
        }
    }
    fn ceiling(&self, _p: &Params, _workers: usize) -> Option<f64> {
        None
    }
    fn body(&self, runtime: &str, p: &Params, workers: usize) -> Option<Body> {
        let input = Input::of(p);
        let naive = p.text("lane") == Some("naive");
        Some(match runtime {
            "gosteal" => Body::call(move || gosteal::run(&input, naive)),
            "tokio" => Body::future(move || tokio::run(input.clone(), naive)),
            "smol" => Body::future(move || smol::run(input.clone(), naive)),
            "async-std" => Body::future(move || async_std::run(input.clone(), naive)),
            _ if naive => return None,
            "rayon" => Body::call(move || rayon::run(&input)),
            "serial" => Body::call(move || serial::run(&input)),
            "threads" => Body::call(move || threads::run(&input, workers)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w23_answer_is_that_of_the_catalogue_and_the_file_goes_away() {
        let p = FileRead.check(&Params::default()).unwrap();
        assert_eq!(FileRead.expected(&p, 1), (20_000_140, 20));
        let path = {
            let input = Input { increments: 3, ..Input::of(&p) };
            assert_eq!(input.whole(), 10);
            input.file.0.clone()
        };
        assert!(!path.exists());
    }
}
