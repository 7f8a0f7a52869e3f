// SPDX-License-Identifier: MIT OR Apache-2.0
//! The workload's cgroups, made on this computer below one of their own.
//!
//! The tasks are threads of one process, so all groups are threaded ones
//! (`Documentation/admin-guide/cgroup-v2.rst`, Threads); the one above them has the process, and the
//! tasks that are in no group.

use crate::error::{PlayError, Result, Tried};
use rota_workload::events::CgroupAction;
use rota_workload::Group;
use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = "/sys/fs/cgroup";

/// Groups of this process.
pub(crate) struct Groups {
    /// `None`: the workload has none.
    base: Option<PathBuf>,
}

/// The group of a player's groups, by its process id.
fn base_of(pid: u32) -> PathBuf {
    Path::new(ROOT).join(format!("rota-play-{pid}"))
}

impl Groups {
    /// Makes them, if there are any, and moves this process there.
    pub(crate) fn make(groups: &[Group]) -> Result<Groups> {
        if groups.is_empty() {
            return Ok(Groups { base: None });
        }
        let base = base_of(std::process::id());
        write(&Path::new(ROOT).join("cgroup.subtree_control"), "+cpu")?;
        fs::create_dir(&base).tried(format!("cannot make {}", base.display()))?;
        write(&base.join("cgroup.procs"), &std::process::id().to_string())?;
        let made = Groups { base: Some(base) };
        for group in groups {
            made.create(&group.path)?;
            made.act(&group.path, &CgroupAction::Weight(group.cpu_weight))?;
            group.files.iter().try_for_each(|file| made.act(&group.path, file))?;
        }
        Ok(made)
    }

    fn path(&self, group: &str) -> Result<PathBuf> {
        let base = self.base.as_ref();
        let base =
            base.ok_or_else(|| PlayError::Workload(format!("there is no cgroup {group}")))?;
        Ok(base.join(group.trim_start_matches('/')))
    }

    /// With all above it, unless it is there.
    fn create(&self, group: &str) -> Result<()> {
        let mut at = self.path("")?;
        for name in group.split('/').filter(|name| !name.is_empty()) {
            let above = at.clone();
            at.push(name);
            if at.exists() {
                continue;
            }
            fs::create_dir(&at).tried(format!("cannot make {}", at.display()))?;
            write(&at.join("cgroup.type"), "threaded")?;
            write(&above.join("cgroup.subtree_control"), "+cpu")?;
        }
        Ok(())
    }

    /// Moves a thread into a group; `None`: into none of the workload's.
    pub(crate) fn enter(&self, group: Option<&str>, tid: u32) -> Result<()> {
        write(&self.path(group.unwrap_or(""))?.join("cgroup.threads"), &tid.to_string())
    }

    /// Changes a group as an event or the workload says.
    pub(crate) fn act(&self, group: &str, action: &CgroupAction) -> Result<()> {
        let at = self.path(group)?;
        let number_or_max = |n: Option<u64>| n.map_or("max".to_owned(), |n| n.to_string());
        match action {
            CgroupAction::Weight(weight) => write(&at.join("cpu.weight"), &weight.to_string()),
            CgroupAction::Max { quota_us, period_us } => {
                let period = period_us.map_or(String::new(), |us| format!(" {us}"));
                write(&at.join("cpu.max"), &format!("{}{period}", number_or_max(*quota_us)))
            }
            CgroupAction::Burst(us) => write(&at.join("cpu.max.burst"), &us.to_string()),
            CgroupAction::Idle(idle) => write(&at.join("cpu.idle"), &u8::from(*idle).to_string()),
            CgroupAction::Create => self.create(group),
            CgroupAction::Destroy => {
                fs::remove_dir(&at).tried(format!("cannot remove {}", at.display()))
            }
            CgroupAction::Scheduler(_) => {
                Err(PlayError::Workload(format!("a sub-scheduler of {group} cannot be played")))
            }
            CgroupAction::Cpus(_) => {
                Err(PlayError::Workload(format!("cpuset.cpus of {group} cannot be played")))
            }
        }
    }
}

/// Removes the groups of a player that has ended.
pub fn remove_groups(pid: u32) {
    remove(&base_of(pid));
}

fn remove(group: &Path) {
    let Ok(entries) = fs::read_dir(group) else { return };
    let below = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|of| of.is_dir()));
    below.for_each(|entry| remove(&entry.path()));
    // One that is still in use is left: its tasks have not ended.
    let _ = fs::remove_dir(group);
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).tried(format!("cannot write \"{text}\" to {}", path.display()))
}
