// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hogs of a job, by name.

use crate::{groups, ordinary};
use anyhow::{bail, Context, Result};
use rota_guest::step::Hog;
use rustix::process::{kill_process, setpriority_process, Pid, Signal};
use rustix::thread::{sched_setaffinity, CpuSet};
use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Stdio};

/// One hog.
pub(crate) struct Running {
    child: Child,
    share: Option<u64>,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Hogs {
    running: BTreeMap<String, Running>,
}

impl Hogs {
    pub(crate) fn start(&mut self, name: &str, kind: &Hog) -> Result<()> {
        for name in names(name, kind.count) {
            if self.running.contains_key(&name) {
                bail!("there is a hog '{name}' already");
            }
            let mut program = ordinary::program("/bin/rota-guest");
            let child = program.arg("hog").stdin(Stdio::null()).spawn()?;
            if kind.share.is_some() {
                kill_process(Pid::from_child(&child), Signal::STOP)?;
            }
            self.running.insert(name.clone(), Running { child, share: kind.share });
            self.renice(&name, kind.nice)?;
            if !kind.cpus.is_empty() {
                self.set_cpus(&name, &kind.cpus)?;
            }
            if let Some(group) = &kind.group {
                self.regroup(&name, group)?;
            }
        }
        Ok(())
    }

    /// Applies to `name` and to `name.0`, `name.1` …
    pub(crate) fn matching(&self, name: &str) -> Result<Vec<String>> {
        let of_group = |known: &str| {
            known.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let found: Vec<String> = self.running.keys().filter(|k| of_group(k)).cloned().collect();
        if found.is_empty() {
            bail!("there is no hog '{name}'");
        }
        Ok(found)
    }

    pub(crate) fn renice(&self, name: &str, nice: i32) -> Result<()> {
        setpriority_process(Some(self.pid(name)?), nice)
            .with_context(|| format!("cannot set the nice value of '{name}' to {nice}"))
    }

    pub(crate) fn set_share(&self, name: &str, share: u64) -> Result<()> {
        let share = format!("{}={share}", self.pid(name)?.as_raw_nonzero());
        let output = ordinary::program("rota").args(["set", "--share", &share]).output()?;
        if !output.status.success() {
            bail!("rota set --share {share}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    pub(crate) fn set_cpus(&self, name: &str, cpus: &[usize]) -> Result<()> {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|cpu| set.set(*cpu));
        sched_setaffinity(Some(self.pid(name)?), &set)
            .with_context(|| format!("cannot set the CPUs of '{name}' to {cpus:?}"))
    }

    pub(crate) fn regroup(&self, name: &str, group: &str) -> Result<()> {
        groups::enter(group, self.pid(name)?.as_raw_nonzero().get() as u32)
    }

    pub(crate) fn kill(&mut self, name: &str) -> Result<()> {
        for name in self.matching(name)? {
            if let Some(mut hog) = self.running.remove(&name) {
                hog.child.kill()?;
                hog.child.wait()?;
            }
        }
        Ok(())
    }

    /// All signals first, so that most of them die while they wait for a CPU.
    pub(crate) fn kill_all(&mut self) -> Result<()> {
        for hog in self.running.values_mut() {
            hog.child.kill()?;
        }
        for (_, mut hog) in std::mem::take(&mut self.running) {
            hog.child.wait()?;
        }
        Ok(())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.running.keys().map(String::as_str)
    }

    /// `PID=SHARE` of those that have a share.
    pub(crate) fn shares(&self) -> Vec<String> {
        let share = |hog: &Running| hog.share.map(|share| format!("{}={share}", hog.child.id()));
        self.running.values().filter_map(share).collect()
    }

    /// Lets those that waited for a policy start.
    pub(crate) fn let_go(&self) -> Result<()> {
        for hog in self.running.values().filter(|hog| hog.share.is_some()) {
            kill_process(Pid::from_child(&hog.child), Signal::CONT)?;
        }
        Ok(())
    }

    /// CPU time that a hog had, in ns.
    pub(crate) fn cpu_ns(&self, name: &str) -> Result<u64> {
        let path = format!("/proc/{}/schedstat", self.pid(name)?.as_raw_nonzero());
        let text = fs::read_to_string(&path).with_context(|| format!("'{name}' died: {path}"))?;
        text.split(' ').next().unwrap_or_default().parse().with_context(|| path)
    }

    fn pid(&self, name: &str) -> Result<Pid> {
        let hog = self.running.get(name).with_context(|| format!("there is no hog '{name}'"))?;
        Ok(Pid::from_child(&hog.child))
    }
}

fn names(name: &str, count: Option<usize>) -> Vec<String> {
    match count {
        None => vec![name.to_owned()],
        Some(count) => (0..count).map(|i| format!("{name}.{i}")).collect(),
    }
}
