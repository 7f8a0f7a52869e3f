// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs and sched_ext as `/sys` shows them.

use anyhow::{bail, Context, Result};
use std::fs;
use std::thread::sleep;
use std::time::Duration;

use crate::records::now;

const SCHED_EXT: &str = "/sys/kernel/sched_ext";

/// State of sched_ext; empty if the kernel has none.
pub(crate) fn state() -> String {
    read(&format!("{SCHED_EXT}/state"))
}

/// Name of the policy that is loaded, if one is.
pub(crate) fn ops() -> String {
    read(&format!("{SCHED_EXT}/root/ops"))
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| String::new(), |text| text.trim().to_owned())
}

/// Number of online CPUs.
pub(crate) fn online_cpus() -> Result<usize> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online")?;
    let mut cpus = 0;
    for range in text.trim().split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        cpus += to.parse::<usize>()? - from.parse::<usize>()? + 1;
    }
    Ok(cpus)
}

/// Takes a CPU offline or brings it back.
pub(crate) fn set_online(cpu: u32, online: bool) -> Result<()> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    fs::write(&path, if online { "1" } else { "0" }).with_context(|| format!("cannot write {path}"))
}

/// Brings every CPU back.
pub(crate) fn all_online() -> Result<()> {
    for entry in fs::read_dir("/sys/devices/system/cpu")? {
        let online = entry?.path().join("online");
        if fs::read_to_string(&online).is_ok_and(|text| text.trim() == "0") {
            fs::write(&online, "1").with_context(|| online.display().to_string())?;
        }
    }
    Ok(())
}

/// Polls until `met` is so. The error says what was waited for.
pub(crate) fn wait_until(
    what: &str,
    within: Duration,
    mut met: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let start = now();
    while !met()? {
        if now() - start > within {
            bail!("{what}: not within {} ms", within.as_millis());
        }
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Waits for a state of sched_ext.
pub(crate) fn wait_for_state(wanted: &str, within: Duration) -> Result<()> {
    wait_until(&format!("state {wanted}"), within, || Ok(state() == wanted))
        .with_context(|| format!("sched_ext is '{}'", state()))
}
