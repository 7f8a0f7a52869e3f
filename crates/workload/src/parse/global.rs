// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `global` object. What means nothing in a simulation is checked for its type, so that a file
//! also fit for rt-app stays one.

use super::events::memory::Memory;
use super::members::{Object, Scope};
use super::settings;
use crate::error::WorkloadError;
use crate::json::{Member, Value};
use crate::model::Policy;
use crate::random::MAX_SPAN_NS;

/// What `global` decides.
pub(super) struct Global {
    pub(super) duration_ns: Option<u64>,
    pub(super) ends_with_tasks: bool,
    pub(super) default_policy: Policy,
    pub(super) pi_enabled: bool,
    pub(super) rt_app: RtApp,
    pub(super) memory: Memory,
    /// Keys that stand in files of others though rt-app reads none of them.
    pub(super) warnings: Vec<WorkloadError>,
}

/// Which rt-app's meaning the file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RtApp {
    /// Version 1.0 and those before it, as distributions ship it.
    V1_0,
    /// Of today.
    Now,
}

/// Names that rt-app passes over, and what is meant.
const PASSED_OVER: [(&str, &str); 2] = [
    ("logsize", "rt-app ignores it; \"log_size\" is its key, and has no effect here either"),
    ("logstats", "rt-app ignores it; `rota sim --json` has statistics of each task"),
];

const KEYS: [&str; 16] = [
    "duration",
    "calibration",
    "default_policy",
    "pi_enabled",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
    "frag",
    "rtapp",
    "ends_with_tasks",
];

pub(super) fn read(root: &Object<'_>) -> Result<Global, WorkloadError> {
    let mut global = Global {
        duration_ns: None,
        ends_with_tasks: false,
        default_policy: Policy::Other,
        pi_enabled: false,
        rt_app: RtApp::Now,
        memory: Memory::default(),
        warnings: Vec::new(),
    };
    let Some(member) = root.get("global")? else {
        return Ok(global);
    };
    let object = Object::of(root.scope, "\"global\"", &member.node)?;
    for (key, why) in PASSED_OVER {
        if let Some(member) = object.get(key)? {
            global.warnings.push(object.scope.error(member.at, format!("\"{key}\": {why}")));
        }
    }
    let passed_over = PASSED_OVER.map(|(key, _)| key);
    object.only_or(&KEYS, &passed_over)?;
    for key in KEYS {
        let Some(member) = object.get(key)? else {
            continue;
        };
        match key {
            "duration" => global.duration_ns = duration(object.scope, member)?,
            "default_policy" => global.default_policy = settings::policy(object.scope, member)?,
            _ => {
                check(object.scope, member)?;
                keep(&mut global, member);
            }
        }
    }
    Ok(global)
}

/// What means something in a simulation, of the right type by now.
fn keep(global: &mut Global, Member { key, node, .. }: &Member) {
    match (key.as_str(), &node.value) {
        ("ends_with_tasks", Value::Bool(ends)) => global.ends_with_tasks = *ends,
        ("pi_enabled", Value::Bool(enabled)) => global.pi_enabled = *enabled,
        ("rtapp", Value::String(version)) if version == "1.0" => global.rt_app = RtApp::V1_0,
        ("mem_buffer_size", Value::Int(bytes)) => global.memory.buffer_bytes = *bytes as u64,
        ("io_device", Value::String(device)) => global.memory.device.clone_from(device),
        _ => {}
    }
}

/// Seconds; -1 and 0 set no end, as in rt-app.
fn duration(scope: Scope<'_>, member: &Member) -> Result<Option<u64>, WorkloadError> {
    const SECOND_NS: u64 = 1_000_000_000;
    let seconds = scope.integer(member, -1..=(MAX_SPAN_NS / SECOND_NS) as i64)?;
    let seconds = u64::try_from(seconds).unwrap_or(0);
    Ok((seconds > 0).then_some(seconds * SECOND_NS))
}

fn check(scope: Scope<'_>, member: &Member) -> Result<(), WorkloadError> {
    let value = &member.node.value;
    let (fits, wanted) = match member.key.as_str() {
        "pi_enabled" | "ends_with_tasks" | "lock_pages" | "gnuplot" | "cumulative_slack" => {
            (matches!(value, Value::Bool(_)), "true or false")
        }
        "calibration" => (
            match value {
                Value::Int(ns_per_loop) => *ns_per_loop > 0,
                Value::String(text) => is_cpu_name(text),
                _ => false,
            },
            "\"CPU<number>\" or the nanoseconds of one loop",
        ),
        "log_size" => (
            match value {
                Value::Int(megabytes) => *megabytes >= 0,
                Value::String(text) => matches!(text.as_str(), "disable" | "file" | "auto"),
                _ => false,
            },
            "a number of megabytes, \"disable\", \"file\" or \"auto\"",
        ),
        "mem_buffer_size" => {
            (matches!(value, Value::Int(bytes) if *bytes > 0), "a number of bytes")
        }
        "rtapp" => (
            matches!(value, Value::String(version) if ["1.0", "now"].contains(&version.as_str())),
            "\"1.0\" (a suspend waits for a resume of the name it has) or \"now\"",
        ),
        // Of older rt-app versions; its own examples still carry it.
        "frag" => (matches!(value, Value::Int(_)), "a whole number"),
        "ftrace" => (matches!(value, Value::Bool(_) | Value::String(_)), "a string"),
        _ => (matches!(value, Value::String(_)), "a string"),
    };
    if fits {
        Ok(())
    } else {
        Err(scope.mismatch(member, wanted))
    }
}

fn is_cpu_name(text: &str) -> bool {
    let number = text.strip_prefix("CPU").unwrap_or("");
    !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
}
