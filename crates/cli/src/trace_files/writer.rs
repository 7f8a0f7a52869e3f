// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events in any of the formats, into whatever takes bytes.

use super::Picture;
use rota_report::{Caption, TimelineSink};
use rota_trace::{ChromeTraceSink, CsvSink, ParquetSink, PerfettoSink, Sink};
use std::io::{self, Write};

/// What a trace is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Perfetto,
    Chrome,
    Csv,
    Parquet,
    Svg,
}

/// Takes events and writes them in a format.
pub(crate) enum TraceWriter<W: Write + Send> {
    Perfetto(Box<PerfettoSink<W>>),
    Chrome(Box<ChromeTraceSink<W>>),
    Csv(Box<CsvSink<W>>),
    Parquet(Box<ParquetSink<W>>),
    Svg(Box<TimelineSink>, W, Caption),
}

impl<W: Write + Send> TraceWriter<W> {
    /// Begins the output.
    pub(crate) fn new(format: Format, output: W, picture: &Picture) -> Self {
        match format {
            Format::Perfetto => Self::Perfetto(Box::new(PerfettoSink::new(output))),
            Format::Chrome => Self::Chrome(Box::new(ChromeTraceSink::new(output))),
            Format::Csv => Self::Csv(Box::new(CsvSink::new(output))),
            Format::Parquet => Self::Parquet(Box::new(ParquetSink::new(output))),
            Format::Svg => {
                let Picture { cpus, window, ref caption } = *picture;
                let sink = TimelineSink::new(cpus, window.from_ns, window.to_ns);
                Self::Svg(Box::new(sink), output, caption.clone())
            }
        }
    }

    /// What takes the events.
    pub(crate) fn sink(&mut self) -> &mut dyn Sink {
        match self {
            Self::Perfetto(sink) => sink.as_mut(),
            Self::Chrome(sink) => sink.as_mut(),
            Self::Csv(sink) => sink.as_mut(),
            Self::Parquet(sink) => sink.as_mut(),
            Self::Svg(sink, ..) => sink.as_mut(),
        }
    }

    /// Hands on what can be read already: lines. The other formats are whole at their end only.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Csv(sink) => sink.flush(),
            _ => Ok(()),
        }
    }

    /// Completes the output and gives it back, or the first error that writing met.
    pub(crate) fn finish(self, end_ns: u64) -> io::Result<W> {
        match self {
            Self::Perfetto(sink) => sink.finish(end_ns),
            Self::Chrome(sink) => sink.finish(end_ns),
            Self::Csv(sink) => sink.finish(),
            Self::Parquet(sink) => sink.finish(),
            Self::Svg(sink, mut output, caption) => {
                let picture = sink.finish(end_ns).render(&caption);
                output.write_all(picture.as_bytes()).map(|()| output)
            }
        }
    }
}

impl<W: Write + Send> Sink for TraceWriter<W> {
    fn event(&mut self, event: &rota_trace::Event) {
        self.sink().event(event);
    }

    fn wants_detail(&self) -> bool {
        match self {
            Self::Perfetto(sink) => sink.wants_detail(),
            Self::Chrome(sink) => sink.wants_detail(),
            Self::Csv(sink) => sink.wants_detail(),
            Self::Parquet(sink) => sink.wants_detail(),
            Self::Svg(sink, ..) => sink.wants_detail(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_trace::{Event, EventKind};
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    fn written(format: Format) -> Vec<u8> {
        let mut writer = TraceWriter::new(format, Vec::new(), &Picture::default());
        let kind =
            EventKind::Task { pid: 7, name: "worker".into(), weight: 100, instance_of: None };
        writer.event(&Event { time_ns: 0, cpu: None, kind });
        writer.event(&Event { time_ns: 5, cpu: Some(0), kind: EventKind::SwitchIn { pid: 7 } });
        writer.finish(9).expect("memory takes all")
    }

    #[test]
    fn every_format_is_begun_and_ended() {
        let text = |format| String::from_utf8(written(format)).expect("text");
        assert_eq!(text(Format::Csv).lines().count(), 3);
        let json = serde_json::from_str::<Vec<serde_json::Value>>(&text(Format::Chrome));
        assert!(json.is_ok_and(|events| events.iter().any(|event| event["name"] == "worker")));
        assert!(text(Format::Svg).ends_with("</svg>\n"), "{}", text(Format::Svg));
        let parquet = written(Format::Parquet);
        assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
        assert!(written(Format::Perfetto).windows(6).any(|w| w == b"worker"));
    }

    #[test]
    fn lines_are_handed_on_as_they_come() {
        let (mut output, input) = UnixStream::pair().expect("two ends");
        let mut writer = TraceWriter::new(Format::Csv, input, &Picture::default());
        let kind = EventKind::SwitchIn { pid: 7 };
        writer.event(&Event { time_ns: 5, cpu: Some(0), kind });
        writer.flush().expect("the other end takes it");
        let mut lines = [0; 200];
        let length = output.read(&mut lines).expect("this end gives it");
        assert!(String::from_utf8_lossy(&lines[..length]).contains("switch_in"));
    }
}
