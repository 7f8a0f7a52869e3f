// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON array as it is written: one trace event per line.

use std::fmt::{self, Arguments, Write as _};
use std::io::{self, Write};

use serde_json::Value as Json;

use crate::event::Event;
use crate::fields::{Form, Value};
use crate::kind::Field;

/// Where an event is shown.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The group of tracks.
    pub(super) pid: u32,
    /// The track in it.
    pub(super) tid: u32,
    /// What kind of event it is, to search and filter by.
    pub(super) category: &'static str,
}

/// Writes trace events.
pub(super) struct Output<W: Write> {
    writer: W,
    /// The first error; nothing is written after it.
    error: Option<io::Error>,
    first: bool,
}

impl<W: Write> Output<W> {
    pub(super) fn new(writer: W) -> Self {
        Output { writer, error: None, first: true }
    }

    fn object(&mut self, members: Arguments<'_>) {
        if self.error.is_some() {
            return;
        }
        let separator = if std::mem::take(&mut self.first) { "[\n" } else { ",\n" };
        self.error = write!(self.writer, "{separator}{{{members}}}").err();
    }

    /// Names a group of tracks, or a track in it, and says where it stands among the others.
    pub(super) fn name(&mut self, what: Named, pid: u32, tid: u32, name: &str, order: u32) {
        let what = match what {
            Named::Group => "process",
            Named::Track => "thread",
        };
        let name = Json::from(name);
        self.object(format_args!(
            "\"ph\":\"M\",\"name\":\"{what}_name\",\"pid\":{pid},\"tid\":{tid},\
             \"args\":{{\"name\":{name}}}"
        ));
        self.object(format_args!(
            "\"ph\":\"M\",\"name\":\"{what}_sort_index\",\"pid\":{pid},\"tid\":{tid},\
             \"args\":{{\"sort_index\":{order}}}"
        ));
    }

    /// Something that lasts; `args` is the inside of an object.
    pub(super) fn slice(
        &mut self,
        place: Place,
        name: &str,
        since_ns: u64,
        until_ns: u64,
        args: Arguments<'_>,
    ) {
        let Place { pid, tid, category } = place;
        let (since, length) = (Micros(since_ns), Micros(until_ns - since_ns));
        let name = Json::from(name);
        self.object(format_args!(
            "\"ph\":\"X\",\"cat\":\"{category}\",\"name\":{name},\"pid\":{pid},\
             \"tid\":{tid},\"ts\":{since},\"dur\":{length},\"args\":{{{args}}}"
        ));
    }

    /// Something that happens at a time; `args` is the inside of an object.
    pub(super) fn instant(&mut self, place: Place, name: &str, now_ns: u64, args: &str) {
        let Place { pid, tid, category } = place;
        let (name, now) = (Json::from(name), Micros(now_ns));
        self.object(format_args!(
            "\"ph\":\"i\",\"s\":\"t\",\"cat\":\"{category}\",\"name\":{name},\"pid\":{pid},\
             \"tid\":{tid},\"ts\":{now},\"args\":{{{args}}}"
        ));
    }

    /// An end of what leads from one place to another (`phase` `s` or `f`) or lasts across
    /// tracks (`b`, `n` or `e`); `id` brings its ends together.
    pub(super) fn linked(
        &mut self,
        phase: &str,
        place: Place,
        name: &str,
        id: u64,
        now_ns: u64,
        args: &str,
    ) {
        let Place { pid, tid, category } = place;
        let (name, now) = (Json::from(name), Micros(now_ns));
        // An arrow ends in what is there at that time, not in what comes next.
        let binding = if phase == "f" { "\"bp\":\"e\"," } else { "" };
        self.object(format_args!(
            "\"ph\":\"{phase}\",{binding}\"cat\":\"{category}\",\"name\":{name},\"id\":{id},\
             \"pid\":{pid},\"tid\":{tid},\"ts\":{now},\"args\":{{{args}}}"
        ));
    }

    /// Ends the array; returns the output, or the first error that writing met.
    pub(super) fn finish(mut self) -> io::Result<W> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let end: &[u8] = if self.first { b"[\n]\n" } else { b"\n]\n" };
        self.writer.write_all(end)?;
        self.writer.flush()?;
        Ok(self.writer)
    }
}

/// What gets a name.
pub(super) enum Named {
    Group,
    Track,
}

/// What an event says, as the inside of an object, and its name.
pub(super) fn arguments(event: &Event) -> (&'static str, String) {
    let mut text = String::new();
    let (name, _) = event.describe(|field, value| argument(&mut text, field, value));
    (name, text)
}

/// Adds one member to the inside of an object.
pub(super) fn argument(text: &mut String, field: Field, value: Value<'_>) {
    let comma = if text.is_empty() { "" } else { "," };
    let name = field.name();
    // Writing to a string cannot fail.
    let _ = match (value, field.form()) {
        // Readers of JSON round such numbers.
        (Value::Number(n), Form::Bits) => write!(text, "{comma}\"{name}\":\"{n:#x}\""),
        (Value::Number(n), _) => write!(text, "{comma}\"{name}\":{n}"),
        (Value::Signed(n), _) => write!(text, "{comma}\"{name}\":{n}"),
        (Value::Text(t), _) => write!(text, "{comma}\"{name}\":{}", Json::from(t)),
    };
}

/// Nanoseconds as the format's microseconds, without rounding.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}
