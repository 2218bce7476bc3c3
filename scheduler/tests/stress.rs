//! What must hold under every interleaving, tried many times: P = 1, 2, 4, 8 on however many CPUs.
//! FC-04, 07, 08, 22, 24, 30.
//!
//! Method: counts, not clocks; a watchdog ends a run without progress. `GOSTEAL_STRESS=10` multiplies the
//! rounds (`scripts/stress` runs the long form and repeats it).
mod common;
use common::{rounds, runtime, watched};
use gosteal::sync::WaitGroup;
use gosteal::{chan, go, join, scope, select, spawn, yield_now};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::time::{Duration, Instant};

struct Random(u64);
impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

fn spin_us(us: u64) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(us) {
        std::hint::spin_loop();
    }
}

/// FC-04: no lasting state with a runnable goroutine, an idle P, and nobody searching or on the way (a thread
/// that the system has not run yet is no fault of the scheduler); starts equal ends.
#[test]
fn fc04_no_idle_p_beside_a_waiting_goroutine() {
    for procs in [2, 4, 8] {
        let rt = Arc::new(runtime(procs));
        let (started, ended) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let stop = Arc::new(AtomicBool::new(false));
        let dog = {
            let (rt, stop) = (rt.clone(), stop.clone());
            std::thread::spawn(move || {
                let mut before: HashSet<u64> = HashSet::new();
                while !stop.load(SeqCst) {
                    let queued: HashSet<u64> = rt.queued().into_iter().collect();
                    let m = rt.metrics();
                    let bad = m.idle_procs > 0 && m.spinning == 0 && m.starting == 0;
                    let stuck: Vec<_> = queued.intersection(&before).copied().collect();
                    assert!(
                        !bad || stuck.is_empty(),
                        "goroutines {stuck:?} wait beside idle Ps: {m:?}"
                    );
                    before = if bad { queued } else { HashSet::new() };
                    std::thread::park_timeout(Duration::from_millis(10));
                }
            })
        };
        watched("fc04", |progress| {
            let mut random = Random(procs as u64);
            let (tx, rx) = chan::<u64>(0);
            let (s, e) = (started.clone(), ended.clone());
            rt.handle().go(move || {
                while let Some(n) = rx.recv() {
                    for _ in 0..n {
                        s.fetch_add(1, Relaxed);
                        let e = e.clone();
                        go(move || {
                            spin_us(50 + n * 10);
                            e.fetch_add(1, Relaxed);
                        });
                    }
                    gosteal::time::sleep(Duration::from_micros(n * 20));
                }
            });
            for _ in 0..rounds(100) {
                tx.send(1 + random.below(40));
                let (s, e) = (started.clone(), ended.clone());
                s.fetch_add(1, Relaxed);
                rt.handle().go(move || {
                    spin_us(50);
                    e.fetch_add(1, Relaxed);
                });
                std::thread::sleep(Duration::from_micros(random.below(5000)));
                progress.fetch_add(1, Relaxed);
            }
            tx.close();
            while started.load(Relaxed) != ended.load(Relaxed)
                || rt.metrics().idle_procs < procs as u64
            {
                std::thread::yield_now();
            }
        });
        stop.store(true, SeqCst);
        dog.thread().unpark();
        dog.join().unwrap();
    }
}

/// FC-07 (1): a child does five channel operations and answers a waiting parent.
#[test]
fn fc07_no_wakeup_is_lost_between_parent_and_child() {
    for procs in [1, 2, 4, 8] {
        watched("fc07 (1)", |progress| {
            runtime(procs).block_on(|| {
                for i in 0..rounds(40_000) {
                    let (answer, question) = chan(0);
                    go(move || {
                        let (tx, rx) = chan(1);
                        for k in 0..2 {
                            tx.send(i + k);
                            rx.recv();
                        }
                        answer.send(i);
                    });
                    assert_eq!(question.recv(), Some(i));
                    progress.fetch_add(1, Relaxed);
                }
            });
        });
    }
}

/// FC-07 (2): a plain thread makes a goroutine ready just as the last worker goes to sleep.
#[test]
fn fc07_no_wakeup_from_outside_is_lost() {
    for procs in [1, 2, 4, 8] {
        watched("fc07 (2)", |progress| {
            let rt = runtime(procs);
            let ((to, from), (back, echo)) = (chan::<u64>(0), chan::<u64>(0));
            rt.handle().go(move || {
                while let Some(n) = from.recv() {
                    back.send(n);
                }
            });
            for i in 0..rounds(10_000) {
                to.send(i);
                assert_eq!(echo.recv(), Some(i));
                progress.fetch_add(1, Relaxed);
            }
            to.close();
        });
    }
}

/// FC-08 by counts: a trickle from outside wakes one worker a job and lets it go back to sleep; nobody spins on.
#[test]
fn fc08_a_trickle_wakes_few_threads() {
    let rt = runtime(8);
    let jobs = rounds(400).min(2000);
    let before = rt.metrics();
    for _ in 0..jobs {
        let (tx, rx) = chan::<()>(1);
        rt.handle().go(move || tx.send(()));
        rx.recv();
        while rt.metrics().idle_procs < 8 {
            std::thread::yield_now();
        }
    }
    let after = rt.metrics();
    let (wakes, parks) = (after.wakes - before.wakes, after.parks - before.parks);
    // One start for the job (INJ-1), and at most the successor of a spinner that found it (SPIN-5).
    assert!(wakes <= jobs * 3, "{wakes} wakes for {jobs} jobs");
    assert!(parks <= jobs * 3 + 8, "{parks} parks for {jobs} jobs");
}

/// Everything at once: channels, select, locks, forks, scopes, sleeps, system calls, outside threads.
#[test]
fn wake_everything_at_once_ends_with_exact_counts() {
    for procs in [1, 2, 4, 8] {
        watched("mix", |progress| {
            let rt = runtime(procs);
            let total = Arc::new(AtomicU64::new(0));
            let n = rounds(200);
            let t = total.clone();
            rt.block_on(move || {
                let wg = WaitGroup::new();
                for i in 0..n {
                    let t = t.clone();
                    wg.go(move || mixed(i, &t));
                }
                wg.wait();
            });
            assert_eq!(total.load(SeqCst), n * 7);
            progress.fetch_add(1, Relaxed);
        });
    }
}

/// Adds 7 to `total`, by seven different means.
fn mixed(i: u64, total: &Arc<AtomicU64>) {
    let add = |n: u64| total.fetch_add(n, SeqCst);
    let (tx, rx) = chan::<u64>((i % 3) as usize);
    let (stop_tx, stop) = chan::<()>(0);
    go(move || {
        tx.send(1);
        stop_tx.close();
    });
    add(select! { recv(rx) -> v => v.unwrap(), recv(stop) -> _ => rx.recv().unwrap_or(1) });
    let (a, b) = join(|| 1, || spawn(|| 1).join().unwrap());
    add(a + b - 1);
    let t = total.clone();
    scope(|s| {
        s.spawn(|_| {
            t.fetch_add(1, SeqCst);
        });
    });
    if i.is_multiple_of(16) {
        gosteal::time::sleep(Duration::from_micros(i % 200));
    }
    add(1);
    add(gosteal::syscall(|| 1));
    add(gosteal::blocking(|| 1));
    for _ in 0..i % 5 {
        yield_now();
    }
    add(1);
}

/// FC-22: a shutdown at a random moment ends, drops exactly once, and leaves no thread.
#[test]
fn fc22_shutdown_drops_everything_once() {
    struct Counted(Arc<AtomicUsize>, gosteal::Sender<u8>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            let _ = self.1.try_send(1);
        }
    }
    watched("fc22", |progress| {
        let mut random = Random(22);
        for round in 0..rounds(120) {
            let procs = 1 + (round % 4) as usize;
            let rt = runtime(procs);
            let (made, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (tx, rx) = chan::<u8>(0);
            for kind in 0..40u64 {
                let counted = Counted(dropped.clone(), tx.clone());
                made.fetch_add(1, SeqCst);
                let rx = rx.clone();
                rt.handle().go(move || {
                    let _counted = counted;
                    match kind % 5 {
                        0 => drop(rx.recv()),
                        1 => gosteal::blocking(|| std::thread::sleep(Duration::from_millis(1))),
                        2 => gosteal::time::sleep(Duration::from_secs(3600)),
                        3 => {
                            let (_tx, never) = chan::<u8>(0);
                            select! { recv(rx) -> _ => {}, recv(never) -> _ => {} }
                        }
                        _ => yield_now(),
                    }
                });
            }
            if random.below(3) > 0 {
                std::thread::sleep(Duration::from_micros(random.below(2000)));
            }
            rt.shutdown(Duration::from_secs(20)).unwrap();
            assert_eq!(dropped.load(SeqCst), made.load(SeqCst), "round {round}");
            progress.fetch_add(1, Relaxed);
        }
    });
    let threads = std::fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|t| std::fs::read_to_string(t.ok()?.path().join("comm")).ok());
    // Other tests of this binary may run at the same time: their runtimes have threads of their own.
    assert!(threads.count() < 500);
}

/// FC-22: what borrowed data waits for is not cut short: the borrower ends first.
#[test]
fn fc22_shutdown_keeps_borrowed_data_alive() {
    for _ in 0..rounds(100) {
        let rt = runtime(2);
        let (tx, rx) = chan::<u8>(0);
        let ready = Arc::new(AtomicUsize::new(0));
        let r = ready.clone();
        rt.handle().go(move || {
            let mut data = [0u64; 64];
            scope(|s| {
                for cell in &mut data {
                    let (rx, r) = (&rx, &r);
                    s.spawn(move |_| {
                        struct Touch<'a>(&'a mut u64);
                        impl Drop for Touch<'_> {
                            fn drop(&mut self) {
                                *self.0 += 1;
                            }
                        }
                        let touch = Touch(cell);
                        r.fetch_add(1, SeqCst);
                        rx.recv();
                        drop(touch);
                    });
                }
            });
            // Those that had begun ended once; closures that never ran touched nothing.
            assert_eq!(data.iter().sum::<u64>(), r.load(SeqCst) as u64);
        });
        while ready.load(SeqCst) < 32 {
            std::thread::yield_now();
        }
        rt.shutdown(Duration::from_secs(20)).unwrap();
        drop(tx);
    }
}

/// FC-24, with handles: a panic is its goroutine's alone; all Ps work on.
#[test]
fn fc24_a_panic_with_a_handle_is_returned() {
    for procs in [1, 2, 4, 8] {
        runtime(procs).block_on(|| {
            let (tx, rx) = chan::<usize>(0);
            let handles: Vec<_> = (0..1000)
                .map(|i| {
                    let tx = tx.clone();
                    spawn(move || {
                        if i == 500 || i == 0 {
                            std::panic::resume_unwind(Box::new(i));
                        }
                        tx.send(i);
                    })
                })
                .collect();
            let sum: usize = (0..998).map(|_| rx.recv().unwrap()).sum();
            assert_eq!(sum, 999 * 500 - 500);
            let failed: Vec<_> = handles
                .into_iter()
                .filter_map(|h| h.join().err().map(|p| *p.downcast::<usize>().unwrap()))
                .collect();
            assert_eq!(failed, [0, 500]);
            let (tx, rx) = chan::<()>(0);
            (0..10_000).for_each(|_| {
                let tx = tx.clone();
                go(move || tx.send(()));
            });
            (0..10_000).for_each(|_| rx.recv().unwrap());
        });
    }
}

/// NEW-5: a million goroutines start and finish, on stacks that are used again and again.
#[test]
fn new5_a_million_start_and_finish() {
    let n = rounds(1_000_000).min(10_000_000);
    let rt = runtime(2);
    rt.block_on(move || {
        let wg = WaitGroup::new();
        for _ in 0..n / 100 {
            (0..100).for_each(|_| wg.go(|| ()));
            wg.wait();
        }
    });
    let m = rt.metrics();
    assert!(m.goroutines_created > n / 100 * 100, "{m:?}");
    assert!(m.stacks < 1_000, "{} stacks for a hundred at a time", m.stacks);
}

/// FC-30: 100,000 parked goroutines with guards, a page and a bit each.
#[test]
fn fc30_a_hundred_thousand_parked_goroutines() {
    let rt = runtime(2);
    rt.block_on(|| {
        let n = 100_000;
        let (tx, rx) = chan::<u8>(0);
        let wg = WaitGroup::new();
        let before = resident_bytes();
        for _ in 0..n {
            let rx = rx.clone();
            wg.go(move || assert_eq!(rx.recv(), None));
            yield_now();
        }
        let each = (resident_bytes() - before) / n;
        // Debug frames are larger and take a second page.
        let most = if cfg!(debug_assertions) { 13 << 10 } else { 5 << 10 };
        assert!(each <= most, "{each} bytes a parked goroutine");
        tx.close();
        wg.wait();
    });
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Forks under stress: every leaf counted once, panics carried, while others steal.
#[test]
fn join_counts_every_leaf_once() {
    fn tree(n: u32, leaves: &AtomicU64) {
        if n == 0 {
            leaves.fetch_add(1, Relaxed);
        } else {
            join(|| tree(n - 1, leaves), || tree(n - 1, leaves));
        }
    }
    for procs in [1, 2, 4, 8] {
        watched("join", |progress| {
            let rt = runtime(procs);
            for _ in 0..rounds(40) {
                let leaves = AtomicU64::new(0);
                rt.block_on(|| tree(12, &leaves));
                assert_eq!(leaves.load(SeqCst), 4096);
                let caught = rt.block_on(|| {
                    spawn(|| {
                        join(yield_now, || std::panic::resume_unwind(Box::new(9u8)));
                    })
                    .join()
                });
                assert_eq!(*caught.unwrap_err().downcast::<u8>().unwrap(), 9);
                progress.fetch_add(1, Relaxed);
            }
        });
    }
}
