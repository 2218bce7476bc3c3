//! What happens when a goroutine runs past the end of its stack: a clean end with its number.
//! Spec: NEW-6, EXIT-3. Go: `newstack`, "stack overflow".
//!
//! # Invariants
//! - I1 The handler only reads and calls async-signal-safe functions; it never returns for a goroutine's
//!   guard, so damaged memory is never run on.
//! - I2 Any other fault goes to the handler that was there before (Rust's own, or the user's).

use crate::coro::stack;
use std::mem::MaybeUninit;
use std::sync::Once;

/// Reads the goroutine's number from a header. Installed by `task`, which knows the layout.
pub(crate) type IdOf = fn(header: *mut u8) -> u64;

static INSTALL: Once = Once::new();
static mut ID_OF: Option<IdOf> = None;
static mut BEFORE: [MaybeUninit<libc::sigaction>; 2] = [MaybeUninit::uninit(); 2];
const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Installs the handler, once a process.
pub(crate) fn install(id_of: IdOf) {
    INSTALL.call_once(|| {
        // SAFETY: written once, here, before the handler can run.
        unsafe { ID_OF = Some(id_of) };
        for (i, signal) in SIGNALS.into_iter().enumerate() {
            let mut action = MaybeUninit::<libc::sigaction>::zeroed();
            let before = &raw mut BEFORE;
            // SAFETY: zeroed is a valid sigaction; its fields are set before use; the slot is ours.
            unsafe {
                let a = &mut *action.as_mut_ptr();
                a.sa_sigaction = on_fault as *const () as usize;
                a.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigaction(signal, action.as_ptr(), (*before)[i].as_mut_ptr());
            }
        }
    });
}

extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a valid siginfo.
    let address = unsafe { (*info).si_addr() } as usize;
    if let Some(hit) = stack::find(address).filter(|h| h.in_guard) {
        report(&hit);
    }
    pass_on(signal, info, context);
}

fn report(hit: &stack::Hit) -> ! {
    // SAFETY: set before the handler was installed.
    let id = unsafe { ID_OF }.map_or(0, |id_of| id_of(hit.header));
    let mut line = Line::new();
    line.text("runtime: goroutine ");
    line.number(id);
    line.text(" stack exceeds ");
    line.number(hit.usable as u64);
    line.text(
        "-byte limit\nruntime: raise it with Builder::stack_size\nfatal error: stack overflow\n\n",
    );
    line.text("goroutine ");
    line.number(id);
    line.text(" [running]:\n");
    line.write();
    // SAFETY: async-signal-safe.
    unsafe { libc::_exit(2) }
}

/// Calls the handler that was there before, or lets the default action happen. I2.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let i = usize::from(signal != SIGNALS[0]);
    let before = &raw const BEFORE;
    // SAFETY: written before this handler was installed; calling what the kernel would have called.
    unsafe {
        let old = (*before)[i].assume_init_ref();
        match old.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                let mut default = MaybeUninit::<libc::sigaction>::zeroed();
                (*default.as_mut_ptr()).sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, default.as_ptr(), std::ptr::null_mut());
            }
            handler if old.sa_flags & libc::SA_SIGINFO != 0 => {
                type Full = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
                std::mem::transmute::<usize, Full>(handler)(signal, info, context);
            }
            handler => {
                std::mem::transmute::<usize, extern "C" fn(libc::c_int)>(handler)(signal);
            }
        }
    }
}

/// A small text on the signal stack: no allocation, one `write`.
struct Line {
    bytes: [u8; 256],
    len: usize,
}

impl Line {
    fn new() -> Line {
        Line { bytes: [0; 256], len: 0 }
    }
    fn text(&mut self, text: &str) {
        for &b in text.as_bytes() {
            if self.len < self.bytes.len() {
                self.bytes[self.len] = b;
                self.len += 1;
            }
        }
    }
    fn number(&mut self, n: u64) {
        if n >= 10 {
            self.number(n / 10);
        }
        let digit = [b'0' + (n % 10) as u8];
        self.text(std::str::from_utf8(&digit).unwrap_or("?"));
    }
    fn write(&self) {
        // SAFETY: async-signal-safe; the buffer is ours. A failed write has no remedy here.
        unsafe { libc::write(2, self.bytes.as_ptr().cast(), self.len) };
    }
}
