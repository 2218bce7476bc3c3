//! What does one operation cost? Question for each: how many nanoseconds, on 1 and 2 Ps, warm.
//!
//! A guard against regression; it claims nothing about real programs. `cargo bench -p gosteal --bench ops`.
mod common;
use common::{go_finish, ping_pong, runtime, timed, yields};
use criterion::{Criterion, criterion_group, criterion_main};
use gosteal::sync::Mutex;
use gosteal::{chan, join, scope, select, spawn};
use std::hint::black_box;
use std::time::Duration;

/// Measures `body(iterations)` inside a goroutine: the clock starts and stops there.
fn bench(c: &mut Criterion, name: &str, procs: usize, body: impl Fn(u64) -> Duration + Sync) {
    let rt = runtime(procs);
    c.bench_function(&format!("{name}/p{procs}"), |b| b.iter_custom(|n| rt.block_on(|| body(n))));
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn operations(c: &mut Criterion) {
    for procs in [1, 2] {
        bench(c, "ping-pong/unbuffered", procs, ping_pong);
        bench(c, "go-finish", procs, go_finish);
        bench(c, "yield/alone", procs, yields);
        bench(c, "spawn-join", procs, |n| {
            timed(|| (0..n).for_each(|i| drop(black_box(spawn(move || i).join()))))
        });
        bench(c, "join/empty", procs, |n| {
            timed(|| (0..n).for_each(|i| _ = black_box(join(|| i, || i))))
        });
        bench(c, "join/fib-20-per-fork", procs, |n| {
            let took = timed(|| (0..n.div_ceil(10_945)).for_each(|_| _ = black_box(fib(20))));
            took.mul_f64(n as f64 / (n.div_ceil(10_945) * 10_945) as f64)
        });
        bench(c, "scope/one", procs, |n| {
            timed(|| (0..n).for_each(|_| scope(|s| s.spawn(|_| _ = black_box(1)))))
        });
    }
    bench(c, "chan/buffered-send-recv", 1, |n| {
        let (tx, rx) = chan::<u64>(128);
        timed(|| {
            for i in 0..n {
                tx.send(i);
                black_box(rx.recv());
            }
        })
    });
    bench(c, "select/two-ready", 1, |n| {
        let ((atx, arx), (btx, brx)) = (chan::<u64>(1), chan::<u64>(1));
        timed(|| {
            for i in 0..n {
                atx.send(i);
                btx.send(i);
                select! { recv(arx) -> v => _ = black_box(v), recv(brx) -> v => _ = black_box(v) }
                let _ = (arx.try_recv(), brx.try_recv());
            }
        })
    });
    bench(c, "mutex/uncontended", 1, |n| {
        let m = Mutex::new(0u64);
        timed(|| (0..n).for_each(|i| *m.lock() += i))
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = operations
}
criterion_main!(benches);
