//! What broke once, each as the smallest case that failed: ends of runtimes, waits that are cut short, timers
//! that fire on a scheduler's stack, watchers that sleep. FC-04, 22, 24; TIMER-10, SYS-3, M-5, RW-1.
mod common;
use common::{rounds, runtime, watched};
use gosteal::sync::{Mutex, RwLock, WaitGroup};
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
                    assert!(
                        gosteal::time::after(Duration::from_micros(i % 20 * 97)).recv().is_some()
                    );
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

/// FC-22: a destructor that waits while a panic unwinds is left as it is. (The wait was cut short by a second panic,
/// which ended the process.)
#[test]
fn fc22_a_panicking_goroutine_that_waits_in_a_destructor_is_left() {
    let (tx, rx) = chan::<u8>(0);
    for procs in [1, 2] {
        let rt = runtime(procs);
        let waits = WaitsInDrop(rx.clone());
        rt.handle().go(move || {
            drop(spawn(move || {
                let _waits = waits;
                std::panic::resume_unwind(Box::new(1u8));
            }));
        });
        rt.handle().go(|| ());
        settle(&rt);
        rt.shutdown(LONG).unwrap();
        assert!(!std::thread::panicking());
    }
    drop(tx);
}

/// FC-22: a goroutine left in a destructor changes nothing for the others, nor for the thread that ends the runtime.
/// (That thread counted as panicking from then on, and the others ran on unended.)
#[test]
fn fc22_a_destructor_that_waits_does_not_keep_the_others() {
    let (tx, rx) = chan::<u8>(0);
    let dropped = Arc::new(AtomicUsize::new(0));
    watched("fc22 (destructors)", |_| {
        let rt = runtime(2);
        let begun = Arc::new(AtomicUsize::new(0));
        for i in 0..20 {
            let waits = (i % 2 == 0).then(|| WaitsInDrop(rx.clone()));
            let (counted, b) = (Counted(dropped.clone()), begun.clone());
            rt.handle().go(move || {
                let _counted = counted;
                let _waits = waits;
                b.fetch_add(1, SeqCst);
                gosteal::time::sleep(Duration::from_secs(3600));
            });
        }
        for _ in 0..4 {
            let (counted, b) = (Counted(dropped.clone()), begun.clone());
            rt.handle().go(move || {
                let _counted = counted;
                b.fetch_add(1, SeqCst);
                loop {
                    yield_now();
                }
            });
        }
        while begun.load(SeqCst) < 24 {
            std::thread::yield_now();
        }
        rt.shutdown(LONG).unwrap();
    });
    assert!(!std::thread::panicking());
    assert_eq!(dropped.load(SeqCst), 14, "those without a destructor that waits");
    drop(tx);
}

/// FC-22: destructors that hand values to each other at the end go on where they stopped, on the thread that counts
/// their panic.
#[test]
fn fc22_destructors_exchange_values_at_the_end() {
    struct Sends(gosteal::Sender<u8>, Arc<AtomicUsize>);
    impl Drop for Sends {
        fn drop(&mut self) {
            self.0.send(1);
            self.1.fetch_add(1, SeqCst);
        }
    }
    struct Receives(gosteal::Receiver<u8>, Arc<AtomicUsize>);
    impl Drop for Receives {
        fn drop(&mut self) {
            assert_eq!(self.0.recv(), Some(1));
            self.1.fetch_add(1, SeqCst);
        }
    }
    for round in 0..rounds(40) {
        let rt = runtime(1 + (round % 4) as usize);
        let ended = Arc::new(AtomicUsize::new(0));
        let (tx, rx) = chan::<u8>(0);
        for i in 0..10 {
            let sends = (i % 2 == 0).then(|| Sends(tx.clone(), ended.clone()));
            let receives = (i % 2 == 1).then(|| Receives(rx.clone(), ended.clone()));
            rt.handle().go(move || {
                let _both = (sends, receives);
                gosteal::time::sleep(Duration::from_secs(3600));
            });
        }
        settle(&rt);
        rt.shutdown(LONG).unwrap();
        assert_eq!(ended.load(SeqCst), 10);
        assert!(!std::thread::panicking());
    }
}

/// FC-22: a fork that became a goroutine and never ran is dropped, and its join goes on to its end. (The join waited
/// for ever, and nothing that its goroutine owned was dropped.)
#[test]
fn fc22_a_fork_that_never_ran_ends_its_join() {
    // SAFETY: no reference into thread-local storage is held across a runtime entry.
    let rt = unsafe {
        let policy = Policy::parse("go1.26,no-preempt").unwrap();
        Runtime::builder().procs(1).policy(policy).build().unwrap()
    };
    let dropped = Arc::new(AtomicUsize::new(0));
    let [outer, a_owns, b_owns] = std::array::from_fn(|_| Counted(dropped.clone()));
    let (tx, rx) = chan::<u8>(0);
    let (running, seen) = chan::<()>(1);
    rt.handle().go(move || {
        let _outer = outer;
        go(move || {
            running.send(());
            loop {
                checkpoint();
            }
        });
        join(
            move || {
                let _owned = a_owns;
                rx.recv()
            },
            move || drop(b_owns),
        );
    });
    seen.recv();
    rt.shutdown(LONG).unwrap();
    assert_eq!(dropped.load(SeqCst), 3);
    drop(tx);
}

/// FC-22, I1 of `scope`: what a closure owns is dropped before its scope may go on, also if it never ran.
#[test]
fn fc22_a_scoped_closure_that_never_ran_is_dropped_inside_the_scope() {
    /// Unwinds at the runtime entry, so that the next destructor may stop and go on.
    struct Unwinds;
    impl Drop for Unwinds {
        fn drop(&mut self) {
            checkpoint();
        }
    }
    struct Late<'a>(&'a AtomicUsize);
    impl Drop for Late<'_> {
        fn drop(&mut self) {
            for _ in 0..3 {
                yield_now();
            }
            self.0.fetch_add(1, SeqCst);
        }
    }
    struct Check(Arc<AtomicUsize>, AtomicUsize);
    impl Drop for Check {
        fn drop(&mut self) {
            self.0.store(self.1.load(SeqCst), SeqCst);
        }
    }
    // SAFETY: no reference into thread-local storage is held across a runtime entry.
    let rt = unsafe {
        let policy = Policy::parse("go1.26,no-preempt").unwrap();
        Runtime::builder().procs(1).policy(policy).build().unwrap()
    };
    let seen = Arc::new(AtomicUsize::new(0));
    let s = seen.clone();
    let (running, wait) = chan::<()>(1);
    rt.handle().go(move || {
        let check = Check(s, AtomicUsize::new(0));
        scope(|s| {
            let owned = (Unwinds, Late(&check.1));
            s.spawn(move |_| drop(owned));
            go(move || {
                running.send(());
                loop {
                    checkpoint();
                }
            });
        });
    });
    wait.recv();
    rt.shutdown(LONG).unwrap();
    assert_eq!(seen.load(SeqCst), 1);
}

/// I3 of `join`: who blocks in the kernel without his P offers nothing any more: the other half runs, also on one P, and
/// may be what he waits for. (It was stranded until he came back.)
#[test]
fn sc7_a_fork_runs_while_its_forker_blocks_in_the_kernel() {
    watched("sc7", |_| {
        for procs in [1, 2] {
            runtime(procs).block_on(|| {
                let (sender, receiver) = std::sync::mpsc::channel();
                let wait = move || gosteal::blocking(move || receiver.recv().unwrap());
                assert_eq!(join(wait, move || sender.send(1).unwrap()).0, 1);
                let (sender, receiver) = std::sync::mpsc::channel();
                let wait = move || gosteal::syscall(move || receiver.recv().unwrap());
                assert_eq!(join(wait, move || sender.send(2).unwrap()).0, 2);
            });
        }
    });
}

/// M-5: ending a runtime needs no worker beyond the limit. (It ended the process: "thread exhaustion".)
#[test]
fn m5_the_end_of_a_runtime_is_not_counted_as_a_worker() {
    // SAFETY: no reference into thread-local storage is held across a runtime entry.
    let rt = unsafe { Runtime::builder().procs(1).max_threads(1).build() }.unwrap();
    assert_eq!(rt.block_on(|| 7), 7);
    rt.shutdown(LONG).unwrap();
}

/// RW-1: a reader whose runtime ends while it waits is counted off again. (The lock counted it for ever: the next
/// writer of another thread hung.)
#[test]
fn rw1_a_reader_that_is_cut_short_leaves_the_lock_usable() {
    watched("rw1", |_| {
        let lock = Arc::new(RwLock::new(0));
        let held = lock.write();
        let rt = runtime(1);
        for _ in 0..3 {
            let l = lock.clone();
            rt.handle().go(move || assert_eq!(*l.read(), 0));
        }
        rt.handle().go(|| ());
        settle(&rt);
        rt.shutdown(LONG).unwrap();
        drop(held);
        *lock.write() += 1;
        assert_eq!(*lock.read(), 1);
    });
}

/// MUTEX-4, MUTEX-5: a lock survives the runtimes that wait for it: one holder at a time, nobody forgotten. (Unlock went
/// on waking, and handing over to, waiters who were gone.)
#[test]
fn mutex5_a_lock_survives_the_runtimes_that_use_it() {
    let lock = Arc::new(Mutex::new(0u64));
    let inside = Arc::new(AtomicUsize::new(0));
    watched("mutex5", |progress| {
        let stop = Arc::new(AtomicBool::new(false));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (lock, inside, stop) = (lock.clone(), inside.clone(), stop.clone());
                std::thread::spawn(move || {
                    while !stop.load(Relaxed) {
                        hold(&lock, &inside)
                    }
                })
            })
            .collect();
        for _ in 0..rounds(40) {
            let rt = runtime(2);
            for _ in 0..6 {
                let (lock, inside) = (lock.clone(), inside.clone());
                rt.handle().go(move || {
                    loop {
                        hold(&lock, &inside)
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(3)); // Long enough for somebody to starve.
            rt.shutdown(LONG).unwrap();
            let before = *lock.lock();
            while *lock.lock() == before {
                std::thread::yield_now();
            }
            progress.fetch_add(1, Relaxed);
        }
        stop.store(true, SeqCst);
        threads.into_iter().for_each(|t| t.join().unwrap());
    });
}

fn hold(lock: &Mutex<u64>, inside: &AtomicUsize) {
    let mut n = lock.lock();
    assert_eq!(inside.fetch_add(1, SeqCst), 0, "two hold the lock");
    *n += 1;
    for _ in 0..20_000 {
        std::hint::spin_loop();
    }
    inside.fetch_sub(1, SeqCst);
}

/// RW-1: a writer that waits for a reader leaves with its runtime: the reader's end reopens the lock.
#[test]
fn rw1_a_writer_that_is_cut_short_leaves_the_lock_usable() {
    watched("rw1 (writer)", |_| {
        let lock = Arc::new(RwLock::new(0));
        let held = lock.read();
        let rt = runtime(1);
        let l = lock.clone();
        rt.handle().go(move || *l.write() += 1);
        let l = lock.clone();
        rt.handle().go(move || assert_eq!(*l.read(), 0));
        rt.handle().go(|| ());
        settle(&rt);
        rt.shutdown(LONG).unwrap();
        drop(held);
        *lock.write() += 1;
        assert_eq!(*lock.read(), 1);
    });
}

/// RW-1: readers and writers of a runtime that ends, beside threads that go on.
#[test]
fn rw1_a_lock_survives_the_runtimes_that_use_it() {
    let lock = Arc::new(RwLock::new([0u64; 2]));
    let both = |lock: &RwLock<[u64; 2]>, write: bool| {
        if write {
            let mut pair = lock.write();
            pair[0] += 1;
            std::hint::spin_loop();
            pair[1] += 1;
        } else {
            let pair = lock.read();
            assert_eq!(pair[0], pair[1]);
        }
    };
    watched("rw1 (mixed)", |progress| {
        let stop = Arc::new(AtomicBool::new(false));
        let threads: Vec<_> = (0..3)
            .map(|i| {
                let (lock, stop) = (lock.clone(), stop.clone());
                std::thread::spawn(move || {
                    while !stop.load(Relaxed) {
                        both(&lock, i == 0)
                    }
                })
            })
            .collect();
        for _ in 0..rounds(100) {
            let rt = runtime(2);
            for i in 0..8 {
                let lock = lock.clone();
                rt.handle().go(move || {
                    loop {
                        both(&lock, i % 3 == 0)
                    }
                });
            }
            std::thread::sleep(Duration::from_micros(300));
            rt.shutdown(LONG).unwrap();
            progress.fetch_add(1, Relaxed);
        }
        stop.store(true, SeqCst);
        threads.into_iter().for_each(|t| t.join().unwrap());
        *lock.write() = [0; 2];
    });
}

/// WG-1: a waiter whose runtime ends is counted off again.
#[test]
fn wg1_a_waiter_that_is_cut_short_leaves_the_group_usable() {
    let wg = WaitGroup::new();
    wg.add(1);
    let rt = runtime(1);
    let w = wg.clone();
    rt.handle().go(move || w.wait());
    rt.handle().go(|| ());
    settle(&rt);
    rt.shutdown(LONG).unwrap();
    wg.done();
    wg.add(1);
    let w = wg.clone();
    let done = std::thread::spawn(move || w.done());
    wg.wait();
    done.join().unwrap();
}

/// FC-22: two runtimes end at random moments while their goroutines talk to each other and to plain threads through
/// everything there is. Every value is dropped once, and the threads' locks still work.
#[test]
fn fc22_two_runtimes_end_amid_everything() {
    watched("fc22 (everything)", |progress| {
        for round in 0..rounds(120) {
            let rts = [runtime(1 << (round % 4)), runtime(1 + (round % 3) as usize)];
            let shared = Shared::new((round % 3) as usize);
            let stop = Arc::new(AtomicBool::new(false));
            let threads = [0, 1].map(|i| {
                let (shared, stop) = (shared.clone(), stop.clone());
                std::thread::spawn(move || {
                    while !stop.load(Relaxed) {
                        shared.outside_step(i);
                    }
                })
            });
            for k in 0..30 {
                for rt in &rts {
                    let shared = shared.clone();
                    let owned = shared.value();
                    rt.handle().go(move || {
                        let _owned = owned;
                        let mut x = round * 31 + k;
                        loop {
                            x = x.wrapping_mul(6364136223846793005).wrapping_add(1);
                            shared.step(x >> 40);
                        }
                    });
                }
            }
            std::thread::sleep(Duration::from_micros(round * 7919 % 3000));
            for rt in rts {
                rt.shutdown(LONG).unwrap();
            }
            stop.store(true, SeqCst);
            threads.into_iter().for_each(|t| t.join().unwrap());
            let alive = shared.alive.clone();
            drop(shared);
            assert_eq!(alive.load(SeqCst), 0, "round {round}");
            assert!(!std::thread::panicking());
            progress.fetch_add(1, Relaxed);
        }
    });
}

/// A value that is counted while it lives.
struct Alive(Arc<AtomicUsize>);
impl Drop for Alive {
    fn drop(&mut self) {
        assert!(self.0.fetch_sub(1, SeqCst) > 0, "dropped twice");
    }
}

#[derive(Clone)]
struct Shared {
    alive: Arc<AtomicUsize>,
    tx: gosteal::Sender<Alive>,
    rx: gosteal::Receiver<Alive>,
    lock: Arc<Mutex<u64>>,
    pair: Arc<RwLock<u64>>,
}

impl Shared {
    fn new(cap: usize) -> Shared {
        let (tx, rx) = chan(cap);
        let (lock, pair) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
        Shared { alive: Arc::new(AtomicUsize::new(0)), tx, rx, lock, pair }
    }

    fn value(&self) -> Alive {
        self.alive.fetch_add(1, SeqCst);
        Alive(self.alive.clone())
    }

    fn outside_step(&self, i: u32) {
        if i == 0 {
            let _ = self.tx.try_send(self.value());
            *self.lock.lock() += 1;
        } else {
            let _ = self.rx.try_recv();
            *self.pair.write() += 1;
            std::hint::black_box(*self.pair.read());
        }
    }

    fn step(&self, r: u64) {
        let rx = self.rx.clone();
        match r % 14 {
            0 => drop(rx.recv()),
            1 => self.tx.send(self.value()),
            2 => gosteal::select! {
                recv(rx) -> _ => {}
                send(self.tx, self.value()) => {}
            },
            3 => gosteal::time::sleep(Duration::from_micros(r % 300)),
            4 => *self.lock.lock() += 1,
            5 => *self.pair.write() += 1,
            6 => drop(std::hint::black_box(self.pair.read())),
            7 => {
                let owned = self.value();
                join(move || drop((rx.recv(), owned)), yield_now);
            }
            8 => scope(|s| {
                for _ in 0..3 {
                    s.spawn(|_| drop(self.rx.recv()));
                }
            }),
            9 => drop(spawn(yield_now).join()),
            10 => gosteal::blocking(std::thread::yield_now),
            11 => go(move || drop(rx.recv())),
            12 => {
                let owned = self.value();
                let panics = move || -> () {
                    let _owned = owned;
                    std::panic::resume_unwind(Box::new(1u8))
                };
                assert!(spawn(panics).join().is_err());
            }
            _ => {
                let due = gosteal::time::after(Duration::from_micros(r % 500));
                gosteal::select! { recv(due) -> _ => {} recv(rx) -> _ => {} }
            }
        }
    }
}
