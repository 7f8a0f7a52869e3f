// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results of earlier times: a file with a line of JSON for each build in each cell.

use crate::grid::Cell;
use crate::measure::Measured;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    schema: String,
    /// Seconds since 1970.
    at_s: u64,
    /// The processor's name: times of others cannot be compared.
    processor: String,
    #[serde(flatten)]
    cell: Cell,
    #[serde(flatten)]
    measured: Measured,
}

const SCHEMA: &str = "rota.speed/1";

impl Line {
    pub(crate) fn new(cell: &Cell, measured: &Measured) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            schema: SCHEMA.into(),
            at_s: since.map_or(0, |since| since.as_secs()),
            processor: processor(),
            cell: cell.clone(),
            measured: measured.clone(),
        }
    }
}

/// The file, and what it had at the beginning.
pub(crate) struct History {
    path: PathBuf,
    file: File,
    lines: Vec<Line>,
    processor: OnceCell<String>,
}

impl History {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            other => other,
        };
        let text = text.with_context(|| path.display().to_string())?;
        let lines = read(&text).with_context(|| path.display().to_string())?;
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file = file.with_context(|| path.display().to_string())?;
        Ok(Self { path: path.to_owned(), file, lines, processor: OnceCell::new() })
    }

    /// The last result of a cell on a processor as this one, of a build of that name or another.
    pub(crate) fn last(&self, cell: &Cell, build: &str) -> Option<&Measured> {
        let processor = self.processor.get_or_init(processor);
        let mut same = self
            .lines
            .iter()
            .rev()
            .filter(|line| line.cell == *cell && line.processor == *processor);
        let newest = same.next()?;
        let named = std::iter::once(newest).chain(same).find(|line| line.measured.build == build);
        Some(&named.unwrap_or(newest).measured)
    }

    pub(crate) fn add(&self, cell: &Cell, measured: &Measured) -> Result<()> {
        let line = serde_json::to_string(&Line::new(cell, measured))?;
        writeln!(&self.file, "{line}").with_context(|| self.path.display().to_string())
    }
}

fn read(text: &str) -> Result<Vec<Line>> {
    let line = |(nr, text): (usize, &str)| {
        let line: Line = serde_json::from_str(text).with_context(|| format!("line {}", nr + 1))?;
        anyhow::ensure!(
            line.schema == SCHEMA,
            "line {}: schema is {:?}, expected {SCHEMA:?}",
            nr + 1,
            line.schema
        );
        Ok(line)
    };
    text.lines().enumerate().map(line).collect()
}

fn processor() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or("unknown", |(_, name)| name.trim()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Engine;

    fn cell(cpus: u32) -> Cell {
        Cell { policy: "rr".into(), cpus, tasks: 2, engine: Engine::Compiled }
    }

    fn measured(build: &str, ns: f64) -> Measured {
        Measured {
            build: build.into(),
            ns_per_decision: vec![ns],
            ns_per_instruction: None,
            simulated_per_real: 1.0,
            instructions_per_decision: 0.0,
        }
    }

    #[test]
    fn the_last_result_of_a_cell_is_found_when_the_file_is_opened_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("history.jsonl");
        let history = History::open(&path).expect("a new one");
        for (cpus, ns) in [(1, 10.0), (1, 20.0), (4, 30.0)] {
            history.add(&cell(cpus), &measured("now", ns)).expect("written");
        }
        let again = History::open(&path).expect("opens");
        let last = |cpus| again.last(&cell(cpus), "now").map(Measured::median_ns);
        assert_eq!((last(1), last(4), last(16)), (Some(20.0), Some(30.0), None));
    }

    #[test]
    fn a_line_that_is_no_result_is_an_error_with_its_number() {
        let good =
            serde_json::to_string(&Line::new(&cell(1), &measured("now", 1.0))).expect("JSON");
        for bad in [good.replace("speed/1", "speed/9"), "{}".into(), "rubbish".into()] {
            let error = read(&format!("{good}\n{bad}\n")).unwrap_err();
            assert!(format!("{error:#}").contains("line 2"), "{error:#}");
        }
    }
}
