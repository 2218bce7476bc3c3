//! gosteal beside real Go, operation by operation, in one session.
//!
//! Needs `go` on PATH, or its path in `GO`; without it only gosteal's half runs and a line says so. The two
//! halves of a pair follow each other directly. `cargo bench -p gosteal --bench versus_go`.
mod common;
use common::{go_finish, go_finish_all, ping_pong, runtime, yields};
use criterion::{Criterion, criterion_group, criterion_main};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

const GO_PROGRAM: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../workloads/external/go/ops/main.go");

/// A running Go program that measures itself.
struct Go {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Go {
    fn start() -> Result<Go, String> {
        let go = std::env::var("GO").unwrap_or_else(|_| "go".into());
        let exe = std::env::temp_dir().join(format!("gosteal-versus-{}", std::process::id()));
        let built = Command::new(&go).args(["build", "-o"]).arg(&exe).arg(GO_PROGRAM).status();
        if !built.map_err(|e| format!("absent: {go}: {e}"))?.success() {
            return Err(format!("absent: {go} build failed"));
        }
        let spawned = Command::new(&exe).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|e| e.to_string())?;
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut go = Go { child, to, from: BufReader::new(from) };
        eprintln!("go: {}", go.line());
        let _ = std::fs::remove_file(exe);
        Ok(go)
    }
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("the Go program speaks");
        line.trim().to_string()
    }
    fn run(&mut self, op: &str, procs: usize, n: u64) -> Duration {
        writeln!(self.to, "{op} {procs} {n}").expect("the Go program listens");
        let line = self.line();
        let ns = line.strip_prefix("ok ").unwrap_or_else(|| panic!("go {op}: {line}"));
        Duration::from_nanos(ns.parse().expect("nanoseconds"))
    }
}

impl Drop for Go {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

type Operation = (&'static str, fn(u64) -> Duration);

fn versus(c: &mut Criterion) {
    let mut peer = Go::start();
    if let Err(reason) = &peer {
        eprintln!("go: {reason}");
    }
    let operations: [Operation; 4] = [
        ("ping-pong", ping_pong),
        ("go-finish", go_finish),
        ("go-finish-all", go_finish_all),
        ("yield", yields),
    ];
    for (name, ours) in operations {
        for procs in [1, 2] {
            let mut group = c.benchmark_group(format!("{name}/p{procs}"));
            let rt = runtime(procs);
            group.bench_function("gosteal", |b| b.iter_custom(|n| rt.block_on(|| ours(n))));
            if let Ok(go) = &mut peer {
                group.bench_function("go", |b| b.iter_custom(|n| go.run(name, procs, n)));
            }
            group.finish();
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = versus
}
criterion_main!(benches);
