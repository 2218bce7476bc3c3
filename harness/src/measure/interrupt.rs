//! harness/src/measure/interrupt.rs: Ctrl-C. Question: does the user want the session to end after this
//! epoch, or at once?
//!
//! The signals land in a pipe and are counted when somebody asks: no thread, no flag shared with a
//! handler, nothing that could disturb a timed slot.

use std::cell::{Cell, RefCell};
use std::io;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Counts interrupts since it was made.
pub struct Interrupts {
    signals: RefCell<Signals>,
    seen: Cell<usize>,
}

impl Interrupts {
    /// From now on, Ctrl-C and SIGTERM no longer end the process by themselves.
    ///
    /// # Errors
    /// If the handlers cannot be set.
    pub fn catch() -> io::Result<Interrupts> {
        let signals = RefCell::new(Signals::new([SIGINT, SIGTERM])?);
        Ok(Interrupts { signals, seen: Cell::new(0) })
    }

    fn count(&self) -> usize {
        let new = self.signals.borrow_mut().pending().count();
        if new > 0 && self.seen.get() == 0 {
            anstream::eprintln!("stealbench: ending after this epoch; once more to stop now");
        }
        self.seen.set(self.seen.get() + new);
        self.seen.get()
    }

    /// At least one: end after the current epoch.
    pub fn asked(&self) -> bool {
        self.count() >= 1
    }

    /// At least two: end now.
    pub fn at_once(&self) -> bool {
        self.count() >= 2
    }
}
