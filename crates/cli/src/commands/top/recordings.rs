// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recording that begins and ends while the events are shown.

use crate::error::Error;
use crate::output::units::time;
use crate::trace_files::{Picture, TraceFile, TraceTarget};
use rota_trace::Event;
use rota_watch::{Midway, Part};
use std::path::Path;

/// A file, and the part of the events that it gets.
pub(super) struct Recording {
    path: String,
    file: TraceFile,
    part: Part,
    events: u64,
}

impl Recording {
    /// Begins a file that is not there yet, with the state of all tasks.
    pub(super) fn begin(
        path: &str,
        cpus: u32,
        midway: &Midway,
        from_ns: u64,
    ) -> Result<Self, Error> {
        let fail = |what: String| Error::input(format!("{path}: {what}"));
        let target: TraceTarget = path.parse().map_err(fail)?;
        if Path::new(path).exists() {
            return Err(fail("is there already: expected the name of a new file".into()));
        }
        let mut file = TraceFile::create(&target, &Picture { cpus, ..Picture::default() })?;
        let part = midway.begin(from_ns, file.sink());
        Ok(Self { path: path.into(), file, part, events: 0 })
    }

    pub(super) fn event(&mut self, event: &Event) {
        self.events += 1;
        self.part.event(event.clone(), self.file.sink());
    }

    /// Completes the file, and says what is in it.
    pub(super) fn finish(self, now_ns: u64) -> Result<String, Error> {
        let length_ns = now_ns.saturating_sub(self.part.from_ns());
        self.file.finish(length_ns)?;
        Ok(format!("{}: {} events in {}", self.path, self.events, time(length_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_trace::{CsvEvents, EventKind, OffCpu, Sink};

    #[test]
    fn a_recording_begins_with_what_was_known_and_never_replaces_a_file() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a.csv").display().to_string();
        let mut midway = Midway::default();
        let (name, instance_of) = ("web".to_owned(), None);
        let task = EventKind::Task { pid: 7, name, weight: 100, instance_of };
        let at = |time_ns, kind| Event { time_ns, cpu: Some(0), kind };
        midway.event(&at(0, task));
        midway.event(&at(10, EventKind::SwitchIn { pid: 7 }));
        let mut recording = Recording::begin(&path, 1, &midway, 1000).expect("begins");
        recording.event(&at(1500, EventKind::SwitchOut { pid: 7, why: OffCpu::Sleep }));
        let said = recording.finish(3000).expect("written");
        assert_eq!(said, format!("{path}: 1 events in 2.00us"));
        let file = std::fs::File::open(&path).expect("a file");
        let events: Result<Vec<Event>, _> = CsvEvents::new(file).collect();
        let times: Vec<u64> = events.expect("events").iter().map(|event| event.time_ns).collect();
        // The name, that it runs, and that it stops 500 ns after the beginning.
        assert_eq!(times, [0, 0, 500]);
        let again = Recording::begin(&path, 1, &midway, 0).err().expect("an error");
        assert!(again.to_string().contains("is there already"), "{again}");
        let wrong = Recording::begin("a.txt", 1, &midway, 0).err().expect("an error");
        assert!(wrong.to_string().contains(".parquet"), "{wrong}");
    }
}
