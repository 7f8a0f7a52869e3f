// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cgroups of the simulated machine as a v2 hierarchy in `/sys/fs/cgroup` (`cgroup_base_files`,
//! `cpu_files` and `dfl_files` of the kernel).

use crate::cpulist::list;
use crate::files::Files;
use rota_machine::user_half::groups::GroupFiles;
use std::collections::BTreeMap;
use std::io;

/// Where the hierarchy is mounted.
pub(crate) const ROOT: &str = "/sys/fs/cgroup";

/// The folder of a group.
fn folder(group: &str) -> String {
    format!("{ROOT}{}", group.trim_end_matches('/'))
}

/// The group of which a path is the folder.
pub(crate) fn group_of_folder(path: &str) -> Option<&str> {
    match path.strip_prefix(ROOT)? {
        "" => Some("/"),
        group if group.starts_with('/') => Some(group),
        _ => None,
    }
}

/// The group of which a path lists the tasks, and whether it lists processes only.
pub(crate) fn members_of(path: &str) -> Option<(String, bool)> {
    let (above, name) = path.rsplit_once('/')?;
    let processes = match name {
        "cgroup.procs" => true,
        "cgroup.threads" => false,
        _ => return None,
    };
    Some((group_of_folder(above)?.to_owned(), processes))
}

/// Its files. Those that list tasks are empty here: they are told when they are opened.
pub(crate) fn files(group: &GroupFiles) -> Vec<(String, String)> {
    let folder = folder(&group.path);
    let mut all: Vec<(String, String)> = Vec::new();
    let mut file = |name: &str, text: String| all.push((format!("{folder}/{name}"), text));
    file("cgroup.controllers", "cpuset cpu\n".into());
    file("cgroup.subtree_control", "cpuset cpu\n".into());
    file("cgroup.procs", String::new());
    file("cgroup.threads", String::new());
    file("cpuset.cpus.effective", list(group.effective.iter()) + "\n");
    // those of CFTYPE_NOT_ON_ROOT
    if group.path != "/" {
        let cpus = group.cpus.map_or(String::new(), |cpus| list(cpus.iter()));
        let quota = group.quota_us.map_or("max".into(), |us| us.to_string());
        file("cgroup.type", "domain\n".into());
        file("cpuset.cpus", cpus + "\n");
        // sched_weight_to_cgroup() of an idle group is 0
        file("cpu.weight", format!("{}\n", if group.idle { 0 } else { group.weight }));
        file("cpu.idle", format!("{}\n", u8::from(group.idle)));
        file("cpu.max", format!("{quota} {}\n", group.period_us));
        file("cpu.max.burst", format!("{}\n", group.burst_us));
    }
    all
}

/// Makes, rewrites and removes what is different, and nothing else: a program may watch it.
pub(crate) fn follow(before: &[GroupFiles], now: &[GroupFiles], tree: &Files) -> io::Result<()> {
    let known: BTreeMap<&str, &GroupFiles> =
        before.iter().map(|group| (group.path.as_str(), group)).collect();
    let there: BTreeMap<&str, u64> =
        now.iter().map(|group| (group.path.as_str(), group.id)).collect();
    for gone in before.iter().filter(|group| there.get(group.path.as_str()) != Some(&group.id)) {
        tree.remove(&folder(&gone.path))?;
    }
    for group in now {
        let old = known.get(group.path.as_str()).filter(|old| old.id == group.id);
        if old.is_some_and(|old| *old == group) {
            continue;
        }
        let old = old.map_or(Vec::new(), |old| files(old));
        for (path, text) in files(group) {
            if !old.contains(&(path.clone(), text.clone())) {
                tree.add(&path, text.as_bytes())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_machine::cpuset::CpuSet;
    use rota_machine::user_half::groups::at_start;
    use std::fs;

    fn groups(text: &str) -> Vec<GroupFiles> {
        let workload = rota_workload::parse("w", text).expect("a workload");
        at_start(&workload.groups, &CpuSet::first_n(8))
    }

    const LOAD: &str = r#"{"tasks": {
        "a": {"run": 1, "taskgroup": {"path": "/web/front", "cpu.weight": 300, "cpuset.cpus": [0, 1, 2]}},
        "b": {"run": 1, "taskgroup": {"path": "/batch", "cpu.max": "50000 100000", "cpu.idle": 1}}
    }}"#;

    #[test]
    fn files_say_what_the_workload_says_of_its_groups() {
        let all: BTreeMap<_, _> = groups(LOAD).iter().flat_map(files).collect();

        let text = |path: &str| all.get(&format!("{ROOT}{path}")).map(String::as_str);
        assert_eq!(text("/web/front/cpuset.cpus"), Some("0-2\n"));
        assert_eq!(text("/web/front/cpuset.cpus.effective"), Some("0-2\n"));
        assert_eq!(text("/web/front/cpu.weight"), Some("300\n"));
        assert_eq!(text("/web/cpuset.cpus"), Some("\n"), "made for the one below");
        assert_eq!(text("/web/cpuset.cpus.effective"), Some("0-7\n"));
        assert_eq!(text("/batch/cpu.max"), Some("50000 100000\n"));
        assert_eq!(
            (text("/batch/cpu.idle"), text("/batch/cpu.weight")),
            (Some("1\n"), Some("0\n"))
        );
        assert_eq!((text("/cpu.weight"), text("/cpuset.cpus.effective")), (None, Some("0-7\n")));
    }

    #[test]
    fn a_change_leaves_what_is_as_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let before = groups(LOAD);
        let all: Vec<_> = before.iter().flat_map(files).collect();
        let bytes: Vec<_> = all.into_iter().map(|(path, text)| (path, text.into_bytes())).collect();
        let tree = Files::write(folder.path(), &bytes).expect("written");
        let at = |path: &str| folder.path().join(format!("{}{path}", &ROOT[1..]));
        // would be gone if the folder was made anew
        fs::write(at("/web/mark"), "").expect("written");

        let mut now = before.clone();
        now.retain(|group| group.path != "/batch");
        now.last_mut().expect("/web/front").weight = 7;
        let mut made = now[1].clone();
        (made.path, made.id) = ("/made".into(), 9);
        now.push(made);
        follow(&before, &now, &tree).expect("followed");

        assert!(at("/web/mark").exists() && !at("/batch").exists());
        assert_eq!(fs::read_to_string(at("/web/front/cpu.weight")).expect("read"), "7\n");
        assert_eq!(fs::read_to_string(at("/made/cpu.weight")).expect("read"), "100\n");
    }

    #[test]
    fn a_group_that_takes_the_place_of_another_is_a_new_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let before = groups(LOAD);
        let tree = Files::write(folder.path(), &[]).expect("written");
        follow(&[], &before, &tree).expect("followed");
        let mark = folder.path().join(format!("{}/batch/mark", &ROOT[1..]));
        fs::write(&mark, "").expect("written");

        let mut now = before.clone();
        now.last_mut().expect("/batch").id += 1;
        follow(&before, &now, &tree).expect("followed");

        assert!(!mark.exists() && mark.with_file_name("cpu.max").exists());
    }

    #[test]
    fn lists_of_tasks_are_told_from_other_files() {
        assert_eq!(members_of("/sys/fs/cgroup/cgroup.procs"), Some(("/".into(), true)));
        assert_eq!(members_of("/sys/fs/cgroup/a/b/cgroup.threads"), Some(("/a/b".into(), false)));
        assert_eq!(members_of("/sys/fs/cgroup/a/cpu.max"), None);
        assert_eq!(members_of("/sys/fs/cgroups/cgroup.procs"), None);
    }
}
