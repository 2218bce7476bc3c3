//! harness/tests/cli.rs: the program as its users meet it: every exit code, every refusal, contenders that
//! fail, interrupts and kills. Field cases FC-37 (recorded orders), FC-79, FC-80 (machine formats).
//!
//! Sessions here are tiny and of the two contenders that need no runtime; nothing asserts a time.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_stealbench");
/// One small cell, one worker, three processes.
const SMALL: [&str; 10] = [
    "run",
    "--workload",
    "W08",
    "--param",
    "pairs=100",
    "--runtime",
    "threads,serial",
    "--workers",
    "1",
    "--no-progress",
];

fn program(args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(args).env_remove("STEALBENCH_FAULT").stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    program(args).output().unwrap()
}

/// `SMALL` into `dir` with more words, perhaps with a fault.
fn small(dir: &Path, more: &[&str], fault: &str) -> Output {
    let mut args = SMALL.to_vec();
    args.extend(["--out", dir.to_str().unwrap()]);
    args.extend(more);
    let mut command = program(&args);
    if !fault.is_empty() {
        command.env("STEALBENCH_FAULT", fault);
    }
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn journal(dir: &Path) -> Vec<Value> {
    let lines = std::fs::read_to_string(dir.join("journal.jsonl")).unwrap();
    lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

fn of_kind<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|l| l["kind"] == kind).collect()
}

/// (cell, epoch) of every whole epoch: a repeated one is a finished epoch run again.
fn epochs(lines: &[Value]) -> Vec<(u64, u64)> {
    let whole = of_kind(lines, "epoch").into_iter().filter(|e| e["fault"].is_null());
    whole.map(|e| (e["cell"].as_u64().unwrap(), e["epoch"].as_u64().unwrap())).collect()
}

fn assert_each_once(lines: &[Value], want: usize) {
    let all = epochs(lines);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "an epoch was run again");
    assert_eq!(all.len(), want);
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn bad_words_exit_2_and_name_the_way_out() {
    let cases: [(&[&str], &[&str]); 14] = [
        (&["run", "--workload", "W99"], &["--workload W99", "W07 fib"]),
        (&["run", "--runtime", "golang"], &["--runtime golang", "serial"]),
        (&["run", "--workers", "0"], &["--workers 0", "1 to 1024", "cores"]),
        (&["run", "--workers", "two"], &["--workers two"]),
        (&["run", "--mode", "fast"], &["fast", "quick", "standard", "study"]),
        (&["run", "--placement", "compact"], &["--placement compact", "only none is built"]),
        (&["run", "--param", "n"], &["--param n", "name=value"]),
        (&["run", "--workload", "W07", "--param", "nn=3"], &["W07 fib", "nn"]),
        (&["run", "--policy", "go1.26", "--runtime", "serial"], &["--policy", "has policies"]),
        (&["run", "no-such-cell"], &["FILTER no-such-cell", "W03"]),
        (&["run", "--budget-time", "soon"], &["--budget-time soon", "90s"]),
        (&["run", "--sede", "3"], &["--sede", "--seed"]),
        (&["lst"], &["lst", "list"]),
        (&["run", "--resume", "x", "--seed", "3"], &["--resume", "--seed"]),
    ];
    for (args, wants) in cases {
        let output = run(args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(output.stdout.is_empty(), "{args:?}");
        for want in wants {
            assert!(said.contains(want), "{args:?}: no {want:?} in {said}");
        }
    }
}

#[test]
fn what_only_prints_exits_0() {
    for args in [
        &["--help"][..],
        &["--version"],
        &["run", "--help"],
        &["list", "workloads"],
        &["list", "runtimes"],
        &["list", "policies"],
        &["completions", "bash"],
        &["man"],
        &["schema"],
        &["run", "--dry-run", "--seed", "1"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
        assert!(!output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn list_json_has_the_promised_shape() {
    let all = json(&run(&["list", "workloads", "--format", "json"]));
    for w in all.as_array().unwrap() {
        assert!(w["id"].is_string() && w["name"].is_string() && w["group"].is_string(), "{w}");
        assert!(w["sizes"].is_object());
        for (_, lane) in w["runtimes"].as_object().unwrap() {
            let lane = lane.as_str().unwrap();
            let known = ["idiomatic", "literal", "not expressible: ", "absent: "];
            assert!(known.iter().any(|k| lane.starts_with(k)), "{lane}");
        }
    }
}

/// The same seed gives the same plan.
#[test]
fn a_dry_run_is_repeatable_and_says_how_long_it_takes() {
    let once = || text(&run(&["run", "--dry-run", "--seed", "5"]).stdout);
    let plan = once();
    assert_eq!(plan, once());
    assert!(plan.contains("expected:") && plan.contains("again:"), "{plan}");
}

/// FC-79: the folder is tried before anything is measured.
#[test]
fn fc79_a_folder_that_cannot_be_written_is_found_before_measuring() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    for out in
        [file.as_path(), &file.join("below"), Path::new("/proc/no/such"), Path::new("/dev/full")]
    {
        let output = small(out, &[], "");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{}: {said}", out.display());
        assert!(said.contains(out.to_str().unwrap()) && said.lines().count() == 1, "{said}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "not a folder");
}

/// A whole session: files, shapes, and the report from the journal alone.
#[test]
fn a_session_leaves_a_journal_from_which_the_same_report_comes_again() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("session");
    let output = small(&out, &["--json", "--seed", "11"], "");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let value = json(&output);
    assert_eq!(value["schema"], "stealbench.report/1");
    assert_eq!(
        (&value["session"]["status"], &value["session"]["parts"]),
        (&"complete".into(), &1.into())
    );
    let lines = journal(&out);
    let kinds: Vec<&str> = lines.iter().map(|l| l["kind"].as_str().unwrap()).collect();
    for kind in ["session", "env", "build", "plan", "check", "warm", "epoch", "end"] {
        assert!(kinds.contains(&kind), "no {kind} line");
    }
    let again = |flag: &str, name: &str| {
        let file = dir.path().join(name);
        let args = ["report", out.to_str().unwrap(), flag, file.to_str().unwrap()];
        assert_eq!(run(&args).status.code(), Some(0));
        assert_eq!(std::fs::read(file).unwrap(), std::fs::read(out.join(name)).unwrap(), "{name}");
    };
    again("--html", "report.html");
    again("--md", "report.md");
    assert_eq!(run(&["report", out.to_str().unwrap(), "--json"]).stdout, output.stdout);
    let manifest = std::fs::read_to_string(out.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let size = std::fs::metadata(out.join("journal.jsonl")).unwrap().len();
    assert_eq!(manifest["files"]["journal.jsonl"]["bytes"], size);
    assert_schema_knows(&lines);
    assert_orders_are_palindromes(&lines);
    let refused = small(&out, &[], "");
    assert_eq!(refused.status.code(), Some(2), "a session is never overwritten");
    assert!(text(&refused.stderr).contains("--resume"));
}

/// Every field that is written is in the schema that is shipped.
fn assert_schema_knows(lines: &[Value]) {
    let schema = json(&run(&["schema"]));
    for line in lines {
        let kind = line["kind"].as_str().unwrap();
        let defined = &schema["$defs"][kind];
        for (name, _) in line.as_object().unwrap() {
            let known = schema["properties"].get(name).or_else(|| defined["properties"].get(name));
            assert!(known.is_some(), "{kind}.{name} is not in the schema");
        }
        for required in defined["required"].as_array().unwrap() {
            assert!(line.get(required.as_str().unwrap()).is_some(), "{kind} lacks {required}");
        }
    }
}

/// FC-37: blocks are palindromes of all contenders, and neither start nor blocks keep one order.
/// FC-80: times are whole numbers of ns.
fn assert_orders_are_palindromes(lines: &[Value]) {
    let numbers = |v: &Value| -> Vec<u64> {
        v.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()
    };
    let (mut starts, mut orders) = (BTreeSet::new(), BTreeSet::new());
    for epoch in of_kind(lines, "epoch") {
        starts.insert(numbers(&epoch["start_order"]));
        for block in epoch["blocks"].as_array().unwrap() {
            let order = numbers(&block["order"]);
            let reversed: Vec<u64> = order.iter().rev().copied().collect();
            assert_eq!(order, reversed);
            assert_eq!(order.len(), numbers(&block["ns"]).len());
            orders.insert(order);
        }
    }
    assert!(starts.len() > 1 && orders.len() > 1, "orders never changed");
}

/// Contenders that die, answer wrong, babble or panic: exit 1, a line that names them, no time; the
/// others are measured.
#[test]
fn a_contender_that_fails_is_named_and_the_others_are_measured() {
    for (fault, word) in [
        ("answer@serial", "wrong answer"),
        ("die@serial", "died"),
        ("garbage@serial", "garbage"),
        ("panic@serial", "panic"),
        ("die@serial#7", "died"),
        ("answer@serial#7", "wrong answer"),
    ] {
        let dir = TempDir::new().unwrap();
        let output = small(&dir.path().join("s"), &["--json", "--seed", "3"], fault);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{fault}: {said}");
        let line = said.lines().find(|l| l.contains("serial")).unwrap_or_else(|| panic!("{said}"));
        assert!(line.contains("W08") && line.contains(word), "{fault}: {line}");
        let value = json(&output);
        let cell = &value["cells"][0];
        let contenders = cell["contenders"].as_array().unwrap();
        let times =
            |name: &str| contenders.iter().any(|c| c["runtime"] == name && c["median"].is_number());
        assert!(!times("serial"), "{fault}: {cell}");
        assert!(times("threads"), "{fault}: {cell}");
        assert_eq!(value["failures"][0]["contender"], "serial", "{fault}");
    }
}

/// All contenders hang: each is given up after the time limit, and the session still ends.
#[test]
fn contenders_that_hang_are_given_up() {
    let dir = TempDir::new().unwrap();
    let output = small(&dir.path().join("s"), &["--timeout", "150ms"], "hang");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("no answer to run within 0.15 s"), "{said}");
}

/// A session under way, whose stderr is read line by line.
struct Running {
    child: Child,
    errors: BufReader<std::process::ChildStderr>,
}

impl Running {
    fn start(dir: &Path, more: &[&str], fault: &str) -> Running {
        let mut args = SMALL.to_vec();
        args.extend(["-v", "--out", dir.to_str().unwrap()]);
        args.extend(more);
        let mut command = program(&args);
        command.env("STEALBENCH_FAULT", fault).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        Running { child, errors }
    }

    /// Returns when a line with `word` has come.
    fn wait_for(&mut self, word: &str) {
        let mut line = String::new();
        while self.errors.read_line(&mut line).unwrap() > 0 {
            if line.contains(word) {
                return;
            }
            line.clear();
        }
        panic!("ended without {word:?}");
    }

    fn signal(&self, signal: i32) {
        // SAFETY: a call without pointers; the child has not been waited for, so the id is its own.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    fn end(mut self) -> Option<i32> {
        // Read to the end first: a full pipe would keep it from ending.
        let mut line = String::new();
        while self.errors.read_line(&mut line).unwrap() > 0 {}
        self.child.wait().unwrap().code()
    }

    /// Process ids of its children.
    fn workers(&self) -> Vec<u32> {
        let id = self.child.id();
        let list =
            std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
        list.split_whitespace().map(|w| w.parse().unwrap()).collect()
    }
}

fn resume(dir: &Path) -> Output {
    run(&["run", "--no-progress", "--json", "--resume", dir.to_str().unwrap()])
}

/// FC-79: one interrupt ends the session after the epoch, with a report; resume measures the rest.
#[test]
fn fc79_one_interrupt_closes_the_journal_and_resume_measures_the_rest() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("s");
    let mut session = Running::start(&out, &["--seed", "21"], "");
    session.wait_for("epoch");
    session.signal(libc::SIGINT);
    assert_eq!(session.end(), Some(130));
    let lines = journal(&out);
    assert_eq!(lines.last().unwrap()["status"], "interrupted");
    let done = epochs(&lines).len();
    assert!((1..8).contains(&done), "{done} epochs");
    assert_eq!(run(&["report", out.to_str().unwrap()]).status.code(), Some(0));
    assert!(out.join("report.html").exists());
    let output = resume(&out);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(json(&output)["session"]["parts"], 2);
    assert_each_once(&journal(&out), 8);
    let output = resume(&out);
    assert_eq!(output.status.code(), Some(0), "a complete session has nothing left");
    assert_each_once(&journal(&out), 8);
}

/// FC-79: the second interrupt stops at once, though a contender hangs; the journal is valid.
#[test]
fn fc79_a_second_interrupt_stops_now() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("s");
    let mut session = Running::start(&out, &["--timeout", "1h", "--seed", "4"], "hang@serial#7");
    session.wait_for("cells, about");
    session.signal(libc::SIGINT);
    session.wait_for("once more to stop now");
    session.signal(libc::SIGINT);
    assert_eq!(session.end(), Some(130));
    assert_eq!(journal(&out).last().unwrap()["status"], "interrupted");
    let output = resume(&out);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_each_once(&journal(&out), 8);
}

/// FC-79: kill -9 at some moment; no worker survives, and resume gives a whole session.
#[test]
fn fc79_a_kill_leaves_no_worker_and_a_journal_that_goes_on() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("s");
    let mut session = Running::start(&out, &["--timeout", "1h", "--seed", "4"], "hang@serial#7");
    session.wait_for("cells, about");
    // From here on serial's worker hangs in its epoch, so there are workers to be left over.
    let workers = loop {
        let workers = session.workers();
        if workers.len() == 3 {
            break workers;
        }
        std::thread::yield_now();
    };
    session.signal(libc::SIGKILL);
    assert_eq!(session.end(), None);
    for id in workers {
        // The kernel kills them with their parent; wait until each is gone or only a zombie.
        while std::fs::read_to_string(format!("/proc/{id}/stat"))
            .is_ok_and(|stat| !stat.contains(") Z "))
        {
            std::thread::yield_now();
        }
    }
    let output = resume(&out);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(json(&output)["session"]["parts"], 2);
    assert_each_once(&journal(&out), 8);
}

/// A torn last line is cut and told; a bad line elsewhere is an error that names it.
#[test]
fn damaged_journals_are_told_apart() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("s");
    assert_eq!(small(&out, &["--seed", "8"], "").status.code(), Some(0));
    let path = out.join("journal.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{whole}{{\"v\":\"1.0\",\"se")).unwrap();
    let output = run(&["report", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("was not whole and was cut"));
    std::fs::write(&path, whole.replacen("\"seq\":3", "\"seq\":4", 1)).unwrap();
    let output = run(&["report", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("line 4"), "{}", text(&output.stderr));
    let output = run(&["report", dir.path().join("none").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
}

/// Exit 5: a session of another machine is not continued here.
#[test]
fn a_session_of_another_machine_is_not_comparable() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("s");
    let mut session = Running::start(&out, &["--seed", "9"], "");
    session.wait_for("epoch");
    session.signal(libc::SIGINT);
    assert_eq!(session.end(), Some(130));
    let path = out.join("journal.jsonl");
    let lines = std::fs::read_to_string(&path).unwrap();
    let moved: Vec<String> = lines.lines().map(moved_elsewhere).collect();
    std::fs::write(&path, moved.join("\n") + "\n").unwrap();
    let output = resume(&out);
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("another machine"));
}

/// The line with another machine class and a checksum that is right for it.
fn moved_elsewhere(line: &str) -> String {
    let body = format!("{}}}", &line[..line.len() - 18]);
    let at = body.find("\"class\":\"").map(|at| at + 9);
    let Some(at) = at.filter(|_| body.contains("\"kind\":\"env\"")) else {
        return line.to_string();
    };
    let body = format!("{}00000000{}", &body[..at], &body[at + 8..]);
    let sum = stealbench::store::crc(body.as_bytes());
    format!("{},\"crc\":\"{sum}\"}}", &body[..body.len() - 1])
}

/// Two sessions do not write to one folder.
#[test]
fn a_folder_has_one_writer() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("s");
    let mut session = Running::start(&out, &["--timeout", "1h"], "hang@serial");
    session.wait_for("checking serial");
    let output = resume(&out);
    session.signal(libc::SIGINT);
    session.wait_for("once more");
    session.signal(libc::SIGINT);
    assert_eq!(session.end(), Some(130));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("is writing here"), "{}", text(&output.stderr));
}
