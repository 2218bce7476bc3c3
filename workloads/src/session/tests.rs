//! Sessions in this process: refusals, restarts, the driver's place. What needs a fresh process (the
//! global pool of async-std, faults) is in tests/worker.rs.
use super::*;
use crate::cell::Params;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pools are found through statics, so these tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn setup(workload: &str, workers: usize, params: &[(&str, &str)]) -> Setup {
    Setup { workload: workload.into(), workers, policy: None, params: Params::of(params) }
}

fn refused(runtime: &str, setup: &Setup) -> String {
    let _turn = turn();
    match Session::new(runtime).unwrap().setup(setup).unwrap_err() {
        Refusal::Unsupported(reason) => format!("unsupported: {reason}"),
        Refusal::Error(reason) => reason,
    }
}

#[test]
fn session_refusals_name_the_thing_and_what_is_wanted() {
    let unknown = Session::new("tokoi").err().unwrap();
    assert!(unknown.starts_with("unknown runtime tokoi: want one of gosteal, tokio"), "{unknown}");
    for (runtime, setup, want) in [
        ("serial", setup("W99", 1, &[]), "unknown workload W99"),
        ("serial", setup("W07", 1, &[("n", "x")]), "W07: parameter n=x: want 0 to 50"),
        ("serial", setup("W07", 1, &[("lane", "fast")]), "want join or goroutine"),
        ("serial", setup("W07", 1, &[("m", "5")]), "W07: unknown parameter m: want n, c, lane"),
        ("tokio", setup("W14", 1, &[("pairs", "Q")]), "want 1 to 1000000, or P for the workers"),
        ("rayon", setup("W14", 1, &[]), "unsupported: a job cannot wait"),
        ("tokio", setup("W14", 1, &[("cap", "0")]), "unsupported: it has no rendezvous channel"),
    ] {
        let got = refused(runtime, &setup);
        assert!(got.contains(want), "{got:?} does not say {want:?}");
    }
    let policy = Setup { policy: Some("go1.26".into()), ..setup("W07", 1, &[]) };
    assert!(refused("tokio", &policy).contains("policy=go1.26: tokio takes none"));
}

#[test]
fn session_without_setup_says_so() {
    let session = Session::new("serial").unwrap();
    assert_eq!(session.check().unwrap_err(), NOT_SET_UP);
    assert_eq!(session.run(1).unwrap_err(), NOT_SET_UP);
    assert_eq!(session.facts().unwrap_err(), NOT_SET_UP);
}

/// A refused setup leaves nothing of the one before it.
#[test]
fn session_a_refused_setup_leaves_nothing_set_up() {
    let _turn = turn();
    let mut session = Session::new("serial").unwrap();
    session.setup(&setup("W07", 1, &[("n", "5")])).unwrap();
    assert_eq!(session.check().unwrap().answer, 5);
    session.setup(&setup("W99", 1, &[])).unwrap_err();
    assert_eq!(session.check().unwrap_err(), NOT_SET_UP);
}

/// One session goes from 2 workers to 3 and to 1, and the rendezvous sees each.
#[test]
fn session_restarts_with_another_number_of_workers() {
    let _turn = turn();
    for runtime in ["tokio", "rayon", "smol", "threads"] {
        let mut session = Session::new(runtime).unwrap();
        for workers in [2, 3, 1] {
            let facts = session.setup(&setup("W07", workers, &[("n", "10")])).unwrap();
            assert_eq!(facts.workers, workers, "{runtime}");
            assert_eq!(session.check().unwrap().answer, 55, "{runtime}");
        }
    }
}

#[test]
fn session_serial_has_one_worker_whatever_is_asked() {
    let _turn = turn();
    let mut session = Session::new("serial").unwrap();
    assert_eq!(session.setup(&setup("W07", 8, &[])).unwrap().workers, 1);
}

/// FC-36: a driver that runs on the thread that waits for the runtime is refused.
#[test]
fn fc36_a_driver_outside_the_workers_is_refused() {
    let me = system::thread_id();
    let seen = |threads: &[u64]| Seen {
        workers: threads.len(),
        threads: threads.iter().copied().collect(),
        cpus: BTreeSet::new(),
    };
    assert!(on_worker(me, &seen(&[me + 1, me + 2]), true).is_err());
    assert!(on_worker(me + 2, &seen(&[me + 1, me + 2]), true).is_ok());
    assert!(
        on_worker(me, &seen(&[me + 1]), false).is_err(),
        "threads may change, but not to this one"
    );
    assert!(on_worker(me + 9, &seen(&[me + 1]), false).is_ok());
}

/// The samples of a CPU-clock workload are CPU time, and the wall time stays beside it.
#[test]
fn session_idle_samples_are_cpu_time() {
    let _turn = turn();
    let mut session = Session::new("serial").unwrap();
    let small = [("periods", "3"), ("gap_us", "1000")];
    session.setup(&setup("P6", 1, &small)).unwrap();
    let sample = session.run(2).unwrap();
    assert_eq!(Some(sample.ns), sample.cpu_ns);
    assert!(sample.wall_ns >= 6_000_000, "two iterations of three periods");
    assert!(sample.checked.is_right((3, 3)));
}
