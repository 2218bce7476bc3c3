//! When can nobody run any more, and how does a process end? Spec: DEAD-1 to DEAD-7, EXIT-2, EXIT-3.
//! Go: `checkdead`, `fatalthrow`, `printpanics`.
//!
//! # Invariants
//! - I1 A report is certain: with [`DeadlockReport::Auto`] it is made only if no thread exists that the
//!   runtime does not know, since such a thread may hold the channel end that wakes everybody.
//! # Not here
//! Waiting on I/O (no netpoller yet) as a reason to go on.
//!
//! Difference from Go, by necessity: Go knows every thread of its process, a library does not. Go itself
//! gives up the check when foreign threads may call in (cgo).

use crate::sched::state::Sched;
use crate::shim::Ordering::Relaxed;
use crate::task::{WaitReason, status};
use std::any::Any;
use std::io::Write;

/// Whether a runtime in which nobody can run any more ends the process with Go's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlockReport {
    /// Yes, if every thread of the process belongs to this runtime or waits in its `block_on`. A thread of
    /// unknown purpose (a test harness, another pool) may yet send on a channel: then no report.
    Auto,
    /// Yes: the program promises that no other thread makes goroutines ready.
    Always,
    /// No: the runtime waits.
    Never,
}

/// Called when a worker parks. Spec: DEAD-1, DEAD-2.
pub(crate) fn check(sched: &Sched) {
    if sched.deadlock == DeadlockReport::Never {
        return;
    }
    let (dead, known) = sched.locked(|c| {
        let idle = c.idle_m.len() as isize + c.idle_locked;
        let running = (c.workers.len() - c.ended) as isize - idle;
        let work_left = !c.queue.is_empty() || c.callers <= 0;
        let dead = running == 0 && !work_left && !sched.stop.load(Relaxed); // Ordering: under the lock.
        (dead, (c.workers.len() - c.ended) + 1 + c.callers.max(0) as usize)
    });
    // A sleeper or a timer will go on (DEAD-5).
    if !dead || sched.procs.iter().any(|p| p.timers.deadline() != 0) {
        return;
    }
    if sched.deadlock == DeadlockReport::Auto && thread_count().is_none_or(|n| n > known) {
        return;
    }
    report(sched);
}

/// Threads of this process, where the system tells.
fn thread_count() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/task").ok()?.count())
}

/// Spec: DEAD-3, DEAD-4, then each goroutine with what it waits for.
fn report(sched: &Sched) -> ! {
    let arena = sched.arena.lock();
    let mut lines = Vec::new();
    let mut lost = Vec::new();
    for g in arena.all() {
        // Ordering: everybody is parked.
        match g.status.load(Relaxed) {
            status::WAITING => {
                let reason = WaitReason::text(g.wait_reason.load(Relaxed));
                lines.push((g.id.load(Relaxed), reason));
            }
            status::IDLE | status::DEAD => {}
            other => lost.push(format!("goroutine {} has status {other}", g.id.load(Relaxed))),
        }
    }
    if !lost.is_empty() {
        // DEAD-2: an internal error. Nobody runs, but somebody could.
        lost.extend(sched.procs.iter().map(|p| {
            let (ring, next) = (p.ring.len(), p.ring.has_next());
            format!("P{} status {} ring {ring} next {next}", p.id, p.status.load(Relaxed)) // As above.
        }));
        fatal(&[&format!("fatal error: checkdead: {}", lost.join("; "))]);
    }
    lines.sort_unstable();
    let head = if lines.is_empty() {
        "fatal error: no goroutines (main called runtime.Goexit) - deadlock!"
    } else {
        "fatal error: all goroutines are asleep - deadlock!"
    };
    let mut text = vec![head.to_string()];
    for (id, reason) in lines {
        text.extend([String::new(), format!("goroutine {id} [{reason}]:")]);
    }
    fatal(&text.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Prints and ends the process with status 2. Spec: EXIT-3.
#[allow(clippy::print_stderr, reason = "the last words of the process")]
pub(crate) fn fatal(lines: &[&str]) -> ! {
    let mut err = std::io::stderr().lock();
    for line in lines {
        let _ = writeln!(err, "{line}"); // A closed stderr cannot be helped.
    }
    let _ = err.flush();
    // SAFETY: ends the process without running handlers of a broken program.
    unsafe { libc::_exit(2) }
}

/// A panic that nobody takes back. Spec: EXIT-2. The panic hook has printed the place and, if asked for, the
/// trace.
pub(crate) fn fatal_panic(id: u64, payload: &(dyn Any + Send)) -> ! {
    let text = panic_text(payload);
    fatal(&[&format!("panic: {text}"), "", &format!("goroutine {id} [running]:")])
}

/// The message of a payload, as Go would print it.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(a value that is not a string)")
}
