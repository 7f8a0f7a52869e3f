// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cgroups by their inode numbers, and what their files say.

use rota_trace::EventKind;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `scale_load()` of 64-bit kernels, as cgroup v1 shows it: 1024 shares are a weight of 100.
const SHARES: u64 = 1024;

/// The groups of a cgroup file system with the cpu controller.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Where it is mounted; `None`: there is none.
    root: Option<PathBuf>,
    paths: BTreeMap<u64, Arc<str>>,
    /// What was told of each.
    told: BTreeMap<Arc<str>, Values>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Values {
    weight: u32,
    /// Quota and period.
    limit_ns: Option<(u64, u64)>,
    idle: bool,
}

impl Groups {
    /// Those of the running kernel.
    pub(crate) fn of_this_computer() -> Self {
        Self::below(mount(&fs::read_to_string("/proc/self/mounts").unwrap_or_default()))
    }

    fn below(root: Option<PathBuf>) -> Self {
        Self { root, ..Self::default() }
    }

    /// Path of a group as seen from the mount. One that is gone, or outside of what this namespace
    /// shows, is named by its number.
    pub(crate) fn path(&mut self, id: u64) -> Arc<str> {
        if let Some(path) = self.paths.get(&id) {
            return Arc::clone(path);
        }
        if let Some(root) = self.root.clone() {
            self.walk(&root, "");
        }
        let unknown = || format!("/cgroup {id}").into();
        Arc::clone(self.paths.entry(id).or_insert_with(unknown))
    }

    fn walk(&mut self, directory: &Path, path: &str) {
        let Ok(about) = fs::metadata(directory) else { return };
        let named = if path.is_empty() { "/" } else { path };
        // A number comes into use again when its group is gone.
        self.paths.insert(about.ino(), named.into());
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let name = entry.file_name();
                self.walk(&entry.path(), &format!("{path}/{}", name.to_string_lossy()));
            }
        }
    }

    /// What is to be told of a group that a task is in, and of those above it: nothing if that was
    /// done.
    pub(crate) fn changes_of(&mut self, path: &str) -> Vec<EventKind> {
        let ends = path.match_indices('/').skip(1).map(|(end, _)| end).chain([path.len()]);
        let mut kinds = Vec::new();
        for end in ends.filter(|end| *end > 1) {
            let path: Arc<str> = path[..end].into();
            if !self.told.contains_key(&path) {
                kinds.extend(self.change(&path));
            }
        }
        kinds
    }

    /// What is to be told now of the groups that something was told of.
    pub(crate) fn changes(&mut self) -> Vec<EventKind> {
        let known: BTreeSet<Arc<str>> = self.told.keys().cloned().collect();
        known.iter().filter_map(|path| self.change(path)).collect()
    }

    fn change(&mut self, path: &Arc<str>) -> Option<EventKind> {
        let directory = self.root.as_ref()?.join(path.trim_start_matches('/'));
        let values = read(&directory)?;
        if self.told.insert(Arc::clone(path), values) == Some(values) {
            return None;
        }
        let Values { weight, limit_ns, idle } = values;
        Some(EventKind::CgroupSet { path: Arc::clone(path), weight, limit_ns, idle })
    }
}

/// Where the file system with the cpu controller is mounted: v1's, or else v2.
fn mount(mounts: &str) -> Option<PathBuf> {
    let find = |kind: &str, option: Option<&str>| {
        mounts.lines().find_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let (path, of_kind, options) = (fields.next()?, fields.next()?, fields.next()?);
            let has = |option| options.split(',').any(|other| other == option);
            (of_kind == kind && option.is_none_or(has)).then(|| PathBuf::from(path))
        })
    };
    find("cgroup", Some("cpu")).or_else(|| find("cgroup2", None))
}

/// The values of a group's files; `None`: it is gone, or has none.
fn read(directory: &Path) -> Option<Values> {
    let text = |name: &str| fs::read_to_string(directory.join(name)).ok();
    let number = |name: &str| text(name).and_then(|text| text.trim().parse::<i64>().ok());
    let idle = number("cpu.idle") == Some(1);
    let (weight, limit_us) = match number("cpu.weight") {
        Some(weight) => (weight, text("cpu.max").as_deref().and_then(limit)),
        None => {
            let shares = u64::try_from(number("cpu.shares")?).ok()?;
            let quota = number("cpu.cfs_quota_us").and_then(|us| u64::try_from(us).ok());
            let period = number("cpu.cfs_period_us").and_then(|us| u64::try_from(us).ok());
            (
                (shares.saturating_mul(100).saturating_add(SHARES / 2) / SHARES) as i64,
                quota.zip(period),
            )
        }
    };
    let weight = if idle { 1 } else { weight.clamp(1, 10_000) as u32 };
    let limit_ns =
        limit_us.map(|(quota, period)| (quota.saturating_mul(1000), period.saturating_mul(1000)));
    Some(Values { weight, limit_ns, idle })
}

/// `50000 100000`; `None`: `max`.
fn limit(text: &str) -> Option<(u64, u64)> {
    let (quota, period) = text.trim().split_once(' ')?;
    Some((quota.parse().ok()?, period.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(path: &str, weight: u32, limit_ns: Option<(u64, u64)>, idle: bool) -> EventKind {
        EventKind::CgroupSet { path: path.into(), weight, limit_ns, idle }
    }

    fn inode(path: &Path) -> u64 {
        fs::metadata(path).expect("a directory").ino()
    }

    #[test]
    fn a_group_is_told_with_those_above_it_once_and_again_when_it_changed() {
        let root = tempfile::tempdir().expect("a directory");
        let (service, worker) = (root.path().join("a.service"), root.path().join("a.service/w"));
        fs::create_dir_all(&worker).expect("groups");
        let write = |path: &Path, name: &str, text: &str| {
            fs::write(path.join(name), text).expect("a file");
        };
        write(&service, "cpu.weight", "250\n");
        write(&service, "cpu.max", "max 100000\n");
        write(&worker, "cpu.weight", "100\n");
        write(&worker, "cpu.max", "20000 100000\n");
        let mut groups = Groups::below(Some(root.path().into()));
        assert_eq!(&*groups.path(inode(&worker)), "/a.service/w");
        let limit_ns = Some((20_000_000, 100_000_000));
        assert_eq!(
            groups.changes_of("/a.service/w"),
            [set("/a.service", 250, None, false), set("/a.service/w", 100, limit_ns, false)]
        );
        assert_eq!(groups.changes_of("/a.service/w"), []);
        write(&service, "cpu.weight", "100\n");
        write(&service, "cpu.idle", "1\n");
        assert_eq!(groups.changes(), [set("/a.service", 1, None, true)]);
        assert_eq!(groups.changes(), []);
    }

    #[test]
    fn groups_made_later_are_found_and_the_root_has_no_values() {
        let root = tempfile::tempdir().expect("a directory");
        let mut groups = Groups::below(Some(root.path().into()));
        assert_eq!(&*groups.path(inode(root.path())), "/");
        assert_eq!(groups.changes_of("/"), []);
        let later = root.path().join("later");
        fs::create_dir(&later).expect("a group");
        assert_eq!(&*groups.path(inode(&later)), "/later");
        assert_eq!(&*groups.path(1), "/cgroup 1");
    }

    #[test]
    fn shares_of_cgroup_v1_are_weights() {
        let root = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str| {
            fs::write(root.path().join(name), text).expect("a file");
        };
        write("cpu.shares", "2048\n");
        write("cpu.cfs_quota_us", "-1\n");
        write("cpu.cfs_period_us", "100000\n");
        let values = |limit_ns| Some(Values { weight: 200, limit_ns, idle: false });
        assert_eq!(read(root.path()), values(None));
        write("cpu.cfs_quota_us", "50000\n");
        assert_eq!(read(root.path()), values(Some((50_000_000, 100_000_000))));
    }

    #[test]
    fn the_cpu_controller_is_v1s_where_it_is_mounted() {
        let v2 = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
        assert_eq!(mount(v2), Some("/sys/fs/cgroup".into()));
        let both =
            format!("{v2}cgroup /cg/set cgroup rw,cpuset 0 0\ncgroup /cg/c cgroup rw,cpu 0 0\n");
        assert_eq!(mount(&both), Some("/cg/c".into()));
        assert_eq!(mount("proc /proc proc rw 0 0\n"), None);
    }
}
