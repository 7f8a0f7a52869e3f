// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event stream as CSV: one line per event.
//!
//! Columns: `time_ns`, `cpu` (empty: none), `event`, `pid` (empty: none), `task` (its name),
//! `detail` (`key=value` pairs separated by blanks; a free text comes last).

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use crate::event::{Event, Sink};
use crate::kind::EventKind;

pub(crate) const COLUMNS: [&str; 6] = ["time_ns", "cpu", "event", "pid", "task", "detail"];

/// Writes every event as a line of CSV.
pub struct CsvSink<W: Write> {
    /// `None` once an error ended the output.
    writer: Option<::csv::Writer<W>>,
    error: Option<io::Error>,
    names: FxHashMap<u32, String>,
    detail: String,
}

impl<W: Write> CsvSink<W> {
    /// Begins the output with the column names. Errors are kept for [`CsvSink::finish`].
    pub fn new(output: W) -> Self {
        let mut sink = CsvSink {
            writer: Some(::csv::Writer::from_writer(output)),
            error: None,
            names: FxHashMap::default(),
            detail: String::new(),
        };
        sink.write(|writer| writer.write_record(COLUMNS));
        sink
    }

    /// Ends the output; returns it, or the first error that writing met.
    pub fn finish(mut self) -> io::Result<W> {
        match (self.error.take(), self.writer.take()) {
            (None, Some(writer)) => writer.into_inner().map_err(|e| e.into_error()),
            (error, _) => Err(error.unwrap_or_else(|| io::ErrorKind::Other.into())),
        }
    }

    /// Hands on what is written so far; the first error that writing met.
    pub fn flush(&mut self) -> io::Result<()> {
        match (self.error.take(), &mut self.writer) {
            (None, Some(writer)) => writer.flush(),
            (error, _) => Err(error.unwrap_or_else(|| io::ErrorKind::Other.into())),
        }
    }

    fn write(&mut self, write: impl FnOnce(&mut ::csv::Writer<W>) -> ::csv::Result<()>) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        if let Err(error) = write(writer) {
            self.error = Some(error.into());
            self.writer = None;
        }
    }
}

impl<W: Write> Sink for CsvSink<W> {
    fn event(&mut self, event: &Event) {
        if let EventKind::Task { pid, name, .. } = &event.kind {
            self.names.insert(*pid, name.clone());
        }
        let mut detail = std::mem::take(&mut self.detail);
        let (name, pid) = event.detail(&mut detail);
        let time = event.time_ns.to_string();
        let cpu = event.cpu.map_or(String::new(), |cpu| cpu.to_string());
        let number = pid.map_or(String::new(), |pid| pid.to_string());
        let names = std::mem::take(&mut self.names);
        let task = pid.and_then(|pid| names.get(&pid)).map_or("", String::as_str);
        self.write(|writer| writer.write_record([&time, &cpu, name, &number, task, &detail]));
        self.names = names;
        self.detail = detail;
    }

    fn wants_detail(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::full_disk::Full;
    use crate::kind::{Cost, OffCpu};

    fn lines(events: &[Event]) -> String {
        let mut sink = CsvSink::new(Vec::new());
        for event in events {
            sink.event(event);
        }
        String::from_utf8(sink.finish().unwrap()).unwrap()
    }

    fn on_cpu(time_ns: u64, kind: EventKind) -> Event {
        Event { time_ns, cpu: Some(2), kind }
    }

    fn call(op: &'static str, pid: u32, cost: Cost) -> EventKind {
        EventKind::OpCall { op: op.into(), pid, cost }
    }

    #[test]
    fn every_event_has_its_line() {
        let text = lines(&[
            Event {
                time_ns: 0,
                cpu: None,
                kind: EventKind::Task {
                    pid: 7,
                    name: "a,\"b\"-0".into(),
                    weight: 100,
                    instance_of: Some("a,\"b\"".into()),
                },
            },
            Event { time_ns: 0, cpu: None, kind: EventKind::Fork { pid: 7, parent: 0 } },
            Event { time_ns: 1, cpu: None, kind: EventKind::Wakeup { pid: 7, waker: 0 } },
            on_cpu(2, EventKind::Enqueue { pid: 7, enq_flags: 0x11 }),
            on_cpu(2, call("dispatch", 0, Cost::Instructions(40))),
            on_cpu(2, call("enqueue", 7, Cost::Nanoseconds(850))),
            on_cpu(3, EventKind::Dispatch { pid: 7, dsq: 0x8000_0000_0000_0001 }),
            on_cpu(4, EventKind::Migrate { pid: 7, from: 1, to: 2 }),
            on_cpu(4, EventKind::SwitchIn { pid: 7 }),
            on_cpu(4, EventKind::Pick { pid: 7, slice_ns: 20_000_000 }),
            on_cpu(9, EventKind::SwitchOut { pid: 7, why: OffCpu::Exit }),
            on_cpu(9, EventKind::Exit { pid: 7 }),
            Event {
                time_ns: 9,
                cpu: None,
                kind: EventKind::PolicyExit { kind: 1024, code: 0, reason: "stall, 30s".into() },
            },
        ]);
        let expected = "time_ns,cpu,event,pid,task,detail\n\
            0,,task,7,\"a,\"\"b\"\"-0\",weight=100\n\
            0,,fork,7,\"a,\"\"b\"\"-0\",parent_pid=0\n\
            1,,wakeup,7,\"a,\"\"b\"\"-0\",waker_pid=0\n\
            2,2,enqueue,7,\"a,\"\"b\"\"-0\",enq_flags=0x11\n\
            2,2,op_call,,,op=dispatch op_instructions=40\n\
            2,2,op_call,7,\"a,\"\"b\"\"-0\",op=enqueue op_ns=850\n\
            3,2,dispatch,7,\"a,\"\"b\"\"-0\",dsq_id=0x8000000000000001\n\
            4,2,migrate,7,\"a,\"\"b\"\"-0\",from_cpu=1 to_cpu=2\n\
            4,2,switch_in,7,\"a,\"\"b\"\"-0\",\n\
            4,2,pick,7,\"a,\"\"b\"\"-0\",slice_ns=20000000\n\
            9,2,switch_out,7,\"a,\"\"b\"\"-0\",why=exit\n\
            9,2,exit,7,\"a,\"\"b\"\"-0\",\n\
            9,,policy_exit,,,\"exit_kind=1024 exit_code=0 exit_reason=stall, 30s\"\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_write_error_is_kept_for_the_end() {
        for room in [0, 10_000] {
            let mut sink = CsvSink::new(Full(room));
            for time in 0..10_000 {
                sink.event(&on_cpu(time, EventKind::SwitchIn { pid: 1 }));
            }
            assert_eq!(sink.finish().err().unwrap().to_string(), "disk full");
        }
    }
}
