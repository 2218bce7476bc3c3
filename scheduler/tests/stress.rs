//! What must hold under every interleaving, tried many times: P = 1, 2, 4, 8 on however many CPUs.
//! FC-04, 07, 08, 22, 24, 30, 31, 68, 69.
//!
//! Method: counts, not clocks; a watchdog ends a run without progress. `GOSTEAL_STRESS=10` multiplies the
//! rounds (`scripts/stress` runs the long form and repeats it).
use gosteal::sync::WaitGroup;
use gosteal::{Runtime, chan, go, join, scope, select, spawn, yield_now};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn rounds(n: u64) -> u64 {
    let times = std::env::var("GOSTEAL_STRESS").ok().and_then(|s| s.parse::<u64>().ok());
    let debug = if cfg!(debug_assertions) { 4 } else { 1 };
    n * times.unwrap_or(1) / debug
}

fn runtime(procs: usize) -> Runtime {
    // SAFETY: no reference into thread-local storage is held across a runtime entry (but where a test says so
    // and takes the address anew after each).
    unsafe { Runtime::builder().procs(procs).build() }.unwrap()
}

/// Ends the process if `body` makes no progress for a minute: a hang is a failure, with a message.
fn watched(name: &'static str, body: impl FnOnce(&AtomicU64)) {
    let progress = Arc::new(AtomicU64::new(0));
    let done = Arc::new(AtomicBool::new(false));
    let (p, d) = (progress.clone(), done.clone());
    let dog = std::thread::spawn(move || {
        let (mut seen, mut since) = (0, Instant::now());
        while !d.load(SeqCst) {
            std::thread::park_timeout(Duration::from_millis(200));
            let now = p.load(Relaxed);
            if now != seen {
                (seen, since) = (now, Instant::now());
            } else if since.elapsed() > Duration::from_secs(60) {
                eprintln!("{name}: no progress for a minute after {now} steps");
                std::process::abort();
            }
        }
    });
    body(&progress);
    done.store(true, SeqCst);
    dog.thread().unpark();
    dog.join().unwrap();
}

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

/// FC-31: the runtime's ids, errno and thread-locals are right after every switch.
#[test]
fn fc31_thread_locals_after_a_move() {
    thread_local!(static MINE: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });
    #[inline(never)]
    fn tid() -> i32 {
        // SAFETY: no arguments.
        std::hint::black_box(unsafe { libc::gettid() })
    }
    let seen: Arc<Mutex<std::collections::HashMap<u32, i32>>> = Arc::default();
    let moves = Arc::new(AtomicU64::new(0));
    watched("fc31", |progress| {
        let rt = runtime(4);
        rt.block_on(|| {
            let wg = WaitGroup::new();
            let want = rounds(4_000);
            for _ in 0..64 {
                let (seen, moves) = (seen.clone(), moves.clone());
                wg.go(move || {
                    let mut last = tid();
                    for _ in 0..want {
                        MINE.with(|c| c.set(c.get() + 1));
                        // SAFETY: a call that fails and sets errno.
                        unsafe { libc::close(-1) };
                        assert_eq!(
                            std::io::Error::last_os_error().raw_os_error(),
                            Some(libc::EBADF)
                        );
                        let (worker, thread) = (gosteal::worker_id().unwrap(), tid());
                        let known = *seen.lock().unwrap().entry(worker).or_insert(thread);
                        assert_eq!(known, thread, "worker {worker} on two threads");
                        if thread != last {
                            moves.fetch_add(1, Relaxed);
                            last = thread;
                        }
                        yield_now();
                    }
                });
            }
            wg.wait();
        });
        progress.fetch_add(1, Relaxed);
    });
    assert!(moves.load(Relaxed) > 0, "nobody moved: nothing was tested");
}

/// FC-68: floating-point and integer sums in registers survive every switch, and so does the rounding mode.
#[test]
fn fc68_registers_and_rounding_mode_survive_switches() {
    fn sums(n: u64, step: f64, mut between: impl FnMut()) -> ([f64; 8], [u64; 4]) {
        let (mut f, mut i) = ([0.0f64; 8], [0u64; 4]);
        for k in 0..n {
            for (j, sum) in f.iter_mut().enumerate() {
                *sum += step * (j as f64 + 0.1) / (k as f64 + 1.0);
            }
            for (j, sum) in i.iter_mut().enumerate() {
                *sum = sum.rotate_left(7) ^ (k + j as u64);
            }
            between();
        }
        (f, i)
    }
    let n = rounds(20_000);
    let want = sums(n, 1.0, || {});
    runtime(4).block_on(|| {
        let wg = WaitGroup::new();
        for _ in 0..64 {
            wg.go(move || assert_eq!(sums(n, 1.0, yield_now), want));
        }
        #[cfg(target_arch = "x86_64")]
        wg.go(move || {
            let up = 0x1F80u32 | 0x4000;
            let set = |word: u32| {
                // SAFETY: rounding control only; restored before the goroutine ends.
                unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const word) };
            };
            let get = || {
                let mut word = 0u32;
                // SAFETY: stores four bytes to a local.
                unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut word) };
                word & 0xFFC0
            };
            set(up);
            for _ in 0..n {
                yield_now();
                assert_eq!(get(), up, "the rounding mode was lost");
            }
            set(0x1F80);
        });
        wg.wait();
    });
}

/// FC-69: traces have the frames of the goroutine, and end; also from a signal at any instruction.
#[test]
fn fc69_traces_end() {
    #[inline(never)]
    fn deep(n: u32, at: &mut dyn FnMut()) -> u32 {
        if n == 0 {
            at();
            return 0;
        }
        std::hint::black_box(deep(std::hint::black_box(n - 1), at)) + 1
    }
    extern "C" fn on_signal(_: libc::c_int) {
        let mut frames = [std::ptr::null_mut(); 128];
        // SAFETY: glibc's unwinder; loaded before the first signal.
        let n = unsafe { libc::backtrace(frames.as_mut_ptr(), 128) };
        LONGEST.fetch_max(n as usize, Relaxed);
        SIGNALS.fetch_add(1, Relaxed);
    }
    static LONGEST: AtomicUsize = AtomicUsize::new(0);
    static SIGNALS: AtomicUsize = AtomicUsize::new(0);
    let mut frames = [std::ptr::null_mut(); 128];
    // SAFETY: loads the unwinder before signals use it.
    unsafe { libc::backtrace(frames.as_mut_ptr(), 128) };
    let rt = runtime(4);
    rt.block_on(|| {
        let count = || {
            let mut frames = [std::ptr::null_mut(); 128];
            // SAFETY: as above.
            unsafe { libc::backtrace(frames.as_mut_ptr(), 128) }
        };
        for _ in 0..rounds(400) {
            let mut n = 0;
            deep(20, &mut || n = count());
            assert!((21..64).contains(&n), "{n} frames");
            yield_now();
        }
    });
    // SAFETY: a handler for a signal that only this test sends; it stays harmless afterwards.
    unsafe { libc::signal(libc::SIGURG, on_signal as *const () as libc::sighandler_t) };
    let stop = Arc::new(AtomicBool::new(false));
    let s = stop.clone();
    let sender = std::thread::spawn(move || {
        let want = rounds(300) as usize;
        while SIGNALS.load(Relaxed) < want {
            for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
                let comm = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
                if let Some(tid) = task.file_name().to_str().and_then(|t| t.parse::<i32>().ok()) {
                    if comm.starts_with("gosteal-m") {
                        // SAFETY: a signal to a thread of this process, or to nobody.
                        unsafe {
                            libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, libc::SIGURG)
                        };
                    }
                }
            }
        }
        s.store(true, SeqCst);
    });
    watched("fc69", |progress| {
        rt.block_on(|| {
            while !stop.load(SeqCst) {
                let wg = WaitGroup::new();
                for _ in 0..50 {
                    wg.go(|| assert_eq!(deep(20, &mut yield_now), 20));
                }
                wg.wait();
                progress.fetch_add(1, Relaxed);
            }
        });
    });
    sender.join().unwrap();
    assert!(LONGEST.load(Relaxed) < 64, "a trace of {} frames", LONGEST.load(Relaxed));
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
                        join(|| yield_now(), || std::panic::resume_unwind(Box::new(9u8)));
                    })
                    .join()
                });
                assert_eq!(*caught.unwrap_err().downcast::<u8>().unwrap(), 9);
                progress.fetch_add(1, Relaxed);
            }
        });
    }
}
