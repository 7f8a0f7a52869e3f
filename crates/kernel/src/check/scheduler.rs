// SPDX-License-Identifier: MIT OR Apache-2.0
//! Is another scheduler loaded? There is room for one.

use super::files::Root;
use super::Fact;
use crate::control;
use std::path::Path;

pub(super) fn loaded(root: &Root, socket: &Path) -> Option<Fact> {
    let name = "scheduler";
    let state = root.text("/sys/kernel/sched_ext/state").ok()?;
    if state == "disabled" {
        return Some(Fact::ok(name, "no other scheduler is loaded"));
    }
    let ops = root.text("/sys/kernel/sched_ext/root/ops").unwrap_or_default();
    let which = match ops.as_str() {
        "" => format!("another scheduler is loaded (sched_ext is {state})"),
        ops => format!("the scheduler '{ops}' is {}", state_in_words(&state)),
    };
    let tasks = match root.text("/sys/kernel/sched_ext/switch_all").as_deref() {
        Ok("1") => " and schedules all tasks",
        Ok("0") => " and schedules the tasks with policy SCHED_EXT",
        _ => "",
    };
    let how = match control::running(socket) {
        Some(rota) => {
            let (pid, policy) = (rota.pid, rota.policy);
            format!("it is `rota run {policy}` with pid {pid}; stop it with `kill -INT {pid}`")
        }
        None => "stop its program or service; if that is not to be found, the kernel returns to \
                 its own scheduler with SysRq-S (echo S > /proc/sysrq-trigger)"
            .into(),
    };
    Some(Fact::missing(name, format!("{which}{tasks}"), how))
}

fn state_in_words(state: &str) -> String {
    match state {
        "enabled" => "loaded".into(),
        "enabling" => "being loaded".into(),
        "disabling" => "being unloaded".into(),
        other => format!("in state {other}"),
    }
}
