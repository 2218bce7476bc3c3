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

/// TIMER-10: a channel timer fires on the scheduler's stack, where a pending preemption concerns nobody. (It read
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

/// SYS-3: sysmon wakes from deep sleep when somebody waits for a P, also if he came from outside. (A goroutine that
/// computes kept the only P from a second one for up to a minute.)
#[test]
fn sys3_a_goroutine_from_outside_gets_its_slice() {
    watched("sys3 (outside)", |_| {
        let rt = runtime(1);
        settle(&rt);
        std::thread::sleep(Duration::from_millis(50)); // Sysmon goes to its deep sleep.
        let stop = Arc::new(AtomicBool::new(false));
        let (tx, rx) = chan(1);
        let s = stop.clone();
        rt.handle().go(move || {
            tx.send(());
            while !s.load(SeqCst) {
                checkpoint();
            }
        });
        rx.recv();
        rt.handle().go(move || stop.store(true, SeqCst));
        rt.block_on(|| ());
    });
}

/// SYS-3: the same for a sleeper whose worker, back from the poller, finds no P.
#[test]
fn sys3_a_sleeper_gets_its_slice() {
    watched("sys3 (sleeper)", |_| {
        let rt = runtime(1);
        let (started, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        rt.handle().go(|| gosteal::time::sleep(Duration::from_secs(3600)));
        settle(&rt);
        std::thread::sleep(Duration::from_millis(50)); // Sysmon goes to its deep sleep.
        let (s, t) = (stop.clone(), started.clone());
        rt.handle().go(move || {
            t.store(1, SeqCst);
            gosteal::time::sleep(Duration::from_millis(20));
            s.store(true, SeqCst);
        });
        while started.load(SeqCst) == 0 {
            std::thread::yield_now();
        }
        settle(&rt);
        rt.handle().go(move || {
            while !stop.load(SeqCst) {
                checkpoint();
            }
        });
        rt.block_on(|| ());
    });
}
