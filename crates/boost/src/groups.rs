// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nice says nothing across autogroups and cpu cgroups: a thread competes within its group, and
//! the groups among each other by their weights. Says so per process, and raises the group where
//! the user allows that. It raises everybody in it.

use crate::error::BoostError;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What confines a process's nice value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// Nothing: it competes with everybody.
    None,
    /// The autogroup of its session, by number.
    Autogroup(u64),
    /// A cgroup: its path, and the files with the weights of it and those above it.
    Cgroup(String, Vec<PathBuf>),
}

impl std::fmt::Display for Confinement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("nice acts on the whole machine"),
            Self::Autogroup(id) => write!(f, "nice acts within autogroup {id} only"),
            Self::Cgroup(path, _) => write!(f, "nice acts within cgroup {path} only"),
        }
    }
}

/// What confines this process. `autogroup` is the one in which it competes, 0 for none. Where that
/// is not known it is that of its session, if autogroups are on, which errs for processes
/// that are older than the last change of that.
pub fn confinement(pid: u32, autogroup: Option<u32>) -> Confinement {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mounts = read("/proc/mounts");
    let own = read(&format!("/proc/{pid}/cgroup"));
    if let Some((path, top, name)) = cpu_cgroup(&own, &mounts) {
        let above = Path::new(path.trim_start_matches('/')).ancestors();
        let weights: Vec<PathBuf> = above
            .filter(|p| !p.as_os_str().is_empty())
            .map(|p| Path::new(&top).join(p).join(name))
            .filter(|file| file.exists())
            .collect();
        if !weights.is_empty() {
            return Confinement::Cgroup(path, weights);
        }
    }
    // Only tasks of the root cgroup are in autogroups.
    let enabled = || read("/proc/sys/kernel/sched_autogroup_enabled").trim() == "1";
    let of_session = || autogroup_of(&read(&format!("/proc/{pid}/autogroup")));
    match autogroup.map(u64::from) {
        Some(0) => Confinement::None,
        Some(id) => Confinement::Autogroup(id),
        None => match of_session().filter(|_| enabled()) {
            Some((id, _)) => Confinement::Autogroup(id),
            None => Confinement::None,
        },
    }
}

/// Path within the hierarchy that distributes the CPU, where that is mounted, and the name of
/// its weight files; `None` in the root.
fn cpu_cgroup(own: &str, mounts: &str) -> Option<(String, String, &'static str)> {
    let mut unified = None;
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        if controllers.split(',').any(|c| c == "cpu") {
            let top = mount(mounts, "cgroup", Some("cpu"))?;
            return (path != "/").then(|| (path.into(), top, "cpu.shares"));
        }
        if controllers.is_empty() {
            unified = Some(path);
        }
    }
    let path = unified.filter(|path| *path != "/")?;
    Some((path.into(), mount(mounts, "cgroup2", None)?, "cpu.weight"))
}

fn mount(mounts: &str, kind: &str, option: Option<&str>) -> Option<String> {
    mounts.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, at, found, options, ..] = words[..] else { return None };
        let has = |wanted: &str| options.split(',').any(|o| o == wanted);
        (found == kind && option.is_none_or(has)).then(|| at.to_owned())
    })
}

/// Number and nice value of `/autogroup-12 nice 0`.
fn autogroup_of(text: &str) -> Option<(u64, i32)> {
    let (id, nice) = text.trim().strip_prefix("/autogroup-")?.split_once(" nice ")?;
    Some((id.parse().ok()?, nice.parse().ok()?))
}

/// A weight as much larger as the nice value makes a thread's: a factor of 1.25 per level.
fn raised(file: &Path, weight: u64, nice: i32) -> u64 {
    let most = if file.ends_with("cpu.weight") { 10_000 } else { 262_144 };
    let factor = 1.25f64.powi(-nice);
    ((weight as f64 * factor).round() as u64).clamp(1, most)
}

/// Which groups may be raised.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allowed {
    /// `/proc/PID/autogroup`.
    pub autogroups: bool,
    /// `cpu.weight`, or `cpu.shares`.
    pub cgroups: bool,
}

/// A raised group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Raised {
    /// The file; of autogroups that of one process.
    file: PathBuf,
    /// The autogroup, else `None`.
    autogroup: Option<u64>,
    before: i64,
    set: i64,
}

/// The groups that are raised now.
#[derive(Debug, Default)]
pub struct Groups {
    allowed: Allowed,
    /// What is to be taken back, for after `kill -9`.
    saved: Option<PathBuf>,
    raised: HashMap<PathBuf, (Raised, HashSet<u32>)>,
}

impl Groups {
    /// With the file that remembers what is to be taken back; none changes nothing.
    pub fn new(allowed: Allowed, saved: Option<PathBuf>) -> Self {
        Self { allowed, saved, raised: HashMap::new() }
    }

    /// A thread of a process is boosted: raises what is allowed, and says what confines it.
    pub fn enter(&mut self, tid: u32, tgid: u32, nice: i32, autogroup: u32) -> String {
        let found = confinement(tgid, Some(autogroup));
        let text = found.to_string();
        let wanted = match found {
            Confinement::Autogroup(id) if self.allowed.autogroups => {
                vec![(PathBuf::from(format!("/autogroup-{id}")), Some((id, tgid)))]
            }
            Confinement::Cgroup(_, files) if self.allowed.cgroups => {
                files.into_iter().map(|file| (file, None)).collect()
            }
            Confinement::Autogroup(_) => return format!("{text} (--autogroups would raise it)"),
            Confinement::Cgroup(..) => return format!("{text} (--cgroups would raise it)"),
            Confinement::None => return text,
        };
        if self.saved.is_none() {
            return format!("{text}, and would be raised");
        }
        for (key, autogroup) in wanted {
            if let Some((_, threads)) = self.raised.get_mut(&key) {
                threads.insert(tid);
                continue;
            }
            let Some(plan) = plan(&key, autogroup, nice) else { continue };
            self.raised.insert(key.clone(), (plan.clone(), HashSet::from([tid])));
            // First the note, then the change.
            if self.save().is_err() || write(&plan, plan.set).is_err() {
                self.raised.remove(&key);
                let _ = self.save();
            }
        }
        format!("{text}, and is raised")
    }

    /// A thread is not boosted any more.
    pub fn leave(&mut self, tid: u32) {
        let mut over = Vec::new();
        for (key, (_, threads)) in &mut self.raised {
            if threads.remove(&tid) && threads.is_empty() {
                over.push(key.clone());
            }
        }
        for key in &over {
            if let Some((raised, _)) = self.raised.remove(key) {
                restore(&raised);
            }
        }
        if !over.is_empty() {
            // What is there too much is found to be as it should be.
            let _ = self.save();
        }
    }

    /// Takes everything back.
    pub fn leave_all(&mut self) {
        for (_, (raised, _)) in self.raised.drain() {
            restore(&raised);
        }
        if let Some(path) = &self.saved {
            let _ = fs::remove_file(path);
        }
    }

    fn save(&self) -> std::io::Result<()> {
        let Some(path) = &self.saved else { return Ok(()) };
        let all: Vec<&Raised> = self.raised.values().map(|(raised, _)| raised).collect();
        let draft = path.with_extension("draft");
        fs::write(&draft, serde_json::to_vec(&all)?)?;
        fs::rename(draft, path)
    }
}

/// Takes back what a killed daemon left in its file: how many groups.
pub fn repair(path: &Path) -> Result<usize, BoostError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(e) => return Err(BoostError::file("read", path, e)),
    };
    let left: Vec<Raised> = serde_json::from_slice(&text)
        .map_err(|e| BoostError::Corrupt { path: path.into(), what: e.to_string() })?;
    let repaired = left.iter().filter(|raised| restore(raised)).count();
    fs::remove_file(path).map_err(|e| BoostError::file("remove", path, e))?;
    Ok(repaired)
}

/// What to write for a group; nothing for one that a person gave a nice value.
fn plan(key: &Path, autogroup: Option<(u64, u32)>, nice: i32) -> Option<Raised> {
    if let Some((id, tgid)) = autogroup {
        let file = PathBuf::from(format!("/proc/{tgid}/autogroup"));
        let (found, before) = autogroup_of(&fs::read_to_string(&file).ok()?)?;
        if found != id {
            return None; // its session moved on, and the thread did not
        }
        let (before, set) = (before.into(), nice.into());
        return (before == 0).then_some(Raised { file, autogroup: Some(id), before, set });
    }
    let before: u64 = fs::read_to_string(key).ok()?.trim().parse().ok()?;
    let set = raised(key, before, nice) as i64;
    Some(Raised { file: key.into(), autogroup: None, before: before as i64, set })
}

fn value(raised: &Raised, file: &Path) -> Option<i64> {
    let text = fs::read_to_string(file).ok()?;
    match raised.autogroup {
        Some(id) => {
            autogroup_of(&text).filter(|(found, _)| *found == id).map(|(_, nice)| nice.into())
        }
        None => text.trim().parse().ok(),
    }
}

/// Gives a group back what it had, unless somebody changed it since.
fn restore(raised: &Raised) -> bool {
    let mut file = raised.file.clone();
    if raised.autogroup.is_some() && value(raised, &file).is_none() {
        // The process is gone, but its session may live.
        let member = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| {
            let file = entry.ok()?.path().join("autogroup");
            value(raised, &file).map(|_| file)
        });
        let Some(found) = { member }.next() else { return false };
        file = found;
    }
    value(raised, &file) == Some(raised.set)
        && write(&Raised { file, ..raised.clone() }, raised.before).is_ok()
}

fn write(raised: &Raised, value: i64) -> std::io::Result<()> {
    fs::write(&raised.file, value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V1: &str = "4:memory:/m\n2:cpu,cpuacct:/jobs/a\n1:cpuset:/\n0::/x\n";
    const MOUNTS: &str = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
        cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n\
        cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu,cpuacct 0 0\n\
        cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";

    #[test]
    fn the_hierarchy_that_distributes_the_cpu_is_found() {
        let found = cpu_cgroup(V1, MOUNTS);
        let cpu = "/sys/fs/cgroup/cpu".to_owned();
        assert_eq!(found, Some(("/jobs/a".to_owned(), cpu, "cpu.shares")));
        assert_eq!(cpu_cgroup("2:cpu:/\n0::/x\n", MOUNTS), None);
        let found = cpu_cgroup("0::/system.slice/a.service\n", MOUNTS);
        let unified = "/sys/fs/cgroup/unified".to_owned();
        assert_eq!(found, Some(("/system.slice/a.service".to_owned(), unified, "cpu.weight")));
        assert_eq!(cpu_cgroup("0::/\n", MOUNTS), None);
    }

    #[test]
    fn autogroups_are_read() {
        assert_eq!(autogroup_of("/autogroup-25 nice -3\n"), Some((25, -3)));
        assert_eq!(autogroup_of("/\n"), None);
    }

    #[test]
    fn weights_grow_as_those_of_threads() {
        // 1.25^4 = 2.44
        assert_eq!(raised(Path::new("a/cpu.weight"), 100, -4), 244);
        assert_eq!(raised(Path::new("a/cpu.weight"), 9000, -15), 10_000);
        assert_eq!(raised(Path::new("a/cpu.shares"), 1024, -1), 1280);
    }

    /// Files in place of cgroups.
    #[test]
    fn a_group_is_restored_when_its_last_thread_leaves_or_after_a_kill() {
        let dir = tempfile::tempdir().expect("a directory");
        let (weight, saved) = (dir.path().join("cpu.weight"), dir.path().join("groups"));
        fs::write(&weight, "100\n").expect("written");
        let read = || fs::read_to_string(&weight).expect("readable").trim().to_owned();
        let raise = || {
            let mut groups = Groups::new(Allowed::default(), Some(saved.clone()));
            let plan = plan(&weight, None, -1).expect("a plan");
            groups.raised.insert(weight.clone(), (plan.clone(), HashSet::from([1, 2])));
            groups.save().expect("saved");
            write(&plan, plan.set).expect("written");
            groups
        };
        let mut groups = raise();
        assert_eq!(read(), "125");
        groups.leave(1);
        assert_eq!(read(), "125");
        groups.leave(2);
        assert_eq!(read(), "100");

        drop(raise());
        assert_eq!((read().as_str(), repair(&saved).expect("repaired")), ("125", 1));
        assert_eq!((read().as_str(), repair(&saved).expect("nothing left")), ("100", 0));

        drop(raise());
        fs::write(&weight, "300").expect("a person's");
        assert_eq!((repair(&saved).expect("left alone"), read().as_str()), (0, "300"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(own in ".*", mounts in ".*") {
            let _ = (cpu_cgroup(&own, &mounts), autogroup_of(&own));
        }
    }
}
