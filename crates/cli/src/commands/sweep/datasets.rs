// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files in which runs of a sweep are kept.

use crate::error::Error;
use crate::output::messages;
use rota_sweep::{Cell, Journal, JournalError, Row, Runs, Table};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Runs that need not be done again, by what identifies them.
#[derive(Default)]
pub(super) struct Known {
    pub(super) rows: HashMap<String, Row>,
}

impl Known {
    pub(super) fn add(&mut self, table: &Table) {
        self.rows.extend(table.rows().iter().map(|row| (row.run.clone(), row.clone())));
    }
}

/// A dataset.
pub(super) fn read(path: &Path) -> Result<Table, Error> {
    let file = std::fs::File::open(path).map_err(|e| Error::file("read", path, &e))?;
    let table = rota_sweep::read(file);
    table.map_err(|why| Error::input(format!("{}: {why}", path.display())))
}

/// Refuses to write over runs that the sweep has not; says if some are to be done anew.
pub(super) fn is_ours(
    path: &Path,
    table: &Table,
    runs: &Runs<'_>,
    cells: &[Cell],
) -> Result<(), Error> {
    let ours: BTreeSet<_> = cells.iter().map(|cell| runs.key(*cell)).collect();
    let mut others = table.rows().iter().filter(|row| !ours.contains(&row.key()));
    let Some(first) = others.next() else { return Ok(()) };
    let (path, count) = (path.display(), 1 + others.count());
    let values: String = first.axes.iter().map(|(name, of)| format!(", {name} = {of}")).collect();
    Err(Error::input(format!(
        "{path} has {count} runs that this sweep has not, as {}, {}{values}, seed {}: expected \
         another file as -o; {path} as an argument gives its runs to it",
        first.workload, first.policy, first.seed
    )))
}

/// Where runs are kept until the dataset is whole.
pub(super) fn part(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// That file, and the runs that are in it.
pub(super) fn journal(path: &Path) -> Result<(Journal, Vec<Row>), Error> {
    let part = part(path);
    match Journal::open(&part) {
        Ok((journal, rows)) => {
            if !rows.is_empty() {
                let (count, part) = (rows.len(), part.display());
                messages::line(&format!("note: {part}: goes on after {count} runs"));
            }
            Ok((journal, rows))
        }
        Err(JournalError::Io(error)) => Err(Error::file("write", &part, &error)),
        Err(JournalError::InUse) => {
            Err(Error::Failure(format!("{}: {}", part.display(), JournalError::InUse)))
        }
        Err(error) => Err(Error::input(format!("{}: {error}", part.display()))),
    }
}
