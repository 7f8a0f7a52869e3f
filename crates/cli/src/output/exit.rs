// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a policy left, in JSON.

use rota_machine::exit::{ExitInfo, ExitTask, Origin};
use rota_machine::run::SchedulerExit;
use rota_machine::subs::SubExit;
use serde::Serialize;

/// The exit, and what of the policy it comes from.
#[derive(Debug, Serialize)]
pub(crate) struct ExitJson {
    kind: u32,
    code: i64,
    reason: String,
    callback: Option<String>,
    function: Option<String>,
    instruction: Option<u32>,
    source: Option<String>,
    task: Option<TaskJson>,
}

/// The task that an exit is about.
#[derive(Debug, Serialize)]
struct TaskJson {
    name: String,
    pid: u32,
    cpus: String,
    waits: Option<String>,
}

/// One of the schedulers of a run that came and went.
#[derive(Debug, Serialize)]
pub(crate) struct ExitAt {
    at_ns: u64,
    #[serde(flatten)]
    exit: ExitJson,
}

impl ExitAt {
    pub(crate) fn new(gone: &SchedulerExit) -> Self {
        Self { at_ns: gone.at_ns, exit: ExitJson::new(&gone.exit) }
    }
}

/// A sub-scheduler that left.
#[derive(Debug, Serialize)]
pub(crate) struct SubExitJson<'a> {
    at_ns: u64,
    cgroup: &'a str,
    #[serde(flatten)]
    exit: ExitJson,
}

impl<'a> SubExitJson<'a> {
    pub(crate) fn new(gone: &'a SubExit) -> Self {
        let SubExit { at_ns, cgroup, exit } = gone;
        Self { at_ns: *at_ns, cgroup, exit: ExitJson::new(exit) }
    }
}

impl ExitJson {
    pub(crate) fn new(exit: &ExitInfo) -> Self {
        let Origin { callback, place, task } = exit.origin.clone();
        Self {
            kind: exit.kind as u32,
            code: exit.code,
            reason: exit.to_string(),
            callback,
            function: place.as_ref().map(|place| place.function.clone()),
            instruction: place.as_ref().map(|place| place.insn),
            source: place.and_then(|place| place.source),
            task: task.map(|ExitTask { name, pid, cpus, waits }| TaskJson {
                name,
                pid,
                cpus,
                waits,
            }),
        }
    }
}
