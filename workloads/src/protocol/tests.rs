//! The line protocol: every message survives its line, and nonsense is refused by name.
use super::*;

fn setup() -> Setup {
    Setup {
        workload: "W07".into(),
        workers: 2,
        policy: Some("go1.26,no runnext=%".into()),
        params: Params::of(&[("n", "20"), ("odd key", "a=b %\u{1}\u{e9}")]),
    }
}

#[test]
fn protocol_requests_survive_their_line() {
    let plain = Setup { policy: None, params: Params::default(), ..setup() };
    for request in [
        Request::Hello,
        Request::Setup(setup()),
        Request::Setup(plain),
        Request::Check,
        Request::Run { iters: 3 },
        Request::Park,
        Request::Quit,
    ] {
        let line = request.encode();
        assert!(!line.contains('\n'), "{line:?}");
        assert_eq!(Request::parse(&line), Ok(request.clone()), "{line:?}");
        assert_eq!(Request::parse(&format!("{line}\r\n")), Ok(request));
    }
}

#[test]
fn protocol_setup_line_is_the_documented_one() {
    let mut setup = setup();
    (setup.policy, setup.params) = (None, Params::of(&[("n", "20")]));
    assert_eq!(
        Request::Setup(setup.clone()).encode(),
        "setup n=20 policy=- workers=2 workload=W07"
    );
    let documented = "setup workload=W07 workers=2 policy=-  n=20";
    assert_eq!(Request::parse(documented), Ok(Request::Setup(setup)));
}

#[test]
fn protocol_bad_requests_are_refused_by_name() {
    for (line, part) in [
        ("", "unknown request"),
        ("dance", "unknown request \"dance\""),
        ("run", "iters is missing"),
        ("run iters=0", "at least 1"),
        ("run iters=many", "want a whole number"),
        ("run iters", "want key=value"),
        ("setup workers=2", "workload is missing"),
        ("setup workload=W07 workers=0", "want a number from 1"),
        ("setup workload=W07 workers=-1", "want a number from 1"),
        ("setup workload=%Z1 workers=1", "two hexadecimal digits"),
        ("setup workload=%FF workers=1", "not UTF-8"),
        ("setup workload=%1 workers=1", "two hexadecimal digits"),
    ] {
        let error = Request::parse(line).unwrap_err();
        assert!(error.contains(part), "{line:?} gave {error:?}");
    }
}

#[test]
fn protocol_replies_survive_their_line() {
    let mut fields = Fields::default();
    fields.set("a b", "c=d");
    fields.set("empty", "");
    for reply in [
        Reply::Ok(Fields::default()),
        Reply::Ok(fields),
        Reply::Unsupported("no channels: 100 % sure".into()),
        Reply::Error("two words".into()),
    ] {
        assert_eq!(Reply::parse(&reply.encode()), Ok(reply));
    }
    assert_eq!(Reply::Error("two\nlines".into()).encode(), "error two lines");
}

#[test]
fn protocol_garbage_is_no_reply() {
    for line in ["", "OK", "okay", "\u{1b}[2J", "{}", "panicked at src/main.rs"] {
        assert!(Reply::parse(line).unwrap_err().contains("not a reply"), "{line:?}");
    }
    assert!(Reply::parse("ok ns").unwrap_err().contains("want key=value"));
    let long = "x".repeat(10_000);
    assert!(Reply::parse(&long).unwrap_err().len() < 200, "a long line is cut");
}

#[test]
fn protocol_typed_replies_survive_their_fields() {
    let greeting = Greeting {
        proto: PROTO,
        runtime: "tokio".into(),
        version: "1.0".into(),
        lang: "rust".into(),
        pid: 7,
    };
    assert_eq!(Greeting::from_fields(greeting.to_fields()), Ok(greeting));
    let facts = Facts { workers: 2, threads: Some(3), cpus: Some(vec![0, 1]) };
    assert_eq!(Facts::from_fields(&facts.to_fields()), Ok(facts));
    let checked = Checked { answer: 1, units: 2, inlined: 3 };
    let latency = Latency { p50: 1, p90: 2, p99: 3, p999: 4, max: 5 };
    let sample = Sample {
        ns: 10,
        wall_ns: 11,
        checked,
        cpu_ns: Some(12),
        voluntary: Some(1),
        involuntary: None,
        max_rss_kib: Some(9),
        latency: Some(latency),
        counters: BTreeMap::from([("steals".to_string(), 4)]),
    };
    assert_eq!(Sample::from_fields(&sample.to_fields()), Ok(sample));
    let idle = Idle { cpu_ns: Some(1), window_ns: Some(2), busy: Some(0) };
    assert_eq!(Idle::from_fields(&idle.to_fields()), idle);
}

/// A worker in another language may know less: what it leaves out is absent, not 0.
#[test]
fn protocol_a_sparse_sample_is_enough_and_a_missing_answer_is_not() {
    let Ok(Reply::Ok(fields)) = Reply::parse("ok ns=5 answer=1 units=2 shiny=new") else {
        panic!("a reply")
    };
    let sample = Sample::from_fields(&fields).unwrap();
    assert_eq!((sample.wall_ns, sample.cpu_ns, sample.checked.inlined), (5, None, 0));
    assert!(sample.checked.is_right((1, 2)) && !sample.checked.is_right((1, 3)));
    let Ok(Reply::Ok(fields)) = Reply::parse("ok ns=5 units=2") else { panic!("a reply") };
    assert_eq!(Sample::from_fields(&fields), Err("answer is missing".into()));
}

#[test]
fn protocol_percentiles_are_by_nearest_rank() {
    let mut waits: Vec<u64> = (1..=1000).rev().collect();
    let want = Latency { p50: 500, p90: 900, p99: 990, p999: 999, max: 1000 };
    assert_eq!(Latency::of(&mut waits), Some(want));
    let one = Latency { p50: 7, p90: 7, p99: 7, p999: 7, max: 7 };
    assert_eq!(Latency::of(&mut [7]), Some(one));
    assert_eq!(Latency::of(&mut []), None);
}
