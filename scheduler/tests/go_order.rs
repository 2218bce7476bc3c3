//! On one P, the order of events is exactly real Go's: 512 recorded programs.
//!
//! Method: an interpreter for the fixture's small language runs each program on gosteal at P = 1 and the list
//! of events is compared, event by event, with what Go 1.26.6 did.
use gosteal::sync::{RawMutex, RawRwLock, WaitGroup};
use gosteal::{DeadlockReport, Policy, Receiver, Runtime, Sender, chan, go, yield_now};
use serde_json::Value;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

type Event = (u64, &'static str, i64, i64);

/// What the goroutines of one program share.
struct World {
    bodies: Vec<Vec<Value>>,
    chans: Vec<(Sender<i64>, Receiver<i64>)>,
    mutexes: Vec<RawMutex>,
    rwlocks: Vec<RawRwLock>,
    groups: Vec<WaitGroup>,
    next: AtomicUsize,
    events: Mutex<Vec<Event>>,
}

impl World {
    fn new(program: &Value) -> World {
        let count = |key: &str| program[key].as_u64().unwrap() as usize;
        let caps = program["chans"].as_array().unwrap().iter();
        World {
            bodies: program["bodies"].as_array().unwrap().iter().map(ops).collect(),
            chans: caps.map(|cap| chan(cap.as_u64().unwrap() as usize)).collect(),
            mutexes: (0..count("mutexes")).map(|_| RawMutex::new()).collect(),
            rwlocks: (0..count("rwmutexes")).map(|_| RawRwLock::new()).collect(),
            groups: (0..count("waitgroups")).map(|_| WaitGroup::new()).collect(),
            next: AtomicUsize::new(1),
            events: Mutex::new(Vec::new()),
        }
    }
    fn log(&self, g: u64, kind: &'static str, a: i64, b: i64) {
        self.events.lock().unwrap().push((g, kind, a, b));
    }
}

fn ops(body: &Value) -> Vec<Value> {
    body.as_array().unwrap().clone()
}

fn run_body(world: &Arc<World>, g: u64, body: usize) {
    let ran = catch_unwind(AssertUnwindSafe(|| run_ops(world, g, &world.bodies[body])));
    match ran {
        Ok(()) => world.log(g, "end", 0, 0),
        Err(payload) => {
            let text = payload.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
            let code = match text.as_deref() {
                Some("send on closed channel") => 1,
                Some("close of closed channel") => 2,
                Some("sync: negative WaitGroup counter") => 3,
                _ => std::panic::resume_unwind(payload),
            };
            world.log(g, "panic", code, 0);
        }
    }
}

fn run_ops(world: &Arc<World>, g: u64, ops: &[Value]) {
    for op in ops {
        let op = op.as_array().unwrap();
        let n = |i: usize| op[i].as_i64().unwrap();
        let at = |i: usize| op[i].as_u64().unwrap() as usize;
        match op[0].as_str().unwrap() {
            "go" => {
                let (id, body, world) =
                    (world.next.fetch_add(1, Relaxed) as u64, at(1), world.clone());
                go(move || run_body(&world, id, body));
            }
            "send" => world.chans[at(1)].0.send(n(2)),
            "recv" => match world.chans[at(1)].1.recv() {
                Some(v) => world.log(g, "recv", n(1), v),
                None => world.log(g, "recv_closed", n(1), 0),
            },
            "close" => world.chans[at(1)].0.close(),
            "try_send" => match world.chans[at(1)].0.try_send(n(2)) {
                Ok(()) => world.log(g, "select", 0, n(2)),
                Err(_) => world.log(g, "none", 0, 0),
            },
            "try_recv" => match world.chans[at(1)].1.try_recv() {
                Ok(v) => world.log(g, "recv", n(1), v),
                Err(gosteal::TryRecvError::Closed) => world.log(g, "recv_closed", n(1), 0),
                Err(gosteal::TryRecvError::Empty) => world.log(g, "none", 0, 0),
            },
            "select" => run_select(world, g, op[1].as_array().unwrap(), op[2].as_bool().unwrap()),
            "yield" => yield_now(),
            "lock" => world.mutexes[at(1)].lock(),
            "unlock" => world.mutexes[at(1)].unlock(),
            "rlock" => world.rwlocks[at(1)].read(),
            "runlock" => world.rwlocks[at(1)].read_unlock(),
            "wlock" => world.rwlocks[at(1)].write(),
            "wunlock" => world.rwlocks[at(1)].write_unlock(),
            "add" => world.groups[at(1)].add(n(2) as i32),
            "done" => world.groups[at(1)].done(),
            "wait" => world.groups[at(1)].wait(),
            "emit" => world.log(g, "emit", n(1), 0),
            "loop" => {
                let body = op[2].as_array().unwrap();
                (0..n(1)).for_each(|_| run_ops(world, g, body));
            }
            other => panic!("the fixture has an op that the interpreter lacks: {other}"),
        }
    }
}

/// A select over cases known only at run time, by the hidden parts of the macro.
fn run_select(world: &Arc<World>, g: u64, cases: &[Value], has_default: bool) {
    use gosteal::__private::{Case, RecvCase, SendCase, select};
    enum Either<'a> {
        Recv(RecvCase<'a, i64>),
        Send(SendCase<'a, i64>, i64),
    }
    let mut made: Vec<Either<'_>> = cases
        .iter()
        .map(|case| {
            let (tx, rx) = &world.chans[case[1].as_u64().unwrap() as usize];
            match case[0].as_str().unwrap() {
                "recv" => Either::Recv(RecvCase::new(rx)),
                _ => {
                    let v = case[2].as_i64().unwrap();
                    Either::Send(SendCase::new(tx, v), v)
                }
            }
        })
        .collect();
    let fired = {
        let mut dynamic: Vec<&mut dyn Case> = made
            .iter_mut()
            .map(|case| match case {
                Either::Recv(c) => c as &mut dyn Case,
                Either::Send(c, _) => c as &mut dyn Case,
            })
            .collect();
        select(&mut dynamic, has_default)
    };
    match fired {
        None => world.log(g, "none", 0, 0),
        Some(i) => match &mut made[i] {
            Either::Send(_, v) => world.log(g, "select", i as i64, *v),
            Either::Recv(c) => match c.take() {
                Some(v) => world.log(g, "select", i as i64, v),
                None => world.log(g, "recv_closed", i as i64, 0),
            },
        },
    }
}

/// Runs one program on a fresh runtime; "deadlock" is recognised from outside, by the counters standing still
/// with nothing runnable.
fn run(program: &Value) -> (&'static str, Vec<Event>) {
    let world = Arc::new(World::new(program));
    // Without time slices: the programs last far under 10 ms in Go, but not in a debug build on a loaded
    // machine, and a slice that ends is a different program. All else is the reference, as constants.
    let policy = Policy::parse("go1.26,no-preempt").unwrap();
    let builder = Runtime::builder().procs(1).policy(policy).deadlock(DeadlockReport::Never);
    // SAFETY: no reference into thread-local storage is held across a runtime entry.
    let rt = unsafe { builder.build() }.unwrap();
    let (done, is_done) = mpsc::channel();
    let main = world.clone();
    rt.handle().go(move || {
        // The recorder began at a scheduling tick of 0 modulo 61; we are in our first, and each yield of the
        // only goroutine costs one.
        (1..gosteal::FAIRNESS_TICKS).for_each(|_| yield_now());
        run_body(&main, 0, 0);
        let events = main.events.lock().unwrap().clone();
        done.send(events).unwrap();
    });
    loop {
        match is_done.recv_timeout(Duration::from_millis(1)) {
            Ok(events) => return ("exit", events),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                // All Ps idle: nobody runs, and no timers or outsiders exist to change that.
                if rt.metrics().idle_procs == 1 && rt.metrics().runnable == 0 {
                    // The main goroutine may have ended between the two looks.
                    if let Ok(events) = is_done.try_recv() {
                        return ("exit", events);
                    }
                    let events = world.events.lock().unwrap().clone();
                    return ("deadlock", events);
                }
            }
            Err(e) => panic!("{e}"),
        }
    }
}

fn expected(go: &Value) -> (String, Vec<(u64, String, i64, i64)>) {
    let events = go["events"].as_array().unwrap().iter().map(|e| {
        let kind = e[1].as_str().unwrap().to_string();
        (e[0].as_u64().unwrap(), kind, e[2].as_i64().unwrap(), e[3].as_i64().unwrap())
    });
    (go["outcome"].as_str().unwrap().to_string(), events.collect())
}

#[test]
fn go_order_512_programs_run_in_go_s_order() {
    // Panics are events of these programs, not failures.
    std::panic::set_hook(Box::new(|_| {}));
    let packed = include_bytes!("data/go-order.jsonl.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    let (mut same, mut different) = (0, Vec::new());
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (want_outcome, want) = expected(&line["go"]);
        let (outcome, events) = run(&line["program"]);
        let got: Vec<_> = events.into_iter().map(|(g, k, a, b)| (g, k.to_string(), a, b)).collect();
        if outcome == want_outcome && got == want {
            same += 1;
        } else {
            let at = got
                .iter()
                .zip(&want)
                .position(|(a, b)| a != b)
                .unwrap_or(got.len().min(want.len()));
            different.push(format!(
                "{} ({}): {outcome} for {want_outcome}, event {at} of {}: {:?} for {:?}",
                line["program"]["id"],
                line["program"]["kind"],
                want.len(),
                got.get(at),
                want.get(at)
            ));
        }
    }
    let _ = std::panic::take_hook();
    assert!(different.is_empty(), "{same} of 512 identical\n{}", different.join("\n"));
    assert_eq!(same, 512);
}
