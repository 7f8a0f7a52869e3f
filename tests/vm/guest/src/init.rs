// SPDX-License-Identifier: MIT OR Apache-2.0
//! Process 1: mounts what programs expect, starts the jobs, reaps orphans, powers off.

use anyhow::{Context, Result};
use rustix::mount::{mount, MountFlags};
use rustix::process::{wait, WaitOptions};
use rustix::system::{reboot, RebootCommand};
use std::fs;
use std::process::Command;

const MOUNTS: [(&str, &str); 10] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/dev/shm"),
    ("tmpfs", "/tmp"),
    ("tmpfs", "/run"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("bpf", "/sys/fs/bpf"),
    ("tracefs", "/sys/kernel/tracing"),
    ("debugfs", "/sys/kernel/debug"),
];

/// Never returns while the machine is up.
pub(crate) fn run() -> Result<()> {
    if let Err(error) = bring_up().and_then(|()| do_jobs()) {
        eprintln!("rota-guest: {error:#}");
    }
    rustix::fs::sync();
    reboot(RebootCommand::PowerOff).context("cannot power off")
}

fn bring_up() -> Result<()> {
    for (kind, at) in MOUNTS {
        // Old kernels lack some; a scenario that needs one says so itself.
        if fs::create_dir_all(at).is_ok() {
            let _ = mount(kind, at, kind, MountFlags::empty(), None);
        }
    }
    let up = Command::new("/bin/busybox").args(["ifconfig", "lo", "127.0.0.1", "up"]).status();
    up.context("cannot start busybox")?;
    Ok(())
}

/// Real-time, so that no policy can keep the jobs from going on. What they start gives that up:
/// see [`ordinary`](crate::ordinary).
fn do_jobs() -> Result<()> {
    let jobs = Command::new("/usr/bin/chrt")
        .args(["-f", "10", "/bin/rota-guest", "jobs"])
        .spawn()
        .context("cannot start chrt")?;
    loop {
        match wait(WaitOptions::empty()).context("cannot wait for the jobs")? {
            Some((pid, _)) if pid.as_raw_nonzero().get() as u32 == jobs.id() => return Ok(()),
            _ => {}
        }
    }
}
