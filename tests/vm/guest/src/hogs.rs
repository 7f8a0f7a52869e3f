// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hogs of a job, by name.

use crate::{groups, ordinary};
use anyhow::{bail, Context, Result};
use rota_guest::step::{Hog, Life};
use rustix::process::{kill_process, setpriority_process, Pid, Signal};
use rustix::thread::{sched_setaffinity, CpuSet};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

/// One hog.
pub(crate) struct Running {
    pid: Pid,
    /// Absent if another hog started it.
    child: Option<Child>,
    share: Option<u64>,
    threads: u32,
}

impl Running {
    fn kill(&self) -> Result<()> {
        Ok(kill_process(self.pid, Signal::KILL)?)
    }

    fn wait(&mut self) -> Result<()> {
        if let Some(child) = &mut self.child {
            child.wait()?;
        }
        Ok(())
    }
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
            program.args(["hog", &serde_json::to_string(kind)?]).stdin(Stdio::null());
            if let Some(user) = kind.user {
                program.uid(user).gid(user);
            }
            let is_parent = kind.life == Some(Life::Parent);
            if is_parent {
                program.stdout(Stdio::piped());
            }
            let mut child = program.spawn()?;
            let pid = Pid::from_child(&child);
            if kind.share.is_some() {
                kill_process(pid, Signal::STOP)?;
            }
            if let (true, Some(output)) = (is_parent, child.stdout.take()) {
                let mut line = String::new();
                BufReader::new(output).read_line(&mut line)?;
                let pid = line.trim().parse().ok().and_then(Pid::from_raw);
                let pid = pid.with_context(|| format!("'{name}' has no child: \"{line}\""))?;
                let of_it = Running { pid, child: None, share: None, threads: kind.threads };
                self.running.insert(format!("{name}.child"), of_it);
            }
            let hog = Running { pid, child: Some(child), share: kind.share, threads: kind.threads };
            self.running.insert(name.clone(), hog);
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
        for thread in self.all_threads(name)? {
            setpriority_process(Some(thread), nice)
                .with_context(|| format!("cannot set the nice value of '{name}' to {nice}"))?;
        }
        Ok(())
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
        for thread in self.all_threads(name)? {
            sched_setaffinity(Some(thread), &set)
                .with_context(|| format!("cannot set the CPUs of '{name}' to {cpus:?}"))?;
        }
        Ok(())
    }

    pub(crate) fn regroup(&self, name: &str, group: &str) -> Result<()> {
        groups::enter(group, self.pid(name)?.as_raw_nonzero().get() as u32)
    }

    pub(crate) fn kill(&mut self, name: &str) -> Result<()> {
        for name in self.matching(name)? {
            if let Some(mut hog) = self.running.remove(&name) {
                hog.kill()?;
                hog.wait()?;
            }
        }
        Ok(())
    }

    /// All signals first, so that most of them die while they wait for a CPU.
    pub(crate) fn kill_all(&mut self) -> Result<()> {
        for hog in self.running.values() {
            hog.kill()?;
        }
        for (_, mut hog) in std::mem::take(&mut self.running) {
            hog.wait()?;
        }
        Ok(())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.running.keys().map(String::as_str)
    }

    /// `PID=SHARE` of those that have a share.
    pub(crate) fn shares(&self) -> Vec<String> {
        let share =
            |hog: &Running| hog.share.map(|share| format!("{}={share}", hog.pid.as_raw_nonzero()));
        self.running.values().filter_map(share).collect()
    }

    /// Lets those that waited for a policy start.
    pub(crate) fn let_go(&self) -> Result<()> {
        for hog in self.running.values().filter(|hog| hog.share.is_some()) {
            kill_process(hog.pid, Signal::CONT)?;
        }
        Ok(())
    }

    /// CPU time that a hog had, in ns.
    pub(crate) fn cpu_ns(&self, name: &str) -> Result<u64> {
        let pid = self.pid(name)?.as_raw_nonzero().get() as u32;
        let time = rota_kernel::process_cpu_time(pid).with_context(|| format!("'{name}' died"))?;
        Ok(time.as_nanos() as u64)
    }

    /// How many CPUs a hog can use at once.
    pub(crate) fn threads(&self, name: &str) -> Result<u32> {
        Ok(self.hog(name)?.threads)
    }

    fn hog(&self, name: &str) -> Result<&Running> {
        self.running.get(name).with_context(|| format!("there is no hog '{name}'"))
    }

    fn pid(&self, name: &str) -> Result<Pid> {
        Ok(self.hog(name)?.pid)
    }

    /// Its threads now.
    fn all_threads(&self, name: &str) -> Result<Vec<Pid>> {
        let path = format!("/proc/{}/task", self.pid(name)?.as_raw_nonzero());
        let mut threads = Vec::new();
        for entry in fs::read_dir(&path).with_context(|| format!("'{name}' died: {path}"))? {
            let tid = entry?.file_name().to_string_lossy().parse()?;
            threads.extend(Pid::from_raw(tid));
        }
        Ok(threads)
    }
}

fn names(name: &str, count: Option<usize>) -> Vec<String> {
    match count {
        None => vec![name.to_owned()],
        Some(count) => (0..count).map(|i| format!("{name}.{i}")).collect(),
    }
}
