//! harness/src/store/output.rs: the folder of a session. Question: can everything be written that will
//! have to be, before an hour is spent on measuring?
//!
//! # Invariants
//! - `Output::create` has written, synced and removed a probe before it returns.
//! - A finished session is never overwritten: in the default folder it moves to `earlier/`, elsewhere
//!   its presence is an error.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::journal::FILE;
use super::{SessionLock, crc, load};
use crate::error::{Error, Result};

/// A session's folder, locked.
#[derive(Debug)]
pub struct Output {
    dir: PathBuf,
    #[expect(dead_code, reason = "held for its lifetime")]
    lock: SessionLock,
}

/// Large enough that a full disk or a used-up quota shows.
const PROBE_BYTES: usize = 1 << 20;

impl Output {
    /// Makes `dir`, locks it and proves that it can be written. `move_old`: put a session that is there
    /// aside, as in the default folder.
    pub fn create(dir: &Path, move_old: bool) -> Result<Output> {
        fs::create_dir_all(dir).map_err(Error::io("cannot create the folder", dir))?;
        let lock = SessionLock::take(dir)?;
        probe(dir)?;
        if dir.join(FILE).exists() {
            if !move_old {
                let want = "it holds a session already; continue it with --resume, or name another";
                return Err(Error::usage("--out", dir.display(), want));
            }
            put_aside(dir)?;
        }
        Ok(Output { dir: dir.to_path_buf(), lock })
    }

    /// Locks a folder that holds a session.
    pub fn open(dir: &Path) -> Result<Output> {
        if !dir.join(FILE).exists() {
            let want = format!("no {FILE} there; want the folder of an earlier run");
            return Err(Error::usage("--resume", dir.display(), want));
        }
        let lock = SessionLock::take(dir)?;
        probe(dir)?;
        Ok(Output { dir: dir.to_path_buf(), lock })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn probe(dir: &Path) -> Result<()> {
    let path = dir.join("probe");
    let write = || -> std::io::Result<()> {
        let mut file = fs::File::create(&path)?;
        file.write_all(&vec![b'.'; PROBE_BYTES])?;
        file.sync_all()?;
        fs::remove_file(&path)
    };
    write().map_err(|source| {
        let _ = fs::remove_file(&path);
        Error::Io { doing: "cannot write to", path: dir.to_path_buf(), source }
    })
}

/// Moves what an earlier session left to `earlier/<its start>/`.
fn put_aside(dir: &Path) -> Result<()> {
    let started = load(dir).ok().and_then(|l| l.times.first().cloned());
    let stamp: String = started
        .unwrap_or_else(|| jiff::Timestamp::now().to_string())
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(20)
        .collect();
    let into = dir.join("earlier").join(stamp);
    fs::create_dir_all(&into).map_err(Error::io("cannot create the folder", &into))?;
    for entry in fs::read_dir(dir).map_err(Error::io("cannot read", dir))? {
        let entry = entry.map_err(Error::io("cannot read", dir))?;
        let name = entry.file_name();
        if name != "earlier" && name != "lock" {
            let to = into.join(&name);
            fs::rename(entry.path(), &to).map_err(Error::io("cannot move to", &to))?;
        }
    }
    Ok(())
}

/// Writes `manifest.json`, the last file of a session: size and checksum of `names` in `dir`.
pub fn write_manifest(dir: &Path, names: &[&str]) -> Result<()> {
    let mut files = serde_json::Map::new();
    for name in names {
        let path = dir.join(name);
        let bytes = fs::read(&path).map_err(Error::io("cannot read", &path))?;
        files.insert(name.to_string(), json!({"bytes": bytes.len(), "crc32": crc(&bytes)}));
    }
    let text = json!({"schema": "stealbench.manifest/1", "files": files});
    let path = dir.join("manifest.json");
    fs::write(&path, format!("{text:#}\n")).map_err(Error::io("cannot write", &path))
}
