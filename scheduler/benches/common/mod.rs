//! The operations that both suites time, each `n` times, on the goroutine that calls.
#![allow(dead_code, reason = "each suite uses a part")]
use gosteal::sync::WaitGroup;
use gosteal::{Runtime, chan, go, yield_now};
use std::hint::black_box;
use std::time::{Duration, Instant};

pub(crate) fn runtime(procs: usize) -> Runtime {
    // SAFETY: the benches hold no reference into thread-local storage across a runtime entry.
    unsafe { Runtime::builder().procs(procs).build() }.expect("a runtime")
}

pub(crate) fn timed(f: impl FnOnce()) -> Duration {
    let start = Instant::now();
    f();
    start.elapsed()
}

pub(crate) fn ping_pong(n: u64) -> Duration {
    let ((to, from), (back, echo)) = (chan::<u64>(0), chan::<u64>(0));
    go(move || {
        while let Some(v) = from.recv() {
            back.send(v);
        }
    });
    let took = timed(|| {
        for i in 0..n {
            to.send(i);
            black_box(echo.recv());
        }
    });
    to.close();
    took
}

pub(crate) fn go_finish(n: u64) -> Duration {
    let wg = WaitGroup::new();
    timed(|| {
        for done in (0..n).step_by(200) {
            let size = 200.min(n - done);
            wg.add(size as i32);
            for _ in 0..size {
                let wg = wg.clone();
                go(move || wg.done());
            }
            wg.wait();
        }
    })
}

pub(crate) fn go_finish_all(n: u64) -> Duration {
    let wg = WaitGroup::new();
    timed(|| {
        wg.add(n as i32);
        for _ in 0..n {
            let wg = wg.clone();
            go(move || wg.done());
        }
        wg.wait();
    })
}

pub(crate) fn yields(n: u64) -> Duration {
    timed(|| (0..n).for_each(|_| yield_now()))
}
