//! harness/src/store/journal.rs: reading and writing the journal. Question: is what is in the file what
//! was written, and how much of it survived?
//!
//! # Invariants
//! - A line is `{"v":..,"seq":..,"t":..,"kind":..,...,"crc":"xxxxxxxx"}`; the checksum covers the object
//!   as it would read without its last member. `seq` counts from 0 without gaps.
//! - One write a line. A torn or bad *last* line is cut and reported: the process died in that write. A
//!   bad line anywhere else means that the file was changed, and is an error that names its number.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::{Record, SCHEMA_VERSION, crc};
use crate::error::{Error, Result};

/// The name of the file in a session's folder.
pub(super) const FILE: &str = "journal.jsonl";
/// `,"crc":"` + 8 digits + `"}`.
const TAIL: usize = 18;

/// A journal open for appending.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    seq: u64,
    hash: crc32fast::Hasher,
}

/// What a journal holds.
#[derive(Debug, Default)]
pub struct Loaded {
    /// In order; kinds that this version does not know are left out.
    pub records: Vec<Record>,
    /// The time of each record, RFC 3339, as written.
    pub times: Vec<String>,
    /// Length of the valid part, in bytes.
    pub valid: u64,
    /// Why the last line was cut, if it was.
    pub torn: Option<String>,
    next_seq: u64,
}

#[derive(Serialize)]
struct Line<'a> {
    v: &'static str,
    seq: u64,
    t: String,
    #[serde(flatten)]
    record: &'a Record,
}

impl Journal {
    /// Starts a new journal in `dir`. Fails if there is one already.
    pub fn create(dir: &Path) -> Result<Journal> {
        let path = dir.join(FILE);
        let file = OpenOptions::new().append(true).create_new(true).open(&path);
        let file = file.map_err(Error::io("cannot create", &path))?;
        Ok(Journal { file, path, seq: 0, hash: crc32fast::Hasher::new() })
    }

    /// Opens the journal in `dir` for more, cutting a torn last line off.
    pub fn reopen(dir: &Path) -> Result<(Journal, Loaded)> {
        let loaded = load(dir)?;
        let path = dir.join(FILE);
        let mut open = OpenOptions::new();
        let mut file =
            open.read(true).append(true).open(&path).map_err(Error::io("cannot open", &path))?;
        file.set_len(loaded.valid).map_err(Error::io("cannot cut", &path))?;
        let mut hash = crc32fast::Hasher::new();
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).map_err(Error::io("cannot read", &path))?;
        file.read_to_end(&mut bytes).map_err(Error::io("cannot read", &path))?;
        hash.update(&bytes);
        Ok((Journal { file, path, seq: loaded.next_seq, hash }, loaded))
    }

    /// Appends one line, in one write. Not yet on disk: see `sync`.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let t = jiff::Timestamp::now().to_string();
        let line = Line { v: SCHEMA_VERSION, seq: self.seq, t, record };
        let mut text = serde_json::to_string(&line)
            .map_err(|e| Error::Failed(format!("cannot encode a record: {e}")))?;
        let sum = crc(text.as_bytes());
        text.pop();
        text.push_str(&format!(",\"crc\":\"{sum}\"}}\n"));
        self.file.write_all(text.as_bytes()).map_err(Error::io("cannot write", &self.path))?;
        self.hash.update(text.as_bytes());
        self.seq += 1;
        Ok(())
    }

    /// Returns when everything appended is on disk.
    pub fn sync(&mut self) -> Result<()> {
        self.file.sync_data().map_err(Error::io("cannot sync", &self.path))
    }

    /// Checksum of all bytes so far.
    pub fn crc_so_far(&self) -> String {
        format!("{:08x}", self.hash.clone().finalize())
    }
}

/// Reads the journal in `dir`, or at `dir` if that is a file.
///
/// # Errors
/// If it cannot be read, is of another major version, or a line other than the last is bad.
pub fn load(dir: &Path) -> Result<Loaded> {
    let path = if dir.is_file() { dir.to_path_buf() } else { dir.join(FILE) };
    let bytes = std::fs::read(&path).map_err(Error::io("cannot read", &path))?;
    let mut out = Loaded::default();
    let mut line = 0;
    while (out.valid as usize) < bytes.len() {
        line += 1;
        let rest = &bytes[out.valid as usize..];
        let end = rest.iter().position(|b| *b == b'\n');
        let last = end.is_none_or(|e| e + 1 == rest.len());
        match end.map_or(Err("no line end".to_string()), |e| decode(&rest[..e], out.next_seq)) {
            Ok((record, t)) => {
                if let Some(record) = record {
                    out.records.push(record);
                    out.times.push(t);
                }
                out.next_seq += 1;
                out.valid += end.unwrap_or(0) as u64 + 1;
            }
            Err(why) if last => {
                out.torn = Some(format!("line {line}: {why}"));
                break;
            }
            Err(why) => return Err(Error::Journal { path, line, why }),
        }
    }
    if out.records.is_empty() {
        let why = "no valid line: this is not a journal".to_string();
        return Err(Error::Journal { path, line: 1, why });
    }
    Ok(out)
}

/// One line to its record (none for a kind that is not known) and its time.
fn decode(line: &[u8], seq: u64) -> std::result::Result<(Option<Record>, String), String> {
    let text = std::str::from_utf8(line).map_err(|_| "not UTF-8".to_string())?;
    let at = text.len().checked_sub(TAIL).filter(|at| text.is_char_boundary(*at));
    let (body, tail) = at.map(|at| text.split_at(at)).ok_or("too short")?;
    let given = tail.strip_prefix(",\"crc\":\"").and_then(|t| t.strip_suffix("\"}"));
    let given = given.ok_or("no checksum at its end")?;
    let body = format!("{body}}}");
    if crc(body.as_bytes()) != given {
        return Err("its checksum does not match".to_string());
    }
    let value: Value = serde_json::from_str(&body).map_err(|e| e.to_string())?;
    let version = value["v"].as_str().unwrap_or("");
    if version.split('.').next() != SCHEMA_VERSION.split('.').next() {
        return Err(format!("schema version {version:?}, and this program reads {SCHEMA_VERSION}"));
    }
    if value["seq"].as_u64() != Some(seq) {
        return Err(format!("sequence number {}, want {seq}", value["seq"]));
    }
    let t = value["t"].as_str().unwrap_or("").to_string();
    let kind = value["kind"].as_str().unwrap_or("").to_string();
    match serde_json::from_value::<Record>(value) {
        Ok(record) => Ok((Some(record), t)),
        Err(_) if !KINDS.contains(&kind.as_str()) => Ok((None, t)),
        Err(e) => Err(format!("{kind}: {e}")),
    }
}

/// Every kind of this version.
const KINDS: [&str; 11] =
    ["session", "env", "build", "plan", "check", "warm", "epoch", "stat", "verdict", "note", "end"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Note;

    fn note(text: &str) -> Record {
        Record::Note(Note { what: "test".into(), text: text.into(), part: 1 })
    }

    fn three_lines(dir: &Path) -> PathBuf {
        let mut journal = Journal::create(dir).unwrap();
        for text in ["one", "two \"quoted\" ü", "three"] {
            journal.append(&note(text)).unwrap();
        }
        journal.sync().unwrap();
        dir.join(FILE)
    }

    #[test]
    fn what_is_written_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        three_lines(dir.path());
        let loaded = load(dir.path()).unwrap();
        assert_eq!(loaded.records, [note("one"), note("two \"quoted\" ü"), note("three")]);
        assert_eq!(loaded.torn, None);
    }

    /// Goal: a kill at any moment loses at most the line in flight. Method: cut the file at every
    /// byte, read it, append to it, read it again.
    #[test]
    fn a_file_cut_at_any_byte_keeps_its_whole_lines_and_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = three_lines(dir.path());
        let bytes = std::fs::read(&path).unwrap();
        let first = bytes.iter().position(|b| *b == b'\n').unwrap() + 1;
        for cut in first..=bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let whole = bytes[..cut].iter().filter(|b| **b == b'\n').count();
            let (mut journal, loaded) = Journal::reopen(dir.path()).unwrap();
            assert_eq!(loaded.records.len(), whole, "cut at {cut}");
            assert_eq!(loaded.torn.is_some(), !bytes[..cut].ends_with(b"\n"), "cut at {cut}");
            journal.append(&note("more")).unwrap();
            assert_eq!(load(dir.path()).unwrap().records.len(), whole + 1, "cut at {cut}");
        }
    }

    #[test]
    fn a_changed_line_in_the_middle_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = three_lines(dir.path());
        let text = std::fs::read_to_string(&path).unwrap().replace("two", "owt");
        std::fs::write(&path, text).unwrap();
        let error = load(dir.path()).unwrap_err();
        assert!(matches!(error, Error::Journal { line: 2, .. }), "{error}");
        assert!(error.to_string().contains("line 2"), "{error}");
    }

    #[test]
    fn a_deleted_line_is_noticed_by_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let path = three_lines(dir.path());
        let text = std::fs::read_to_string(&path).unwrap();
        let kept: Vec<&str> =
            text.lines().enumerate().filter(|(i, _)| *i != 0).map(|l| l.1).collect();
        std::fs::write(&path, kept.join("\n") + "\n").unwrap();
        assert!(matches!(load(dir.path()), Err(Error::Journal { line: 1, .. })));
    }

    #[test]
    fn unknown_kinds_and_fields_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = three_lines(dir.path());
        for (seq, body) in [
            (3, r#""kind":"future","x":1"#),
            (4, r#""kind":"note","what":"w","text":"t","part":1,"new":[1]"#),
        ] {
            let body = format!(r#"{{"v":"1.7","seq":{seq},"t":"2026-01-01T00:00:00Z",{body}}}"#);
            let sum = crc(body.as_bytes());
            let line = format!("{},\"crc\":\"{sum}\"}}\n", &body[..body.len() - 1]);
            let mut file = OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(line.as_bytes()).unwrap();
        }
        assert_eq!(load(dir.path()).unwrap().records.len(), 4);
    }

    #[test]
    fn another_major_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let body = r#"{"v":"2.0","seq":0,"t":"","kind":"note","what":"w","text":"t","part":1}"#;
        let line = format!("{},\"crc\":\"{}\"}}\n", &body[..body.len() - 1], crc(body.as_bytes()));
        std::fs::write(&path, line.repeat(2)).unwrap();
        assert!(load(dir.path()).unwrap_err().to_string().contains("2.0"));
    }
}
