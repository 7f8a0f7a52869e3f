// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the drivers of the kernel's tests do and check, each named as its driver is.

pub(crate) mod exits;
pub(crate) mod load;
pub(crate) mod outside;
pub(crate) mod queues;
pub(crate) mod select;
pub(crate) mod waits;

/// What goes on in a machine while a driver only sleeps: daemons, some of them bound to a CPU,
/// and some work.
pub(crate) const BACKGROUND: &str = r#"{"tasks": {
    "runner": {"loop": 1, "sleep": 1000000},
    "daemon": {"instance": 6, "run": {"dist": "exp", "mean": 300}, "sleep": {"dist": "exp", "mean": 2000}},
    "bound": {"instance": 2, "cpus": [0], "run": 200, "sleep": 3000},
    "work": {"instance": 2, "run": 30000, "sleep": 500},
    "yields": {"run": 100, "yield": "", "sleep": 700}
}}"#;

/// A workload with events.
pub(crate) fn with_events(load: &str, events: &str) -> String {
    let tasks = load.trim_end().trim_end_matches('}');
    let closed = load.matches('}').count() - tasks.matches('}').count() - 1;
    format!(r#"{tasks}{}, "events": [{events}]}}"#, "}".repeat(closed))
}
