// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finished runs of a sweep that is not: a line for each, written as soon as the run is done. Who is
//! interrupted goes on from it.
//!
//! ```json
//! {"schema":"rota.sweep.part/1"}
//! {"sum":"0123456789abcdef","row":{…}}
//! ```

use crate::table::Row;
use rota_session::load::hex;
use rustix::fs::{flock, FlockOperation};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const FIRST: &str = "{\"schema\":\"rota.sweep.part/1\"}\n";
/// What stands around a checksum and the row.
const PARTS: [&str; 3] = ["{\"sum\":\"", "\",\"row\":", "}\n"];
/// Digits of a checksum: a slip is not to pass, nobody has to be kept from forging one.
const DIGITS: usize = 16;

/// The file, open and locked.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

/// Why a file cannot be gone on with.
#[derive(Debug)]
pub enum JournalError {
    /// It cannot be read or written.
    Io(io::Error),
    /// Another process has it open.
    InUse,
    /// It is something else.
    Foreign,
    /// A line is not as it was written.
    Damaged(usize, String),
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::InUse => f.write_str("in use by another rota sweep"),
            Self::Foreign => f.write_str("not a file of a sweep's runs"),
            Self::Damaged(line, why) => {
                write!(f, "line {line}: damaged: {why}; delete this line to repeat its run")
            }
        }
    }
}

impl std::error::Error for JournalError {}

impl From<io::Error> for JournalError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Journal {
    /// Opens the file, or makes it, and has the runs that are in it.
    pub fn open(path: &Path) -> Result<(Self, Vec<Row>), JournalError> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| JournalError::InUse)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let (rows, whole) = rows(&bytes)?;
        file.set_len(whole as u64)?;
        file.seek(SeekFrom::End(0))?;
        if whole == 0 {
            file.write_all(FIRST.as_bytes())?;
        }
        Ok((Self { path: path.to_owned(), file }, rows))
    }

    /// Keeps a run.
    pub fn add(&mut self, row: &Row) -> io::Result<()> {
        let row = serde_json::to_string(row)?;
        let [before, between, after] = PARTS;
        let line = format!("{before}{}{between}{row}{after}", sum(&row));
        // At once, so that only the last line can be there in part.
        self.file.write_all(line.as_bytes())
    }

    /// All runs are elsewhere.
    pub fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

/// The runs, and the bytes of the whole lines: behind them is one that was being written when a
/// process ended.
fn rows(bytes: &[u8]) -> Result<(Vec<Row>, usize), JournalError> {
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    if whole == 0 {
        return match FIRST.as_bytes().starts_with(bytes) {
            true => Ok((Vec::new(), 0)),
            false => Err(JournalError::Foreign),
        };
    }
    let lines = bytes[..whole].strip_prefix(FIRST.as_bytes()).ok_or(JournalError::Foreign)?;
    let mut rows = Vec::new();
    for (line, number) in lines.split_inclusive(|b| *b == b'\n').zip(2..) {
        let damaged = |why: String| JournalError::Damaged(number, why);
        let (found, row) = held(line).ok_or_else(|| damaged("expected a run".into()))?;
        if sum(row) != found {
            return Err(damaged(format!("its checksum is {found}, expected {}", sum(row))));
        }
        rows.push(serde_json::from_str(row).map_err(|e| damaged(e.to_string()))?);
    }
    Ok((rows, whole))
}

/// The checksum and the row of a line.
fn held(line: &[u8]) -> Option<(&str, &str)> {
    let [before, between, after] = PARTS;
    let line = std::str::from_utf8(line).ok()?.strip_prefix(before)?;
    let (sum, rest) = line.split_at_checked(DIGITS)?;
    Some((sum, rest.strip_prefix(between)?.strip_suffix(after)?))
}

fn sum(row: &str) -> String {
    hex(Sha256::new_with_prefix(row))[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn row(seed: u64) -> Row {
        Row {
            run: format!("{seed:032x}"),
            rota: "0.1.0".into(),
            workload: "a.json".into(),
            policy: "pbs".into(),
            axes: [
                ("set.alpha".to_owned(), Value::Float(0.1 + 0.2)),
                ("set.beta".to_owned(), Value::Text("+inf".into())),
                ("machine.cpus".to_owned(), Value::Int(4)),
            ]
            .into(),
            cpus: 4,
            seed,
            duration_ns: 1_000,
            end_ns: 1_000,
            exit: "unregistered".into(),
            ejected: false,
            metrics: [("jain".into(), 0.1)].into(),
        }
    }

    #[test]
    fn what_is_kept_is_there_again_also_after_half_a_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.part");
        let (mut journal, rows) = Journal::open(&path).expect("new");
        assert!(rows.is_empty());
        for seed in [u64::MAX, 1] {
            journal.add(&row(seed)).expect("written");
        }
        drop(journal);
        let whole = std::fs::read(&path).expect("there");
        let last = whole[..whole.len() - 1].iter().rposition(|b| *b == b'\n').expect("lines") + 1;
        for end in last..whole.len() {
            std::fs::write(&path, &whole[..end]).expect("written");
            let (mut journal, rows) = Journal::open(&path).expect("ours");
            assert_eq!(rows, [row(u64::MAX)], "{end}");
            journal.add(&row(1)).expect("written");
            drop(journal);
            assert_eq!(std::fs::read(&path).expect("there"), whole);
        }
    }

    #[test]
    fn no_byte_of_a_line_changes_unseen() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.part");
        let (mut journal, _) = Journal::open(&path).expect("new");
        journal.add(&row(7)).expect("written");
        drop(journal);
        let whole = std::fs::read(&path).expect("there");
        for at in 0..whole.len() - 1 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            assert!(rows(&bytes).is_err(), "byte {at} {:?}", whole[at] as char);
        }
    }

    #[test]
    fn a_file_is_for_one_at_a_time_and_others_are_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.part");
        let first = Journal::open(&path).expect("new");
        assert!(matches!(Journal::open(&path), Err(JournalError::InUse)));
        drop(first);
        for other in ["hello", "hello\n", "{\"schema\":\"rota.sweep.part/2\"}\n"] {
            std::fs::write(&path, other).expect("written");
            assert!(matches!(Journal::open(&path), Err(JournalError::Foreign)), "{other}");
            assert_eq!(std::fs::read_to_string(&path).expect("there"), other);
        }
    }
}
