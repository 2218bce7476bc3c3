//! harness/src/store/lock.rs: who may write here, and who may measure now. Question: could another
//! process be in the way?
//!
//! # Invariants
//! - Both locks are the kernel's: they end with the process that holds them, however it ends. Nothing
//!   stale can be left behind, so nobody has to delete a file by hand.
//! - The text in a lock file is for people only (process id and boot id of the holder).

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

use crate::error::{Error, Result};

/// Held by the one process that writes to a session's folder.
#[derive(Debug)]
pub struct SessionLock(#[expect(dead_code, reason = "held for its lifetime")] File);

/// Held by the one process that measures on this machine.
#[derive(Debug)]
pub struct MachineLock(#[expect(dead_code, reason = "held for its lifetime")] File);

impl SessionLock {
    /// Takes the lock of `dir`.
    ///
    /// # Errors
    /// If another process has it, naming its process id; or if `dir` cannot be written.
    pub fn take(dir: &Path) -> Result<SessionLock> {
        let path = dir.join("lock");
        let mut file = open(&path).map_err(Error::io("cannot write", &path))?;
        match file.try_lock() {
            Ok(()) => {
                sign(&mut file).map_err(Error::io("cannot write", &path))?;
                Ok(SessionLock(file))
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let who = holder.lines().next().unwrap_or("another process").to_string();
                Err(Error::Failed(format!("{}: {who} is writing here", dir.display())))
            }
            Err(TryLockError::Error(e)) => Err(Error::io("cannot lock", &path)(e)),
        }
    }
}

impl MachineLock {
    /// Takes the machine's lock, asking `wait` before each new try while another session has it.
    /// Advisory: where no lock file can be made, nothing is locked and `Ok(None)` comes back.
    pub fn take(mut wait: impl FnMut() -> Result<()>) -> Result<Option<MachineLock>> {
        let path = std::env::temp_dir().join("stealbench.machine.lock");
        let Ok(file) = open(&path) else { return Ok(None) };
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(MachineLock(file))),
                Err(TryLockError::WouldBlock) => wait()?,
                Err(TryLockError::Error(_)) => return Ok(None),
            }
        }
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

fn sign(file: &mut File) -> std::io::Result<()> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    file.set_len(0)?;
    write!(file, "process {}\nboot {}\n", std::process::id(), boot.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_writer_is_refused_by_name_and_let_in_after_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let first = SessionLock::take(dir.path()).unwrap();
        let refused = SessionLock::take(dir.path()).unwrap_err().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        drop(first);
        SessionLock::take(dir.path()).unwrap();
    }
}
