// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the events that [`crate::CsvSink`] wrote.

use crate::csv::COLUMNS;
use crate::event::Event;
use crate::read::{event, Said};
use std::fmt;
use std::io::Read;

/// A line that is no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvError {
    /// The line, counted from 1; 0: the whole file.
    pub line: u64,
    /// What it says, and what was expected.
    pub what: String,
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for CsvError {}

/// The events of a file, one by one. Instances of a workload's task are tasks of no workload: no
/// file has what they are instances of.
pub struct CsvEvents<R> {
    reader: ::csv::Reader<R>,
    row: ::csv::StringRecord,
    said: Said,
    begun: bool,
}

impl<R: Read> CsvEvents<R> {
    /// Reads from here.
    pub fn new(input: R) -> Self {
        let reader =
            ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(input);
        Self { reader, row: ::csv::StringRecord::new(), said: Said::default(), begun: false }
    }

    fn read(&mut self) -> Result<Option<Event>, CsvError> {
        if !std::mem::replace(&mut self.begun, true) {
            self.advance()?;
            if self.row.iter().ne(COLUMNS) {
                let what = format!("expected the columns {}", COLUMNS.join(","));
                return Err(CsvError { line: 1, what });
            }
        }
        if !self.advance()? {
            return Ok(None);
        }
        let line = self.row.position().map_or(0, ::csv::Position::line);
        let event = self.parse().map_err(|what| CsvError { line, what })?;
        Ok(Some(event))
    }

    fn advance(&mut self) -> Result<bool, CsvError> {
        self.reader.read_record(&mut self.row).map_err(|error| {
            let line = error.position().map_or(0, ::csv::Position::line);
            CsvError { line, what: error.to_string() }
        })
    }

    fn parse(&mut self) -> Result<Event, String> {
        let mut columns = self.row.iter();
        let (Some(time), Some(cpu), Some(name), Some(pid), Some(task), Some(detail), None) = (
            columns.next(),
            columns.next(),
            columns.next(),
            columns.next(),
            columns.next(),
            columns.next(),
            columns.next(),
        ) else {
            return Err(format!("{} columns: expected {}", self.row.len(), COLUMNS.len()));
        };
        let small = |name: &str, text: &str| match text {
            "" => Ok(None),
            text => text
                .parse::<u32>()
                .map(Some)
                .map_err(|_| format!("{name} \"{text}\": expected a number, or nothing")),
        };
        let time_ns =
            time.parse().map_err(|_| format!("time_ns \"{time}\": expected nanoseconds"))?;
        let (cpu, pid) = (small("cpu", cpu)?, small("pid", pid)?);
        self.said.read(detail)?;
        event((time_ns, cpu), name, pid, task, &self.said)
    }
}

impl<R: Read> Iterator for CsvEvents<R> {
    type Item = Result<Event, CsvError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

#[cfg(test)]
#[path = "csv_events_tests.rs"]
pub(crate) mod tests;
