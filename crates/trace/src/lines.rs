// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event stream as lines for people: time, CPU, task, what happened.

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use crate::event::{Event, Sink};
use crate::kind::EventKind;

/// Writes every event as a line of aligned text.
pub struct LineSink<W: Write> {
    writer: W,
    error: Option<io::Error>,
    names: FxHashMap<u32, String>,
    detail: bool,
}

impl<W: Write> LineSink<W> {
    /// Begins with a line of column names. `detail`: callbacks and queues too.
    pub fn new(writer: W, detail: bool) -> Self {
        let mut sink = LineSink { writer, error: None, names: FxHashMap::default(), detail };
        let header = format_args!(
            "{:>13} {:>4}  {:<18} {:>7}  {}",
            "time [s]", "cpu", "task", "pid", "event"
        );
        sink.error = writeln!(sink.writer, "{header}").err();
        sink
    }

    /// Hands on what is written so far; the first error that writing met.
    pub fn flush(&mut self) -> io::Result<()> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.writer.flush(),
        }
    }
}

impl<W: Write> Sink for LineSink<W> {
    fn event(&mut self, event: &Event) {
        if let EventKind::Task { pid, name, .. } = &event.kind {
            self.names.insert(*pid, name.clone());
        }
        if self.error.is_some() {
            return;
        }
        let mut detail = String::new();
        let (name, pid) = event.detail(&mut detail);
        let task = pid.and_then(|pid| self.names.get(&pid)).map_or("", String::as_str);
        let (seconds, fraction) = (event.time_ns / 1_000_000_000, event.time_ns % 1_000_000_000);
        let number = |n: Option<u32>| n.map_or(String::new(), |n| n.to_string());
        let (cpu, pid) = (number(event.cpu), number(pid));
        let line = format!(
            "{seconds:>3}.{fraction:09} {cpu:>4}  {task:<18} {pid:>7}  {name:<11} {detail}"
        );
        self.error = writeln!(self.writer, "{}", line.trim_end()).err();
    }

    fn wants_detail(&self) -> bool {
        self.detail
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::OffCpu;

    #[test]
    fn columns_stand_below_each_other() {
        let mut sink = LineSink::new(Vec::new(), false);
        let events = [
            (
                None,
                EventKind::Task { pid: 7, name: "worker".into(), weight: 100, instance_of: None },
            ),
            (Some(0), EventKind::Wakeup { pid: 7, waker: 31000 }),
            (Some(12), EventKind::SwitchIn { pid: 7 }),
            (Some(12), EventKind::SwitchOut { pid: 7, why: OffCpu::Sleep }),
        ];
        for (time_ns, (cpu, kind)) in (1_000_000_000..).step_by(1500).zip(events) {
            sink.event(&Event { time_ns, cpu, kind });
        }
        sink.flush().unwrap();
        let expected = "     time [s]  cpu  task                   pid  event\n\
            \x20 1.000000000       worker                   7  task        weight=100\n\
            \x20 1.000001500    0  worker                   7  wakeup      waker_pid=31000\n\
            \x20 1.000003000   12  worker                   7  switch_in\n\
            \x20 1.000004500   12  worker                   7  switch_out  why=sleep\n";
        assert_eq!(String::from_utf8(sink.writer).unwrap(), expected);
    }

    #[test]
    fn a_closed_output_is_told() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut sink = LineSink::new(Closed, false);
        sink.event(&Event { time_ns: 0, cpu: None, kind: EventKind::Exit { pid: 1 } });
        assert_eq!(sink.flush().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
