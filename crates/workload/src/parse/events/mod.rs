// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a phase, each group of them in a file of its own.
//!
//! A new event needs a row in [`keys`], a reader here, and what it does in the runner.

use std::collections::HashMap;

use super::keys::{self, Kind};
use super::members::{Object, Scope};
use super::sockets::TaskSockets;
use super::Names;
use crate::error::WorkloadError;
use crate::event::Event;
use crate::json::Member;

pub(super) mod flows;
pub(super) mod locks;
pub(super) mod meetings;
pub(super) mod memory;
pub(super) mod sockets;
pub(super) mod tasks;
pub(super) mod time;

/// Reads an event of one kind.
pub(super) type Read = fn(&mut Place<'_>, &Member) -> Result<Event, WorkloadError>;

/// Where an event stands and what it may refer to.
pub(super) struct Place<'a> {
    scope: Scope<'a>,
    /// Names known over the whole file.
    names: &'a mut Names,
    /// What the events of its task share.
    own: &'a mut Own,
}

/// What the events of a task share.
pub(super) struct Own {
    /// Its "unique…" timers.
    pub(super) timers: time::Timers,
    /// How many of it start by themselves.
    pub(super) instances: u32,
    /// Its sockets.
    pub(super) sockets: TaskSockets,
}

/// The events of a phase (or of a task without phases) in file order.
pub(super) fn read(
    object: &Object<'_>,
    names: &mut Names,
    own: &mut Own,
) -> Result<Vec<Event>, WorkloadError> {
    let mut place = Place { scope: object.scope, names, own };
    let mut events = Vec::new();
    for member in object.members {
        if let Kind::Event(read) = keys::kind(&member.key) {
            events.push(read(&mut place, member)?);
        }
    }
    if events.is_empty() {
        let message = "there is no event: it needs at least one of run, runtime, sleep, timer, \
                       mem, memrun, iorun, yield, fork, suspend, resume, lock, unlock, wait, \
                       signal, broad, sync, barrier, sem_post, sem_wait, \
                       send, recv, reply, flow, vfork or exit";
        return Err(object.scope.error(object.at, message));
    }
    Ok(events)
}

/// Names in order of first mention.
#[derive(Default)]
pub(super) struct NameList {
    index: HashMap<String, u32>,
    list: Vec<String>,
}

impl NameList {
    fn mention(&mut self, name: &str) -> u32 {
        let next = self.list.len() as u32;
        let index = *self.index.entry(name.to_owned()).or_insert(next);
        if index == next {
            self.list.push(name.to_owned());
        }
        index
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn into_list(self) -> Vec<String> {
        self.list
    }
}
