//! What broke once, each as the smallest case that failed: ends of runtimes, waits that are cut short, timers
//! that fire on a scheduler's stack, watchers that sleep. FC-04, 22, 24; TIMER-10, SYS-3, M-5, RW-1.
mod common;
use common::{rounds, runtime, watched};
use gosteal::sync::RwLock;
use gosteal::{Policy, Runtime, chan, checkpoint, go, join, scope, spawn, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(20);

/// Counts its own drops.
struct Counted(Arc<AtomicUsize>);
impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A destructor that waits for a value.
struct WaitsInDrop(gosteal::Receiver<u8>);
impl Drop for WaitsInDrop {
    fn drop(&mut self) {
        self.0.recv();
    }
}

/// Until all Ps are idle: everybody who can park has parked.
fn settle(rt: &Runtime) {
    while rt.metrics().idle_procs < rt.procs() as u64 {
        std::thread::yield_now();
    }
}

/// the current goroutine through null.)
#[test]
fn timer10_a_channel_timer_fires_beside_a_preemption_request() {
    for procs in [1, 2, 8] {
        watched("timer10", |progress| {
            runtime(procs).block_on(|| {
                for i in 0..rounds(200) {
                    assert!(gosteal::time::after(Duration::from_micros(i * 97)).recv().is_some());
                    progress.fetch_add(1, Relaxed);
                }
            });
        });
    }
}
