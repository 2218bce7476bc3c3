//! What the stress tests share: how many rounds, a runtime, a watchdog.
#![allow(dead_code, reason = "each test binary uses a part")]
use gosteal::Runtime;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Rounds of a stress test: multiplied by `GOSTEAL_STRESS`, a quarter in debug builds.
pub(crate) fn rounds(n: u64) -> u64 {
    let times = std::env::var("GOSTEAL_STRESS").ok().and_then(|s| s.parse::<u64>().ok());
    let debug = if cfg!(debug_assertions) { 4 } else { 1 };
    n * times.unwrap_or(1) / debug
}

pub(crate) fn runtime(procs: usize) -> Runtime {
    // SAFETY: no reference into thread-local storage is held across a runtime entry (but where a test says so
    // and takes the address anew after each).
    unsafe { Runtime::builder().procs(procs).build() }.unwrap()
}

/// Ends the process if `body` makes no progress for a minute: a hang is a failure, with a message.
pub(crate) fn watched(name: &'static str, body: impl FnOnce(&AtomicU64)) {
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
