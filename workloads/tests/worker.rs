//! Every workload on every runtime in a fresh process over the line protocol, and what happens when a
//! contender is bad.
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use stealbench_workloads::protocol::{
    Checked, Facts, Fields, Greeting, Idle, PROTO, Reply, Request, Sample, Setup,
};
use stealbench_workloads::{Params, Size, Support, find_workload, runtimes, workloads};

/// No reply in this time is a hang.
const GUARD: Duration = Duration::from_secs(60);

/// A worker process; ended when dropped.
struct Worker {
    child: Child,
    stdin: ChildStdin,
    replies: Receiver<String>,
}

impl Worker {
    fn start(runtime: &str, fault: &str) -> Worker {
        Worker::spawn(runtime, &[("STEALBENCH_FAULT", fault)])
    }
    fn spawn(runtime: &str, variables: &[(&str, &str)]) -> Worker {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stealbench-worker"))
            .args(["worker", "--runtime", runtime])
            .env_remove("ASYNC_STD_THREAD_COUNT")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the worker starts");
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (tx, replies) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if tx.send(line).is_err() {
                    break;
                }
            }
        });
        Worker { child, stdin, replies }
    }
    fn send(&mut self, request: &Request) {
        writeln!(self.stdin, "{}", request.encode()).expect("the worker reads");
    }
    fn line(&mut self, request: &Request) -> Option<String> {
        self.send(request);
        match self.replies.recv_timeout(GUARD) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no reply to {request:?} in {GUARD:?}"),
        }
    }
    fn ask(&mut self, request: &Request) -> Reply {
        let line = self.line(request).expect("the worker is there");
        Reply::parse(&line).expect("a reply")
    }
    fn ok(&mut self, request: &Request) -> Fields {
        match self.ask(request) {
            Reply::Ok(fields) => fields,
            other => panic!("{request:?} gave {other:?}"),
        }
    }
    fn setup(&mut self, workload: &str, workers: usize, params: &Params) -> Reply {
        self.ask(&setup(workload, workers, params))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn setup(workload: &str, workers: usize, params: &Params) -> Request {
    let (workload, params) = (workload.to_string(), params.clone());
    Request::Setup(Setup { workload, workers, policy: None, params })
}

/// All workloads at smoke size on `runtime` with `workers` workers, in one process: the number of
/// workers that was read back, answers, units, and that `run` agrees with `check`.
fn every_workload(runtime: &str, workers: usize) {
    let mut worker = Worker::start(runtime, "");
    let mut ran = 0;
    for workload in workloads() {
        for given in workload.variants(Size::Smoke) {
            let what = format!("{} {given} on {runtime} with {workers}", workload.id());
            let params = workload.check(&given).unwrap_or_else(|e| panic!("{what}: {e}"));
            let support = workload.support_for(runtime, &params);
            match worker.setup(workload.id(), workers, &params) {
                Reply::Ok(fields) => {
                    let facts = Facts::from_fields(&fields).unwrap();
                    let info = runtimes().iter().find(|r| r.name == runtime).unwrap();
                    assert_eq!(facts.workers, info.fixed_workers.unwrap_or(workers), "{what}");
                    assert!(matches!(support, Support::Idiomatic | Support::Literal), "{what}");
                }
                Reply::Unsupported(reason) => {
                    assert_eq!(support, Support::NotExpressible(reason.leak()), "{what}");
                    continue;
                }
                Reply::Error(reason) => panic!("{what}: {reason}"),
            }
            let expected = workload.expected(&params, workers);
            let checked = Checked::from_fields(&worker.ok(&Request::Check)).unwrap();
            assert!(checked.is_right(expected), "{what}: {checked:?}, want {expected:?}");
            let sample = Sample::from_fields(&worker.ok(&Request::Run { iters: 2 })).unwrap();
            assert!(sample.checked.is_right(expected), "{what}: {sample:?}, want {expected:?}");
            assert!(sample.wall_ns > 0 && sample.cpu_ns.is_some(), "{what}");
            ran += 1;
        }
    }
    assert!(ran >= 10, "{runtime} ran only {ran} cells");
    let idle = Idle::from_fields(&worker.ok(&Request::Park));
    assert_eq!(idle.busy, Some(0), "{runtime} with {workers} does not come to rest: {idle:?}");
    worker.ok(&Request::Quit);
    assert!(worker.child.wait().unwrap().success());
}

macro_rules! every_workload {
    ($($test:ident: $runtime:literal;)*) => {$(
        /// Right answers and unit counts in every cell with 1, 2 and 4 workers. FC-36 is in it: the
        /// worker refuses each sample whose driver did not run on a worker.
        #[test]
        fn $test() {
            for workers in [1, 2, 4] {
                every_workload($runtime, workers);
            }
        }
    )*
    /// No runtime of the registry is left out above.
    #[test]
    fn registry_all_runtimes_are_tested() {
        let tested = [$($runtime),*];
        assert!(runtimes().iter().all(|r| tested.contains(&r.name)));
    }};
}

every_workload! {
    gosteal_gives_right_answers_and_units: "gosteal";
    tokio_gives_right_answers_and_units: "tokio";
    rayon_gives_right_answers_and_units: "rayon";
    smol_gives_right_answers_and_units: "smol";
    async_std_gives_right_answers_and_units: "async-std";
    serial_gives_right_answers_and_units: "serial";
    threads_gives_right_answers_and_units: "threads";
}

#[test]
fn worker_greets_with_protocol_and_version() {
    for runtime in runtimes() {
        let greeting = Worker::start(runtime.name, "").ok(&Request::Hello);
        let greeting = Greeting::from_fields(greeting).unwrap();
        assert_eq!(greeting.proto, PROTO);
        assert_eq!(
            (greeting.runtime.as_str(), greeting.version.as_str()),
            (runtime.name, runtime.version)
        );
    }
}

/// Bad lines are answered by an error each, and the worker goes on.
#[test]
fn worker_survives_bad_requests() {
    let mut worker = Worker::start("serial", "");
    for line in ["dance", "run iters=0", "run iters=1", "setup workload=W07", "check =="] {
        writeln!(worker.stdin, "{line}").unwrap();
        let reply = worker.replies.recv_timeout(GUARD).unwrap();
        assert!(reply.starts_with("error "), "{line:?} gave {reply:?}");
    }
    let fib = Params::of(&[("n", "10")]);
    assert!(matches!(worker.setup("W07", 1, &fib), Reply::Ok(_)));
    assert_eq!(worker.ok(&Request::Check).number("answer"), Ok(55));
}

/// async-std cannot change its number of workers: an error that says how to get it, no wrong number.
#[test]
fn worker_async_std_refuses_another_number_of_workers() {
    let mut worker = Worker::start("async-std", "");
    let fib = Params::of(&[("n", "5")]);
    assert!(matches!(worker.setup("W07", 2, &fib), Reply::Ok(_)));
    let Reply::Error(reason) = worker.setup("W07", 3, &fib) else { panic!("an error") };
    assert!(reason.contains("keeps its 2 workers"), "{reason}");
    assert!(matches!(worker.setup("W07", 2, &fib), Reply::Ok(_)), "and goes on with 2");
}

#[test]
fn worker_gosteal_refuses_an_unknown_policy() {
    let (workload, params) = ("W07".to_string(), Params::default());
    let policy = Some("no-such-rule".to_string());
    let request = Request::Setup(Setup { workload, workers: 1, policy, params });
    let Reply::Error(reason) = Worker::start("gosteal", "").ask(&request) else {
        panic!("an error")
    };
    assert!(reason.contains("no-such-rule"), "{reason}");
}

/// An input that cannot be made is an error that names what is missing, and the worker goes on.
#[test]
fn worker_names_a_missing_folder_for_temporary_files() {
    let mut worker = Worker::spawn("serial", &[("TMPDIR", "/no/such/folder")]);
    let Reply::Error(reason) = worker.setup("W23", 1, &Params::default()) else {
        panic!("an error")
    };
    assert!(reason.contains("/no/such/folder"), "{reason}");
    assert!(matches!(worker.setup("W07", 1, &Params::default()), Reply::Ok(_)));
}

fn faulty(runtime: &str, fault: &str) -> Worker {
    let mut worker = Worker::start(runtime, fault);
    let fib = Params::of(&[("n", "10")]);
    assert!(matches!(worker.setup("W07", 2, &fib), Reply::Ok(_)));
    worker
}

#[test]
fn fault_answer_is_off_by_one() {
    let mut worker = faulty("tokio", "answer");
    assert_eq!(worker.ok(&Request::Check).number("answer"), Ok(56));
    assert_eq!(worker.ok(&Request::Run { iters: 1 }).number("answer"), Ok(56));
}

#[test]
fn fault_die_ends_the_process_in_run() {
    let mut worker = faulty("tokio", "die");
    assert_eq!(worker.ok(&Request::Check).number("answer"), Ok(55));
    assert_eq!(worker.line(&Request::Run { iters: 1 }), None);
    assert_eq!(worker.child.wait().unwrap().code(), Some(3));
}

#[test]
fn fault_garbage_is_no_reply() {
    let mut worker = faulty("tokio", "garbage");
    let line = worker.line(&Request::Run { iters: 1 }).unwrap();
    assert!(Reply::parse(&line).unwrap_err().contains("not a reply"));
}

/// The worker lives and says nothing: what a hang looks like from outside.
#[test]
fn fault_hang_never_answers() {
    let mut worker = faulty("serial", "hang");
    worker.send(&Request::Run { iters: 1 });
    assert!(worker.replies.recv_timeout(Duration::from_millis(300)).is_err());
    assert!(worker.child.try_wait().unwrap().is_none(), "still alive");
}

/// FC-24: a panic in a workload is an error line that carries its message, and the worker goes on.
#[test]
fn fc24_a_panic_is_an_error_line_on_every_runtime() {
    for runtime in runtimes() {
        let mut worker = faulty(runtime.name, "panic");
        for _ in 0..2 {
            let Reply::Error(reason) = worker.ask(&Request::Check) else { panic!("an error") };
            assert!(reason.contains("panic: injected"), "{}: {reason}", runtime.name);
        }
        worker.ok(&Request::Park);
        worker.ok(&Request::Quit);
    }
}

#[test]
fn worker_bad_arguments_are_one_line_and_exit_2() {
    let run = |args: &[&str], fault: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_stealbench-worker"))
            .args(args)
            .env("STEALBENCH_FAULT", fault)
            .stdin(Stdio::null())
            .output()
            .expect("the worker starts");
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), text.lines().count()), (Some(2), 1), "{args:?}: {text}");
        assert!(output.stdout.is_empty(), "stdout belongs to the protocol");
        text
    };
    assert!(run(&[], "").contains("worker --runtime NAME"));
    assert!(run(&["worker", "--rumtime", "tokio"], "").contains("--rumtime"));
    let unknown = run(&["worker", "--runtime", "tokoi"], "");
    assert!(unknown.contains("tokoi") && unknown.contains("gosteal, tokio"), "{unknown}");
    assert!(run(&["worker", "--runtime", "tokio"], "explode").contains("want answer, die"));
}

/// What a table shows of a workload is there, and a bad parameter is refused by name.
#[test]
fn registry_workloads_describe_themselves() {
    for workload in workloads() {
        assert!(find_workload(workload.id()).is_some() && find_workload(workload.name()).is_some());
        for size in [Size::Smoke, Size::Std, Size::Large] {
            assert!(!workload.variants(size).is_empty(), "{}", workload.id());
            for given in workload.variants(size) {
                assert!(workload.check(&given).is_ok(), "{} {given}", workload.id());
            }
        }
        let wrong = workload.check(&Params::of(&[("no_such", "1")])).unwrap_err();
        assert!(wrong.contains("no_such") && wrong.contains("want"), "{}: {wrong}", workload.id());
        assert!(matches!(workload.support("no-such-runtime"), Support::Absent(_)));
        assert!(
            workload
                .body("no-such-runtime", &workload.check(&Params::default()).unwrap(), 1)
                .is_none()
        );
    }
}
