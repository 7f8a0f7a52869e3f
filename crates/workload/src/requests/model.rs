// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a workload file says about requests, checked.

use std::fmt;
use std::sync::Arc;

use crate::random::Span;

/// Where requests arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its name in the file.
    pub name: String,
    /// Its kind.
    pub kind: SocketKind,
    /// Requests that may wait to be taken.
    pub backlog: u32,
    /// Whether a task replies to what arrives here. Otherwise a request is over when whoever
    /// took it asks for the next one.
    pub(crate) replies: bool,
}

/// Kinds of socket; schedulers that watch sockets may treat them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketKind {
    /// `AF_UNIX`: local.
    Unix,
    /// `AF_INET`: a network's.
    Tcp,
}

impl fmt::Display for SocketKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SocketKind::Unix => "unix",
            SocketKind::Tcp => "tcp",
        })
    }
}

/// Requests from one sender to one socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestClass {
    /// The customers or the task that send them, as the file names them.
    pub name: String,
    /// Index among the workload's sockets.
    pub socket: u32,
}

/// Everything about requests in a file. Index of a class: its number in the event stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) sockets: Vec<Socket>,
    pub(crate) classes: Vec<RequestClass>,
    pub(crate) customers: Vec<Customers>,
}

impl Plan {
    /// Index of the socket with this name.
    pub(crate) fn socket(&self, name: &str) -> Option<u32> {
        self.sockets.iter().position(|s| s.name == name).map(|at| at as u32)
    }

    /// Whether customers send to the socket with this name.
    pub(crate) fn has_customers(&self, name: &str) -> bool {
        let socket = self.socket(name);
        let mut classes = self.customers.iter().map(|c| &self.classes[c.class as usize]);
        classes.any(|class| Some(class.socket) == socket)
    }
}

/// Customers of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Customers {
    pub(crate) class: u32,
    pub(crate) demand: Span,
    /// From the beginning of the run to that of the source.
    pub(crate) delay: Span,
    /// Requests in all; `None`: no limit.
    pub(crate) count: Option<u64>,
    pub(crate) pattern: Pattern,
}

/// When customers send.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    /// Whether or not they were answered.
    Open {
        /// Between arrivals.
        gap: Span,
        /// Requests that arrive together.
        batch: u32,
        /// Arrivals happen in windows of the first length, with pauses of the second between.
        windows: Option<(u64, u64)>,
    },
    /// At these times, counted from the start of the source; never descending.
    Listed(Arc<[Arrival]>),
    /// Each user thinks, sends, waits for the answer, and thinks again.
    Closed { users: u32, think: Span },
}

/// One arrival of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) at_ns: u64,
    /// `None`: drawn as the others of the source.
    pub(crate) demand_ns: Option<u64>,
}

/// A time that may depend on the request a task serves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Amount {
    /// It does not.
    Span(Span),
    /// This part of the request's demand.
    OfRequest { millionths: u64 },
}

/// What a task does for a part of its request's demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spend {
    Run,
    Runtime,
    Sleep,
}

/// What becomes of the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum How {
    /// A request of its own; `wait`: it waits for the answer.
    New { class: u32, demand: Amount, wait: bool },
    /// It hands over the request that it serves.
    Forward,
}
