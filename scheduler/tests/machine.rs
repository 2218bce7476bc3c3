//! What a switch must leave alone: thread-locals, errno, registers, the rounding mode, traces.
//! FC-31, 68, 69. Means most in release builds: the compiler must have had the chance to be wrong.
mod common;
use common::{rounds, runtime, watched};
use gosteal::sync::WaitGroup;
use gosteal::{Runtime, yield_now};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

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
/// FC-69: traces have the frames of the goroutine, and end; also from a signal at any instruction.
#[test]
fn fc69_traces_end() {
    let mut frames = [std::ptr::null_mut(); 128];
    // SAFETY: loads the unwinder before signals use it.
    unsafe { libc::backtrace(frames.as_mut_ptr(), 128) };
    traces_hold_the_goroutines_frames(&runtime(4));
    traces_from_signals_end(&runtime(4));
}

fn traces_hold_the_goroutines_frames(rt: &Runtime) {
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
}

fn traces_from_signals_end(rt: &Runtime) {
    // SAFETY: a handler for a signal that only this test sends; it stays harmless afterwards.
    unsafe { libc::signal(libc::SIGURG, on_signal as *const () as libc::sighandler_t) };
    let stop = Arc::new(AtomicBool::new(false));
    let s = stop.clone();
    let sender = std::thread::spawn(move || {
        let want = rounds(300) as usize;
        while SIGNALS.load(Relaxed) < want {
            signal_workers();
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

/// One signal to each worker thread of this process.
fn signal_workers() {
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let comm = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        let tid = task.file_name().to_str().and_then(|t| t.parse::<i32>().ok());
        if let Some(tid) = tid.filter(|_| comm.starts_with("gosteal-m")) {
            // SAFETY: a signal to a thread of this process, or to nobody.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, libc::SIGURG) };
        }
    }
}
