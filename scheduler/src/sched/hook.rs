//! A panic's text names the goroutine. Spec: EXIT-2; FC-69.
//!
//! The hook that was there before still prints the message and the trace; a line before it says whose
//! panic this is.

use crate::sched::park::current;
use crate::shim::Ordering::Relaxed;
use std::panic;
use std::sync::Once;

/// Once a process, at the first runtime.
pub(crate) fn install() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            name_goroutine();
            before(info);
        }));
    });
}

#[allow(clippy::print_stderr, reason = "panic text")]
fn name_goroutine() {
    let Some(m) = current() else { return };
    let g = m.cur.load(Relaxed); // Ordering: own store.
    // SAFETY: the running goroutine is live.
    if let Some(g) = unsafe { g.as_ref() } {
        eprintln!("goroutine {} on worker {}:", g.id.load(Relaxed), m.id);
    }
}
