// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings that begin and end while the screen is shown: each is made as `rota record --trace` makes
//! it, in a thread of its own.

use super::shared::{Shared, Wish};
use crate::commands::record::{cpus, subject, Session, TargetArgs, Wanted, DEFAULT_SCHEDULER};
use crate::error::Error;
use crate::output::units::time;
use crate::trace_files::{Picture, TraceFile, TraceTarget};
use rota_report::Caption;
use rota_trace::{Event, Sink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;

/// What the user wants recorded.
pub(super) struct Recordings {
    target: TargetArgs,
    shared: Arc<Shared>,
    running: Option<Running>,
}

struct Running {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Recordings {
    /// Of these tasks.
    pub(super) fn new(target: &TargetArgs, shared: &Arc<Shared>) -> Self {
        Self { target: target.clone(), shared: Arc::clone(shared), running: None }
    }

    /// Does what the user wished since the last time.
    pub(super) fn look(&mut self) {
        while let Some(wish) = self.shared.next_wish() {
            match wish {
                Wish::Record(path) => self.begin(path),
                Wish::StopRecording => self.end(),
            }
        }
        if self.running.as_ref().is_some_and(|running| running.thread.is_finished()) {
            self.end();
        }
    }

    fn begin(&mut self, path: String) {
        self.end();
        self.shared.latest().recording = Some(path.clone());
        let stop = Arc::new(AtomicBool::new(false));
        let (target, shared) = (self.target.clone(), Arc::clone(&self.shared));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let recorded = record(&path, &target, &stopped);
            shared.latest().recording = None;
            match recorded {
                Ok(what) => shared.say(what),
                Err(error) => shared.complain(&error),
            }
        });
        self.running = Some(Running { stop, thread });
    }

    /// Completes the file of the recording that is made.
    fn end(&mut self) {
        let Some(Running { stop, thread }) = self.running.take() else { return };
        stop.store(true, Ordering::Relaxed);
        if thread.join().is_err() {
            // It has said why.
            self.shared.latest().recording = None;
        }
    }
}

impl Drop for Recordings {
    /// Quitting ends a recording, too.
    fn drop(&mut self) {
        self.end();
    }
}

/// A file that is not there yet.
fn new_file(path: &str) -> Result<TraceTarget, Error> {
    let fail = |what: String| Error::input(format!("{path}: {what}"));
    let target = path.parse().map_err(fail)?;
    if Path::new(path).exists() {
        return Err(fail("is there already: expected the name of a new file".into()));
    }
    Ok(target)
}

/// Records into a new file until it is stopped, and says what is in it.
fn record(path: &str, target: &TargetArgs, stop: &AtomicBool) -> Result<String, Error> {
    let file = new_file(path)?;
    let session = Session::start(target, Wanted::default())?;
    let caption = Caption {
        policy: session.scheduler().unwrap_or(DEFAULT_SCHEDULER).to_owned(),
        workload: subject(target),
        machine: cpus(session.cpus()),
    };
    let picture = Picture { cpus: session.cpus(), caption, ..Picture::default() };
    let mut file = TraceFile::create(&file, &picture)?;
    let mut sink = Until { sink: file.sink(), events: 0, stop };
    let ended = session.run(&mut sink, |_, _| Ok(()))?;
    let events = sink.events;
    let length_ns = ended.facts.duration_ns;
    file.finish(length_ns)?;
    let lost = match ended.facts.counts.lost.total() {
        0 => String::new(),
        lost => format!(", {lost} were lost"),
    };
    Ok(format!("{path}: {events} events in {}{lost}", time(length_ns)))
}

/// Passes events on until the user has enough.
struct Until<'a> {
    sink: &'a mut dyn Sink,
    events: u64,
    stop: &'a AtomicBool,
}

impl Sink for Until<'_> {
    fn event(&mut self, event: &Event) {
        self.events += 1;
        self.sink.event(event);
    }

    fn wants_detail(&self) -> bool {
        self.sink.wants_detail()
    }

    fn has_enough(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_never_replaces_a_file_and_has_a_known_ending() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a.csv").display().to_string();
        assert!(new_file(&path).is_ok());
        std::fs::write(&path, "").expect("written");
        let again = new_file(&path).expect_err("an error").to_string();
        assert!(again.contains("is there already"), "{again}");
        let wrong = new_file("a.txt").expect_err("an error").to_string();
        assert!(wrong.contains(".parquet"), "{wrong}");
    }

    #[test]
    fn a_recording_that_cannot_begin_is_none_and_says_why() {
        let shared = Arc::new(Shared::default());
        let target = TargetArgs::of_tasks(None, None, false);
        let mut recordings = Recordings::new(&target, &shared);
        shared.wish(Wish::Record("a.txt".into()));
        recordings.look();
        drop(recordings);
        let latest = shared.latest();
        assert_eq!(latest.recording, None);
        let said = latest.said.clone().expect("said");
        assert!(said.starts_with("error: a.txt: "), "{said}");
    }
}
