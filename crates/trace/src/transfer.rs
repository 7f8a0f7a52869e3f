// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes that tasks give to each other, as far as a kernel tells: nothing that a simulator's run needs.

use crate::fields::Value;
use crate::kind::Field;

/// Calls in a row that put bytes into a stream, or took some out: told when the task does something
/// else, or leaves its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The task.
    pub pid: u32,
    /// What bytes go through: the same number where they are put and where they are taken.
    pub stream: u64,
    /// What it is.
    pub kind: StreamKind,
    /// Whether bytes were put.
    pub puts: bool,
    /// How many.
    pub bytes: u64,
    /// By how many calls.
    pub calls: u32,
    /// When the first of these calls ended, in nanoseconds before this event …
    pub first_ago_ns: u64,
    /// … and the last.
    pub last_ago_ns: u64,
    /// Bytes that the stream's buffer may hold, as the kernel counts them; 0: not known.
    pub buffer: u64,
}

/// What bytes go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StreamKind {
    /// A pipe or FIFO.
    Pipe,
    /// A connection of two `AF_UNIX` sockets, in one direction.
    Unix,
    /// A TCP connection, in one direction.
    Tcp,
}

impl StreamKind {
    /// What files call it.
    pub fn name(self) -> &'static str {
        match self {
            StreamKind::Pipe => "pipe",
            StreamKind::Unix => "unix",
            StreamKind::Tcp => "tcp",
        }
    }

    /// The kind that is called so.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let all = [StreamKind::Pipe, StreamKind::Unix, StreamKind::Tcp];
        all.into_iter().find(|kind| kind.name() == name)
    }
}

impl Transfer {
    pub(crate) fn describe<'a>(
        &'a self,
        mut say: impl FnMut(Field, Value<'a>),
    ) -> (&'static str, Option<u32>) {
        say(Field::Stream, Value::Number(self.stream));
        say(Field::Bytes, Value::Number(self.bytes));
        say(Field::Calls, Value::Number(self.calls.into()));
        say(Field::FirstAgoNs, Value::Number(self.first_ago_ns));
        say(Field::LastAgoNs, Value::Number(self.last_ago_ns));
        say(Field::Buffer, Value::Number(self.buffer));
        say(Field::StreamKind, Value::Text(self.kind.name()));
        (if self.puts { "put" } else { "take" }, Some(self.pid))
    }
}
