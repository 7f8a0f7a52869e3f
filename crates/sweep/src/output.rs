// SPDX-License-Identifier: MIT OR Apache-2.0
//! The dataset that a sweep writes, and the file of its finished runs until it is whole.

use crate::journal::{Journal, JournalError};
use crate::runs::{Cell, Runs};
use crate::table::{self, Row, Table};
use rota_session::Error;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Where the runs of a sweep go.
#[derive(Debug)]
pub struct Output {
    /// The dataset.
    pub path: PathBuf,
    journal: Journal,
}

impl Output {
    /// Opens it, and adds the runs that it has to `known`, by what identifies them; says how many
    /// are from a sweep that was interrupted.
    ///
    /// # Errors
    ///
    /// If the dataset has runs that the sweep does not ask for, or is in use.
    pub fn open(
        path: &Path,
        runs: &Runs,
        cells: &[Cell],
        known: &mut HashMap<String, Row>,
    ) -> Result<(Self, usize), Error> {
        if path.exists() {
            let own = dataset(path)?;
            is_ours(path, &own, runs, cells)?;
            add(known, own.rows());
        }
        let part = part(path);
        let (journal, rows) = Journal::open(&part).map_err(|error| match error {
            JournalError::Io(error) => Error::file("write", &part, &error),
            JournalError::InUse => {
                Error::Failure(format!("{}: {}", part.display(), JournalError::InUse))
            }
            error => Error::input(format!("{}: {error}", part.display())),
        })?;
        add(known, &rows);
        Ok((Self { path: path.to_owned(), journal }, rows.len()))
    }

    /// Where runs are kept until the dataset is whole.
    pub fn part(&self) -> PathBuf {
        part(&self.path)
    }

    /// Keeps a run.
    pub fn keep(&mut self, row: &Row) -> Result<(), Error> {
        let cannot = |e| Error::Failure(format!("cannot keep runs: {e}"));
        self.journal.add(row).map_err(cannot)
    }

    /// All runs are in the dataset. If the file stays, the next sweep finds nothing new in it.
    pub fn remove_part(self) {
        let _ = self.journal.remove();
    }
}

/// Adds runs by what identifies them.
pub fn add(known: &mut HashMap<String, Row>, rows: &[Row]) {
    known.extend(rows.iter().map(|row| (row.run.clone(), row.clone())));
}

/// Reads a dataset.
pub fn dataset(path: &Path) -> Result<Table, Error> {
    let file = std::fs::File::open(path).map_err(|e| Error::file("read", path, &e))?;
    table::read(file).map_err(|why| Error::input(format!("{}: {why}", path.display())))
}

/// Refuses to write over runs that the sweep has not.
fn is_ours(path: &Path, table: &Table, runs: &Runs, cells: &[Cell]) -> Result<(), Error> {
    let ours: BTreeSet<_> = cells.iter().map(|cell| runs.key(*cell)).collect();
    let mut others = table.rows().iter().filter(|row| !ours.contains(&row.key()));
    let Some(first) = others.next() else { return Ok(()) };
    let (path, count) = (path.display(), 1 + others.count());
    let values: String = first.axes.iter().map(|(name, of)| format!(", {name} = {of}")).collect();
    Err(Error::input(format!(
        "{path} has {count} runs that this sweep has not, as {}, {}{values}, seed {}: expected \
         another file as the output; given as a dataset, {path} gives its runs to the sweep",
        first.workload, first.policy, first.seed
    )))
}

fn part(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}
