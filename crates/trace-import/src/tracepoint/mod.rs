// SPDX-License-Identifier: MIT OR Apache-2.0
//! Raw records of the scheduler's tracepoints, read by the formats that the trace brings along
//! (`events/sched/*/format` of tracefs).

mod format;
mod states;
mod tracing_data;

pub(crate) use states::{of_letters, States};
pub(crate) use tracing_data::{PageLayout, TracingData};

use crate::error::Fault;
use crate::record::{comm, in_interrupt, Named, Waker, What};
use format::{Field, Format};
use rustc_hash::FxHashMap;

/// The scheduler's tracepoints of a trace, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Tracepoints {
    by_id: FxHashMap<u16, Tracepoint>,
}

#[derive(Debug)]
struct Tracepoint {
    name: &'static str,
    common: Common,
    kind: Kind,
}

#[derive(Debug)]
struct Common {
    flags: Field,
    pid: Field,
}

#[derive(Debug)]
struct Who {
    comm: Field,
    pid: Field,
    prio: Field,
}

#[derive(Debug)]
enum Kind {
    Switch { prev: Who, state: Field, next: Who, states: States },
    Waking(Who),
    Wakeup(Who),
    WakeupNew(Who),
    Fork { parent: Field, child: Field, comm: Field },
    Exit { pid: Field },
    Migrate { pid: Field },
    Rename { pid: Field, comm: Field },
}

impl Tracepoints {
    /// Takes the text of a format file, if it is of a tracepoint that is read.
    pub(crate) fn add(&mut self, system: &str, text: &str) -> Result<(), String> {
        let name = format::name(text).unwrap_or_default();
        let known = ["sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new"]
            .into_iter()
            .chain(["sched_process_fork", "sched_process_exit", "sched_migrate_task"])
            .find(|known| system == "sched" && *known == name)
            .or_else(|| (system == "task" && name == "task_rename").then_some("task_rename"));
        let Some(name) = known else { return Ok(()) };
        let format = Format::parse(text).map_err(|what| format!("format of {name}: {what}"))?;
        let tracepoint =
            Tracepoint::new(name, &format).map_err(|what| format!("format of {name}: {what}"))?;
        self.by_id.insert(format.id, tracepoint);
        Ok(())
    }

    /// The task that ran when a record of these tracepoints was made.
    pub(crate) fn current(&self, raw: &[u8]) -> Option<u32> {
        let id = u16::from_le_bytes(*raw.first_chunk()?);
        self.by_id.get(&id)?.common.pid.signed(raw).map(|pid| pid as u32)
    }

    /// The record that these bytes are; `None`: another tracepoint's.
    pub(crate) fn decode(&self, raw: &[u8], place: u64) -> Result<Option<What>, Fault> {
        let Some(id) = raw.get(..2) else {
            return Err(Fault::byte(place, "a record without the number of its tracepoint"));
        };
        let Some(tracepoint) = self.by_id.get(&u16::from_le_bytes([id[0], id[1]])) else {
            return Ok(None);
        };
        tracepoint.decode(raw).map(Some).ok_or_else(|| {
            let (name, len) = (tracepoint.name, raw.len());
            Fault::byte(place, format!("{name} of {len} bytes: expected those that its format has"))
        })
    }
}

impl Tracepoint {
    fn new(name: &'static str, format: &Format) -> Result<Self, String> {
        let field = |name: &str| format.number(name);
        let who = |prefix: &str| -> Result<Who, String> {
            Ok(Who {
                comm: format.text(&format!("{prefix}comm"))?,
                pid: field(&format!("{prefix}pid"))?,
                prio: field(&format!("{prefix}prio"))?,
            })
        };
        let kind = match name {
            "sched_switch" => Kind::Switch {
                prev: who("prev_")?,
                state: field("prev_state")?,
                next: who("next_")?,
                states: States::of_format(&format.print)?,
            },
            "sched_waking" => Kind::Waking(who("")?),
            "sched_wakeup" => Kind::Wakeup(who("")?),
            "sched_wakeup_new" => Kind::WakeupNew(who("")?),
            "sched_process_fork" => Kind::Fork {
                parent: field("parent_pid")?,
                child: field("child_pid")?,
                comm: format.text("child_comm")?,
            },
            "sched_process_exit" => Kind::Exit { pid: field("pid")? },
            "sched_migrate_task" => Kind::Migrate { pid: field("pid")? },
            _ => Kind::Rename { pid: field("pid")?, comm: format.text("newcomm")? },
        };
        let common = Common { flags: field("common_flags")?, pid: field("common_pid")? };
        Ok(Self { name, common, kind })
    }

    fn decode(&self, raw: &[u8]) -> Option<What> {
        let pid = |field: &Field| field.signed(raw).map(|pid| pid as u32);
        let who = |who: &Who| -> Option<Named> {
            let prio = i32::try_from(who.prio.signed(raw)?).ok();
            Some(Named { comm: comm(who.comm.bytes(raw)?), pid: pid(&who.pid)?, prio })
        };
        let waker = || -> Option<Waker> {
            let interrupt = in_interrupt(self.common.flags.signed(raw)? as u64);
            Some(Waker { pid: pid(&self.common.pid)?, interrupt: Some(interrupt) })
        };
        Some(match &self.kind {
            Kind::Switch { prev, state, next, states } => What::Switch {
                prev: who(prev)?,
                left: states.left(state.signed(raw)? as u64),
                next: who(next)?,
            },
            Kind::Waking(task) => What::Waking { task: who(task)?, by: waker()? },
            Kind::Wakeup(task) => What::Wakeup { task: who(task)?, by: waker()? },
            Kind::WakeupNew(task) => What::WakeupNew { task: who(task)?, by: waker()? },
            Kind::Fork { parent, child, comm: name } => What::Fork {
                parent: pid(parent)?,
                child: pid(child)?,
                comm: comm(name.bytes(raw)?),
            },
            Kind::Exit { pid: field } => What::Exit { pid: pid(field)? },
            Kind::Migrate { pid: field } => What::Migrate { pid: pid(field)? },
            Kind::Rename { pid: field, comm: name } => {
                What::Name { pid: pid(field)?, comm: comm(name.bytes(raw)?) }
            }
        })
    }
}
