//! The public API does what it says, on 1, 2, 4 and 8 Ps.
use gosteal::sync::{Mutex, RwLock, WaitGroup};
use gosteal::{Runtime, chan, go, join, scope, select, spawn, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn on<T: Send>(procs: usize, f: impl FnOnce() -> T + Send) -> T {
    // SAFETY: the tests hold no reference into thread-local storage across a runtime entry.
    let rt = unsafe { Runtime::builder().procs(procs).build() }.unwrap();
    rt.block_on(f)
}

fn on_each(f: impl Fn() + Send + Sync) {
    for procs in [1, 2, 4, 8] {
        on(procs, &f);
    }
}

#[test]
fn new1_a_thousand_goroutines_finish() {
    on_each(|| {
        let n = Arc::new(AtomicUsize::new(0));
        let wg = WaitGroup::new();
        for _ in 0..1000 {
            let n = n.clone();
            wg.go(move || {
                n.fetch_add(1, Relaxed);
            });
        }
        wg.wait();
        assert_eq!(n.load(Relaxed), 1000);
    });
}

#[test]
fn chan5_unbuffered_ping_pong() {
    on_each(|| {
        let ((to, from), (back, echo)) = (chan(0), chan(0));
        go(move || {
            while let Some(n) = from.recv() {
                back.send(n + 1);
            }
        });
        for n in 0..10_000u64 {
            to.send(n);
            assert_eq!(echo.recv(), Some(n + 1));
        }
        to.close();
    });
}

#[test]
fn join_fib_is_right() {
    fn fib(n: u32) -> u64 {
        if n < 2 {
            return u64::from(n);
        }
        let (a, b) = join(|| fib(n - 1), || fib(n - 2));
        a + b
    }
    on_each(|| assert_eq!(fib(22), 17711));
}

#[test]
fn scope_borrows() {
    on_each(|| {
        let mut cells = vec![0u64; 100];
        scope(|s| {
            for (i, cell) in cells.iter_mut().enumerate() {
                s.spawn(move |_| {
                    yield_now();
                    *cell = i as u64;
                });
            }
        });
        assert_eq!(cells.iter().sum::<u64>(), 4950);
    });
}

#[test]
fn handle_returns_value_and_panic() {
    on_each(|| {
        assert_eq!(spawn(|| 7).join().unwrap(), 7);
        let payload = spawn(|| panic!("boom")).join().unwrap_err();
        assert_eq!(*payload.downcast_ref::<&str>().unwrap(), "boom");
    });
}

#[test]
fn sel_macro_forms() {
    on_each(|| {
        let (tx, rx) = chan::<u32>(1);
        let (done_tx, done) = chan::<()>(0);
        let none = select! { recv(rx) -> v => v, default => Some(99) };
        assert_eq!(none, Some(99));
        select! {
            send(tx, 5) => {}
            recv(done) -> _ => panic!("nobody is done"),
        }
        let got = select! { recv(rx) -> v => v, recv(done) -> _ => None };
        assert_eq!(got, Some(5));
        go(move || done_tx.close());
        select! { recv(rx) -> _v => unreachable!(), recv(done) -> v => assert!(v.is_none()) }
    });
}

#[test]
fn mutex_rwlock_sleep() {
    on_each(|| {
        let (m, rw) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
        let wg = WaitGroup::new();
        for i in 0..100 {
            let (m, rw) = (m.clone(), rw.clone());
            wg.go(move || {
                for _ in 0..50 {
                    *m.lock() += 1;
                    if i % 10 == 0 {
                        *rw.write() += 1;
                    } else {
                        std::hint::black_box(*rw.read());
                    }
                }
                gosteal::time::sleep(std::time::Duration::from_millis(1));
            });
        }
        wg.wait();
        assert_eq!((*m.lock(), *rw.read()), (5000, 500));
    });
}
