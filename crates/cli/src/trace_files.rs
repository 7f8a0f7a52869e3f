// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of `--trace`: what the ending says is what is written.

use crate::error::Error;
use rota_trace::{ChromeTraceSink, CsvSink, Sink};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::str::FromStr;

/// Bytes gathered before a write.
const BUFFER: usize = 1 << 18;

/// A file to write events to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceTarget {
    path: PathBuf,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Csv,
    Chrome,
}

impl FromStr for TraceTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let format = match path.extension().and_then(|e| e.to_str()) {
            Some("csv") => Format::Csv,
            Some("json") => Format::Chrome,
            _ => return Err("expected a name that ends in .csv or .json".into()),
        };
        Ok(Self { path, format })
    }
}

/// A trace being written.
pub(crate) struct TraceFile {
    path: PathBuf,
    sink: Writer,
}

type Output = BufWriter<File>;

enum Writer {
    Csv(Box<CsvSink<Output>>),
    Chrome(Box<ChromeTraceSink<Output>>),
}

impl TraceFile {
    /// Creates the file.
    pub(crate) fn create(target: &TraceTarget) -> Result<Self, Error> {
        let path = target.path.clone();
        let file = File::create(&path).map_err(|e| Error::file("create", &path, &e))?;
        let output = BufWriter::with_capacity(BUFFER, file);
        let sink = match target.format {
            Format::Csv => Writer::Csv(Box::new(CsvSink::new(output))),
            Format::Chrome => Writer::Chrome(Box::new(ChromeTraceSink::new(output))),
        };
        Ok(Self { path, sink })
    }

    /// What takes the events.
    pub(crate) fn sink(&mut self) -> &mut dyn Sink {
        match &mut self.sink {
            Writer::Csv(sink) => sink.as_mut(),
            Writer::Chrome(sink) => sink.as_mut(),
        }
    }

    /// Completes the file.
    pub(crate) fn finish(self, end_ns: u64) -> Result<(), Error> {
        let output = match self.sink {
            Writer::Csv(sink) => sink.finish(),
            Writer::Chrome(sink) => sink.finish(end_ns),
        };
        output
            .and_then(|mut output| output.flush())
            .map_err(|e| Error::Failure(format!("cannot write {}: {e}", self.path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_says_the_format() {
        let format = |name: &str| name.parse().map(|t: TraceTarget| t.format);
        assert_eq!(format("a/run.csv"), Ok(Format::Csv));
        assert_eq!(format("run.json"), Ok(Format::Chrome));
        assert!(format("run.txt").is_err() && format("csv").is_err());
    }
}
