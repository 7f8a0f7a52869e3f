// SPDX-License-Identifier: MIT OR Apache-2.0
//! Switches off what takes the CPU from a workload that is recorded, or makes the CPU look for
//! another task, and comes from neither the workload nor its policy.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Looks at memory twenty times a second, which interrupts the workload.
const DAMON: (&str, &str) = ("/sys/module/damon_stat/parameters/enabled", "N");
/// A timer of fair tasks, set for the end of their slice. It goes on when they sleep, and is then
/// a tick of whoever runs, at any time.
const HRTICK: (&str, &str) = ("/sys/kernel/debug/sched/features", "NO_HRTICK");
/// Looks for CPUs that are stuck: every four seconds, at any time, the stopper thread runs. RCU
/// looks for them, too.
const WATCHDOG: (&str, &str) = ("/proc/sys/kernel/watchdog", "0");
/// They guarantee the fair and the ext class some time beside real-time tasks. That of the fair
/// class is started by any kernel thread, and 0.95 s later the CPU looks for another task.
const DEADLINE_SERVERS: [&str; 2] =
    ["/sys/kernel/debug/sched/fair_server", "/sys/kernel/debug/sched/ext_server"];

/// Until the machine is off. Kernels that lack one of these need not switch it off.
pub(crate) fn keep_quiet() -> Result<()> {
    for (path, value) in [DAMON, WATCHDOG, HRTICK] {
        write(Path::new(path), value)?;
    }
    for servers in DEADLINE_SERVERS {
        let Ok(cpus) = fs::read_dir(servers) else { continue };
        for cpu in cpus {
            write(&cpu?.path().join("runtime"), "0")?;
        }
    }
    Ok(())
}

fn write(path: &Path, value: &str) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    fs::write(path, value).with_context(|| format!("cannot write {value} to {}", path.display()))
}
