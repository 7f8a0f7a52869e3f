// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of `--trace`: what the ending says is what is written.

mod writer;

pub(crate) use writer::{Format, TraceWriter};

use crate::error::Error;
use crate::output::units::duration;
use crate::output_file::OutputFile;
use rota_report::Caption;
use rota_trace::Sink;
use rota_workload::parse_duration;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::str::FromStr;

/// Bytes gathered before a write.
const BUFFER: usize = 1 << 18;
/// Window of a picture if none is asked for.
const WINDOW_NS: u64 = 200_000_000;

/// A file to write events to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceTarget {
    path: PathBuf,
    format: Format,
}

/// What a file name may end in.
const ENDINGS: [(&str, Format); 5] = [
    ("pftrace", Format::Perfetto),
    ("json", Format::Chrome),
    ("csv", Format::Csv),
    ("parquet", Format::Parquet),
    ("svg", Format::Svg),
];

impl TraceTarget {
    /// Begins the file.
    pub(crate) fn begin(&self) -> Result<OutputFile, Error> {
        OutputFile::create(&self.path)
    }
}

impl FromStr for TraceTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        match ENDINGS.iter().find(|(known, _)| *known == ending) {
            Some(&(_, format)) => Ok(Self { path, format }),
            None => {
                let known: Vec<String> = ENDINGS.iter().map(|(e, _)| format!(".{e}")).collect();
                Err(format!("expected a name that ends in one of {}", known.join(", ")))
            }
        }
    }
}

/// Part of the run that a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    from_ns: u64,
    to_ns: u64,
}

impl Default for Window {
    fn default() -> Self {
        Self { from_ns: 0, to_ns: WINDOW_NS }
    }
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, to) = text.split_once("..").ok_or("expected FROM..TO, for example 0s..300ms")?;
        let time = |text: &str| match text.trim() {
            "0" => Ok(0),
            text => parse_duration(text).map_err(|e| e.to_string()),
        };
        let window = Self { from_ns: time(from)?, to_ns: time(to)? };
        if window.from_ns >= window.to_ns {
            return Err("the window ends before it begins".into());
        }
        Ok(window)
    }
}

/// The window of the pictures; asking for one without a picture, or beyond the end of the run, is a
/// mistake.
pub(crate) fn window(
    asked: Option<Window>,
    traces: &[TraceTarget],
    duration_ns: u64,
) -> Result<Window, Error> {
    if asked.is_some() && !traces.iter().any(|trace| trace.format == Format::Svg) {
        return Err(Error::input("--trace-window is for pictures: it needs --trace FILE.svg"));
    }
    let window = asked.unwrap_or_default();
    if window.from_ns >= duration_ns {
        let (from, to) = (duration(window.from_ns), duration(window.to_ns));
        return Err(Error::input(format!(
            "--trace-window {from}..{to}: the run ends at {}, expected a window that begins before",
            duration(duration_ns)
        )));
    }
    Ok(window)
}

/// What a picture shows besides events.
#[derive(Default)]
pub(crate) struct Picture {
    pub(crate) cpus: u32,
    pub(crate) window: Window,
    pub(crate) caption: Caption,
}

/// A trace being written.
pub(crate) struct TraceFile {
    path: PathBuf,
    writer: TraceWriter<BufWriter<OutputFile>>,
}

impl TraceFile {
    /// Begins the file.
    pub(crate) fn create(target: &TraceTarget, picture: &Picture) -> Result<Self, Error> {
        Ok(Self::filling(target.begin()?, target, picture))
    }

    /// The same in a file that was begun before.
    pub(crate) fn filling(file: OutputFile, target: &TraceTarget, picture: &Picture) -> Self {
        let output = BufWriter::with_capacity(BUFFER, file);
        let writer = TraceWriter::new(target.format, output, picture);
        Self { path: target.path.clone(), writer }
    }

    /// What takes the events.
    pub(crate) fn sink(&mut self) -> &mut dyn Sink {
        self.writer.sink()
    }

    /// Completes the file.
    pub(crate) fn finish(self, end_ns: u64) -> Result<(), Error> {
        self.writer
            .finish(end_ns)
            .and_then(|output| output.into_inner().map_err(io::IntoInnerError::into_error))
            .map_err(|e| Error::Failure(format!("cannot write {}: {e}", self.path.display())))?
            .finish()
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
        assert_eq!(format("run.svg"), Ok(Format::Svg));
        assert_eq!(format("run.pftrace"), Ok(Format::Perfetto));
        assert_eq!(format("run.parquet"), Ok(Format::Parquet));
        for bad in ["run.txt", "csv", "run", ".csv"] {
            assert!(
                format(bad).is_err_and(|e| e.contains(".pftrace, .json, .csv, .parquet, .svg")),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_window_is_two_times() {
        let window = |text: &str| text.parse().map(|w: Window| (w.from_ns, w.to_ns));
        assert_eq!(window("0..300us"), Ok((0, 300_000)));
        assert_eq!(window("1.5s..2s"), Ok((1_500_000_000, 2_000_000_000)));
        for bad in ["300ms", "2s..1s", "1s..1s", "..1s", "1s..", "1..2"] {
            assert!(window(bad).is_err(), "{bad}");
        }
    }
}
