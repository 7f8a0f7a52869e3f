// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text of ftrace: tracefs' own `trace`, `trace-cmd report`, and `perf script`.
//!
//! A line is `task-pid [cpu] flags seconds: event: text`, without the flags in two of them, and
//! with a blank for the dash and the event's system in perf's.

mod event;
mod line;

use crate::error::Fault;
use crate::facts::Header;
use crate::input::Input;
use crate::record::{Record, Records, What};
use line::Line;

/// Longest line.
const MOST: usize = 1 << 16;

/// A text that is read.
pub(crate) struct Text {
    input: Input,
    buffer: Vec<u8>,
    number: u64,
}

/// Opens a text.
pub(crate) fn open(mut input: Input, header: &mut Header) -> Result<Text, Fault> {
    let mut buffer = Vec::new();
    // What it says of itself comes before the first event.
    while input.line(MOST, &mut buffer)? {
        let text = String::from_utf8_lossy(&buffer);
        if Line::parse(&text).is_some() {
            break;
        }
        if let Some(tracer) = text.strip_prefix("# tracer:") {
            header.tool = Some(format!("ftrace, tracer {}", tracer.trim()));
        } else if text.starts_with("cpus=") {
            header.tool = Some("trace-cmd report".into());
        }
    }
    input.seek(0, "the begin")?;
    Ok(Text { input, buffer, number: 0 })
}

/// Whether the begin of a file holds events as text.
pub(crate) fn looks_like_trace(start: &[u8]) -> bool {
    if start.contains(&0) {
        return false;
    }
    let text = String::from_utf8_lossy(start);
    let ftrace = text.starts_with("# tracer:") || text.starts_with("cpus=");
    ftrace || text.lines().any(|line| Line::parse(line).is_some_and(|line| line.is_event()))
}

impl Records for Text {
    fn next(&mut self) -> Result<Option<Record>, Fault> {
        while self.input.line(MOST, &mut self.buffer)? {
            self.number += 1;
            let text = String::from_utf8_lossy(&self.buffer);
            let Some(line) = Line::parse(&text) else {
                if let Some((cpu, count)) = lost(&text) {
                    let what = What::Lost { count };
                    return Ok(Some(Record { time_ns: 0, cpu, what }));
                }
                continue;
            };
            let number = self.number;
            let what = event::read(&line)
                .map_err(|what| Fault::line(number, format!("{}: {what}", line.event)))?;
            if let Some(what) = what {
                return Ok(Some(Record { time_ns: line.time_ns, cpu: line.cpu, what }));
            }
        }
        Ok(None)
    }
}

/// `CPU:3 [LOST 12 EVENTS]`, `CPU:3 [LOST EVENTS]`, or trace-cmd's `CPU:3 [12 EVENTS DROPPED]`.
fn lost(text: &str) -> Option<(u32, Option<u64>)> {
    let (cpu, rest) = text.trim().strip_prefix("CPU:")?.split_once(" [")?;
    let words = rest.strip_suffix(']')?;
    let count = match words {
        "LOST EVENTS" | "EVENTS DROPPED" => None,
        words => {
            let from = words.strip_prefix("LOST ").and_then(|rest| rest.strip_suffix(" EVENTS"));
            let from = from.or_else(|| words.strip_suffix(" EVENTS DROPPED"))?;
            Some(from.parse().ok()?)
        }
    };
    Some((cpu.parse().ok()?, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_told_by_their_words() {
        assert_eq!(lost("CPU:3 [LOST 12 EVENTS]"), Some((3, Some(12))));
        assert_eq!(lost("CPU:0 [LOST EVENTS]"), Some((0, None)));
        assert_eq!(lost("CPU:1 [7 EVENTS DROPPED]"), Some((1, Some(7))));
        assert_eq!(lost("CPU:1 [EVENTS DROPPED]"), Some((1, None)));
        assert_eq!(lost("CPU 1 is empty"), None);
    }

    #[test]
    fn other_texts_are_no_traces() {
        for text in ["", "{\"tasks\": {}}", "name = \"x\"\n[cpu]\ncount: 3: 4\n", "a\0b"] {
            assert!(!looks_like_trace(text.as_bytes()), "{text}");
        }
    }
}
