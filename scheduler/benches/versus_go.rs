//! gosteal beside real Go, operation by operation, in one session.
//!
//! Needs `go` on PATH, or its path in `GO`; without it only gosteal's half runs and a line says so. The two
//! halves of a pair follow each other directly. `cargo bench -p gosteal --bench versus_go`.
use criterion::{Criterion, criterion_group, criterion_main};
use gosteal::sync::WaitGroup;
use gosteal::{Runtime, chan, go, yield_now};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

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

fn timed(f: impl FnOnce()) -> Duration {
    let start = Instant::now();
    f();
    start.elapsed()
}

fn ping_pong(n: u64) -> Duration {
    let ((to, from), (back, echo)) = (chan::<u64>(0), chan::<u64>(0));
    go(move || {
        while let Some(v) = from.recv() {
            back.send(v);
        }
    });
    let took = timed(|| {
        for i in 0..n {
            to.send(i);
            black_box(echo.recv());
        }
    });
    to.close();
    took
}

fn go_finish(n: u64) -> Duration {
    let wg = WaitGroup::new();
    timed(|| {
        for done in (0..n).step_by(200) {
            let size = 200.min(n - done);
            wg.add(size as i32);
            for _ in 0..size {
                let wg = wg.clone();
                go(move || wg.done());
            }
            wg.wait();
        }
    })
}

fn go_finish_all(n: u64) -> Duration {
    let wg = WaitGroup::new();
    timed(|| {
        wg.add(n as i32);
        for _ in 0..n {
            let wg = wg.clone();
            go(move || wg.done());
        }
        wg.wait();
    })
}

fn yields(n: u64) -> Duration {
    timed(|| (0..n).for_each(|_| yield_now()))
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
            // SAFETY: no reference into thread-local storage is held across a runtime entry.
            let rt = unsafe { Runtime::builder().procs(procs).build() }.expect("a runtime");
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
