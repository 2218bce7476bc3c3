//! harness/src/store/mod.rs: what a session leaves behind. Question: can every figure of a report be
//! rebuilt, years later, from one file, and would a damaged file be noticed?
//!
//! # Invariants
//! - `journal.jsonl` is the truth: append-only, one JSON object a line, a checksum in each line, synced
//!   to disk at the end of each epoch. Everything else in the folder is derived and can be deleted.
//! - Times are integer nanoseconds; a figure that is missing is `{"missing": reason}`, never 0.
//! - No user name, host name or home path is written.

mod journal;
mod lock;
mod output;
mod record;

pub use journal::{Journal, Loaded, load};
pub use lock::{MachineLock, SessionLock};
pub use output::{Output, write_manifest};
pub use record::{
    BlockRecord, Build, Check, End, Env, Epoch, EpochFault, Note, Process, Record, Session, Stat,
    VerdictRecord, Warm,
};

/// Major and minor version of the journal's schema. Readers refuse another major.
pub const SCHEMA_VERSION: &str = "1.0";

/// The JSON Schema of one journal line, as shipped.
pub const JOURNAL_SCHEMA: &str = include_str!("journal.schema.json");

/// Checksum of `bytes` in the form the files carry: eight hex digits.
pub fn crc(bytes: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(bytes))
}
