// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel says about sched_ext in `/sys/kernel/sched_ext`.

use std::path::Path;

/// Where it says it.
pub const SCHED_EXT: &str = "/sys/kernel/sched_ext";

/// State of sched_ext: `enabled`, `disabled`, `enabling`, `disabling`; `None` if the kernel
/// has no sched_ext.
pub fn state() -> Option<String> {
    read("state")
}

/// Name of the scheduler that is loaded, if one is.
pub fn loaded() -> Option<String> {
    read("root/ops").filter(|name| !name.is_empty())
}

/// Number of CPUs that went on or off line since the kernel started.
pub fn hotplug_seq() -> Option<u64> {
    read("hotplug_seq")?.parse().ok()
}

/// Number of schedulers that were loaded since the kernel started.
pub fn enable_seq() -> Option<u64> {
    read("enable_seq")?.parse().ok()
}

fn read(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(Path::new(SCHED_EXT).join(name)).ok()?;
    Some(text.trim().to_string())
}
