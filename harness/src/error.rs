//! harness/src/error.rs: why a command ends without doing its work. Question: what went wrong, where,
//! and what can the user do about it?
//!
//! # Not here
//! A contender that fails is a result (`contender::Fault`), not an error: the session goes on. So are
//! verdicts: slower, cannot tell, not measurable.

use std::io;
use std::path::{Path, PathBuf};

/// The exit codes of the command line. 3 (regression) and 4 (not measurable) belong to gates.
pub mod exit {
    /// Done and passed.
    pub const DONE: u8 = 0;
    /// The tool or a contender failed: wrong answer, panic, I/O.
    pub const FAILED: u8 = 1;
    /// The command line says something that cannot be done.
    pub const USAGE: u8 = 2;
    /// A regression was confirmed.
    pub const REGRESSED: u8 = 3;
    /// Not measurable here at this effort.
    pub const NOT_MEASURABLE: u8 = 4;
    /// What is to be compared does not belong together.
    pub const NOT_COMPARABLE: u8 = 5;
    /// Interrupted; the journal is valid and can be resumed.
    pub const INTERRUPTED: u8 = 130;
}

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user can fix it by typing something else.
    #[error("{what} {given}: {want}")]
    Usage {
        /// The flag or argument.
        what: String,
        /// What was typed.
        given: String,
        /// What would be accepted.
        want: String,
    },
    /// Reading or writing failed.
    #[error("{doing} {path}: {source}")]
    Io {
        /// `cannot write`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A journal that cannot be trusted.
    #[error("{path}, line {line}: {why}")]
    Journal {
        /// The journal.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A session cannot be continued or compared here.
    #[error("{0}")]
    NotComparable(String),
    /// Something outside this program that it needs did not work.
    #[error("{0}")]
    Failed(String),
    /// A second interrupt, or the first outside of a session.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// An I/O error at `path`, for `map_err`.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::Io { doing, path, source }
    }

    /// A usage error.
    pub fn usage(what: &str, given: impl ToString, want: impl ToString) -> Error {
        Error::Usage { what: what.to_string(), given: given.to_string(), want: want.to_string() }
    }

    /// What the process exits with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Usage { .. } => exit::USAGE,
            Error::NotComparable(_) => exit::NOT_COMPARABLE,
            Error::Interrupted => exit::INTERRUPTED,
            Error::Io { .. } | Error::Journal { .. } | Error::Failed(_) => exit::FAILED,
        }
    }
}

/// What every fallible function of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;
