//! How a process ends: panics, fatal errors, deadlock, stack overflow, each in a child process.
//! Spec: EXIT-2, EXIT-3, DEAD-3, DEAD-4, CHAN-9, MUTEX-6, RW-2, NEW-6; FC-24, FC-29.
//!
//! Method: a test runs its own binary again with its name and a variable that says "you are the child".
use gosteal::{DeadlockReport, Runtime, chan, go, nil_chan};
use std::process::{Command, Output};

const CHILD: &str = "GOSTEAL_TEST_CHILD";

/// In the child: runs `body` and exits 0. In the parent: runs the child and returns what became of it.
fn child(name: &str, body: impl FnOnce()) -> Option<Output> {
    if std::env::var_os(CHILD).is_some() {
        body();
        std::process::exit(0);
    }
    let exe = std::env::current_exe().unwrap();
    let args = [name, "--exact", "--nocapture", "--test-threads=1"];
    Some(Command::new(exe).args(args).env(CHILD, "1").env("RUST_BACKTRACE", "0").output().unwrap())
}

fn stderr(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

fn runtime(procs: usize) -> Runtime {
    // The child's only foreign thread is the test harness's, which wakes nobody.
    let builder = Runtime::builder().procs(procs).deadlock(DeadlockReport::Always);
    // SAFETY: no reference into thread-local storage is held across a runtime entry.
    unsafe { builder.build() }.unwrap()
}

fn ends_with_2(name: &str, texts: &[&str], body: impl FnOnce()) {
    let Some(out) = child(name, body) else { return };
    let err = stderr(&out);
    assert_eq!(out.status.code(), Some(2), "{name}: {err}");
    for text in texts {
        assert!(err.contains(text), "{name}: no {text:?} in {err}");
    }
}

#[test]
fn exit2_panic_in_a_goroutine_ends_the_process() {
    ends_with_2(
        "exit2_panic_in_a_goroutine_ends_the_process",
        &["panic: boom 7\n\ngoroutine "],
        || {
            runtime(2).block_on(|| {
                go(|| panic!("boom {}", 7));
                loop {
                    gosteal::yield_now();
                }
            });
        },
    );
}

#[test]
fn chan9_send_on_closed_channel() {
    ends_with_2("chan9_send_on_closed_channel", &["panic: send on closed channel"], || {
        runtime(1).block_on(|| {
            let (tx, rx) = chan(1);
            tx.close();
            go(move || tx.send(1));
            gosteal::yield_now();
            drop(rx);
        });
    });
}

#[test]
fn chan9_close_of_closed_and_of_nil_channel() {
    let text = "panic: close of closed channel";
    ends_with_2("chan9_close_of_closed_and_of_nil_channel", &[text], || {
        runtime(1).block_on(|| {
            let (nil, _) = nil_chan::<u8>();
            let payload = gosteal::spawn(move || nil.close()).join().unwrap_err();
            assert_eq!(*payload.downcast_ref::<&str>().unwrap(), "close of nil channel");
            let (tx, _rx) = chan::<u8>(0);
            tx.close();
            go(move || tx.close());
            gosteal::yield_now();
        });
    });
}

#[test]
fn dead3_all_goroutines_asleep() {
    let texts = [
        "fatal error: all goroutines are asleep - deadlock!",
        "[chan receive]:",
        "[select]:",
        "[chan send (nil chan)]:",
        "[sync.WaitGroup.Wait]:",
        "[sync.Mutex.Lock]:",
    ];
    ends_with_2("dead3_all_goroutines_asleep", &texts, || {
        runtime(2).block_on(|| {
            let ((_a, arx), (_b, brx), (nil, _)) = (chan::<u8>(0), chan::<u8>(0), nil_chan::<u8>());
            let crx = arx.clone();
            go(move || gosteal::select! { recv(crx) -> _ => {}, recv(brx) -> _ => {} });
            go(move || nil.send(1));
            let wg = gosteal::sync::WaitGroup::new();
            wg.add(1);
            go(move || wg.wait());
            go(|| {
                let m = gosteal::sync::RawMutex::new();
                m.lock();
                m.lock();
            });
            arx.recv();
        });
    });
}

/// Goal: the default finds a deadlock in an ordinary program, all of whose threads it knows. Method: after a
/// fork the calling thread is the only one, as in a fresh `main`.
#[test]
fn dead2_auto_reports_in_an_ordinary_program() {
    let texts = ["all goroutines are asleep", "[select (no cases)]:"];
    ends_with_2("dead2_auto_reports_in_an_ordinary_program", &texts, || {
        // SAFETY: the child uses only what glibc keeps usable after a fork (its allocator, new threads).
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: no reference into thread-local storage is held across a runtime entry.
            let rt = unsafe { Runtime::builder().procs(2).build() }.unwrap();
            rt.block_on(|| {
                let (_tx, rx) = chan::<()>(0);
                go(|| gosteal::select! {});
                rx.recv();
            });
            std::process::exit(0);
        }
        let mut status = 0;
        // SAFETY: our own child.
        unsafe { libc::waitpid(pid, &raw mut status, 0) };
        std::process::exit(libc::WEXITSTATUS(status));
    });
}

/// Goal: with a thread that the runtime does not know, no report: it may yet send.
#[test]
fn dead2_auto_waits_for_a_foreign_thread() {
    // SAFETY: no reference into thread-local storage is held across a runtime entry.
    let rt = unsafe { Runtime::builder().procs(1).build() }.unwrap();
    let (tx, rx) = chan(0);
    let (go_on, wait) = std::sync::mpsc::channel();
    let sender = std::thread::spawn(move || {
        wait.recv().unwrap();
        tx.send(5);
    });
    let h = rt.handle();
    let watch = std::thread::spawn(move || {
        while h.metrics().idle_procs < 1 || h.metrics().parks < 1 {
            std::thread::yield_now();
        }
        go_on.send(()).unwrap();
    });
    assert_eq!(rt.block_on(move || rx.recv()), Some(5));
    sender.join().unwrap();
    watch.join().unwrap();
}

#[test]
fn mutex6_unlock_of_unlocked_mutex() {
    ends_with_2(
        "mutex6_unlock_of_unlocked_mutex",
        &["fatal error: sync: unlock of unlocked mutex"],
        || {
            runtime(1).block_on(|| gosteal::sync::RawMutex::new().unlock());
        },
    );
}

#[test]
fn rw2_unlock_of_unlocked_rwmutex() {
    let text = "fatal error: sync: RUnlock of unlocked RWMutex";
    ends_with_2("rw2_unlock_of_unlocked_rwmutex", &[text], || {
        runtime(1).block_on(|| gosteal::sync::RawRwLock::new().read_unlock());
    });
}

/// FC-29 (1), (3): recursion past the end, with 1,000 others.
#[test]
fn fc29_recursion_past_the_stack_names_the_goroutine() {
    #[allow(unconditional_recursion, reason = "the case")]
    fn down(n: u64) -> u64 {
        std::hint::black_box(down(std::hint::black_box(n + 1))) + 1
    }
    let texts = ["runtime: goroutine ", "-byte limit", "stack_size", "fatal error: stack overflow"];
    ends_with_2("fc29_recursion_past_the_stack_names_the_goroutine", &texts, || {
        runtime(4).block_on(|| {
            let (_tx, rx) = chan::<u8>(0);
            for _ in 0..1000 {
                let rx = rx.clone();
                go(move || assert_eq!(rx.recv(), None));
            }
            gosteal::yield_now();
            down(0);
        });
    });
}

/// FC-29 (2): one frame larger than the smallest stack does not jump over the guard.
#[test]
fn fc29_one_big_frame_meets_the_guard() {
    #[inline(never)]
    fn big() -> u8 {
        let mut array = [0u8; 256 << 10];
        std::hint::black_box(&mut array)[7] = 1;
        array[7]
    }
    ends_with_2("fc29_one_big_frame_meets_the_guard", &["fatal error: stack overflow"], || {
        let builder = Runtime::builder().procs(1).stack_size(gosteal::MIN_STACK_BYTES);
        // SAFETY: no reference into thread-local storage is held across a runtime entry.
        let rt = unsafe { builder.build() }.unwrap();
        rt.block_on(big);
    });
}

/// A fault that is not a goroutine's guard still dies by its signal.
#[test]
fn fc29_other_faults_are_passed_on() {
    use std::os::unix::process::ExitStatusExt;
    let Some(out) = child("fc29_other_faults_are_passed_on", || {
        runtime(1).block_on(|| {
            // SAFETY: none: the point is the fault.
            unsafe { std::ptr::with_exposed_provenance_mut::<u8>(8).write_volatile(1) }
        });
    }) else {
        return;
    };
    assert_eq!(out.status.signal(), Some(11), "{}", stderr(&out));
}

/// M-5.
#[test]
fn m5_thread_limit() {
    let texts = ["runtime: program exceeds 3-thread limit", "fatal error: thread exhaustion"];
    ends_with_2("m5_thread_limit", &texts, || {
        // SAFETY: no reference into thread-local storage is held across a runtime entry.
        let rt = unsafe { Runtime::builder().procs(1).max_threads(3).build() }.unwrap();
        rt.block_on(|| {
            for _ in 0..10 {
                go(|| gosteal::blocking(std::thread::park));
            }
            loop {
                gosteal::yield_now();
            }
        });
    });
}

/// WG-3: a panic is not done: nobody goes on as if the work were there. Method: many waiters, so that the first could
/// end the process while the others are being woken.
#[test]
fn wg3_a_panic_is_not_done() {
    ends_with_2("wg3_a_panic_is_not_done", &["panic: boom"], || {
        runtime(2).block_on(|| {
            let wg = gosteal::sync::WaitGroup::new();
            wg.add(1);
            for _ in 0..5_000 {
                let wg = wg.clone();
                go(move || {
                    wg.wait();
                    std::process::exit(0);
                });
            }
            gosteal::yield_now();
            wg.go(|| panic!("boom"));
            wg.done();
            wg.wait();
        });
    });
}

/// DEAD-4: the main goroutine left by goexit, nobody else is there.
#[test]
fn dead4_goexit_in_main() {
    let text = "fatal error: no goroutines (main called runtime.Goexit) - deadlock!";
    ends_with_2("dead4_goexit_in_main", &[text], || {
        runtime(1).block_on(|| -> () { gosteal::goexit() });
    });
}

/// FC-69: the text of a panic names the goroutine.
#[test]
fn fc69_panic_text_names_the_goroutine() {
    ends_with_2(
        "fc69_panic_text_names_the_goroutine",
        &["goroutine ", " on worker ", "boom"],
        || {
            runtime(1).block_on(|| {
                go(|| panic!("boom"));
                gosteal::yield_now();
            });
        },
    );
}
