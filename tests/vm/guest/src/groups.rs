// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control groups of a job.

use anyhow::{Context, Result};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const ROOT: &str = "/sys/fs/cgroup";

/// Those that a job made, parents first.
#[derive(Default)]
pub(crate) struct Groups {
    made: Vec<PathBuf>,
}

impl Groups {
    /// A group with this weight: made, with all above it, unless it is there.
    pub(crate) fn weigh(&mut self, path: &str, weight: u32) -> Result<()> {
        let mut at = PathBuf::from(ROOT);
        for name in path.split('/').filter(|name| !name.is_empty()) {
            write(&at.join("cgroup.subtree_control"), "+cpu")?;
            at.push(name);
            match fs::create_dir(&at) {
                Ok(()) => self.made.push(at.clone()),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e).with_context(|| format!("cannot make {}", at.display())),
            }
        }
        write(&at.join("cpu.weight"), &weight.to_string())
    }

    /// Once nobody is in them.
    pub(crate) fn remove_all(&mut self) -> Result<()> {
        for path in std::mem::take(&mut self.made).iter().rev() {
            fs::remove_dir(path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        Ok(())
    }
}

/// Moves a process into a group, which must be there.
pub(crate) fn enter(path: &str, pid: u32) -> Result<()> {
    let group = Path::new(ROOT).join(path.trim_start_matches('/'));
    write(&group.join("cgroup.procs"), &pid.to_string())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write \"{text}\" to {}", path.display()))
}
