// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workload in a cgroup of its own, as where a player runs it on a computer.

use crate::events::{Action, TaskSetting};
use crate::model::{Group, Workload};
use std::sync::Arc;

/// `cpu.weight` of a cgroup that nobody gave another.
const DEFAULT_WEIGHT: u32 = 100;

impl Workload {
    /// Puts all tasks and cgroups below a new cgroup, `/name`, if there are cgroups.
    pub fn put_below(&mut self, name: &str) {
        if self.groups.is_empty() {
            return;
        }
        let base = format!("/{name}");
        let below = |path: &str| format!("{base}{}", path.trim_end_matches('/'));
        let moved = |path: &mut Option<Arc<str>>| {
            *path = Some(below(path.as_deref().unwrap_or("/")).into());
        };
        self.groups.iter_mut().for_each(|group| group.path = below(&group.path));
        let whole = Group { path: base.clone(), cpu_weight: DEFAULT_WEIGHT, files: Vec::new() };
        self.groups.insert(0, whole);
        self.tasks.iter_mut().for_each(|task| moved(&mut task.settings.group));
        for definition in &mut self.definitions {
            moved(&mut definition.settings.group);
            let program = Arc::make_mut(&mut definition.program);
            let changes = program.phases.iter_mut().map(|phase| &mut phase.change);
            changes.filter_map(|change| change.group.as_mut()).for_each(moved);
        }
        for event in &mut self.outside {
            match &mut event.action {
                Action::Set(_, TaskSetting::Cgroup(group)) => moved(group),
                Action::Cgroup(group, _) => *group = below(group).into(),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;
    use crate::runner::{SeededRunner, Step};
    use crate::TaskIx;
    use std::sync::Arc;

    #[test]
    fn tasks_groups_phases_and_events_are_below_the_new_group() {
        let text = r#"{"tasks": {
            "free": {"phases": {"a": {"loop": 1, "run": 1},
                "b": {"loop": 1, "taskgroup": {"path": "/web/front"}, "run": 1}}},
            "web": {"taskgroup": {"path": "/web", "cpu.weight": 300}, "run": 1}},
            "events": [{"at": "1ms", "cgroup": "/web", "cpu.weight": 50},
                {"at": "2ms", "task": "web", "move": "/"}]}"#;
        let mut workload = parse("w.json", text).unwrap();
        workload.put_below("play");

        let groups: Vec<(&str, u32)> =
            workload.groups.iter().map(|group| (&*group.path, group.cpu_weight)).collect();
        assert_eq!(groups, [("/play", 100), ("/play/web", 300), ("/play/web/front", 100)]);
        let events: Vec<String> =
            workload.outside.iter().map(|event| event.action.to_string()).collect();
        assert_eq!(events, ["cgroup /play/web cpu.weight 50", "task web cgroup /play"]);

        let mut runner = SeededRunner::new(Arc::new(workload), 0);
        let group = |runner: &SeededRunner, ix| runner.settings(TaskIx(ix)).group.clone().unwrap();
        assert_eq!(
            [group(&runner, 0), group(&runner, 1)].map(|g| g.to_string()),
            ["/play", "/play/web"]
        );
        let steps = (0..4).map(|ns| runner.next(TaskIx(0), ns));
        let changed = steps.into_iter().find_map(|step| match step {
            Step::Change(settings) => settings.group,
            _ => None,
        });
        assert_eq!(changed.as_deref(), Some("/play/web/front"));
    }

    #[test]
    fn a_workload_without_groups_stays_as_it_is() {
        let mut workload = parse("w.json", r#"{"tasks": {"a": {"run": 1}}}"#).unwrap();
        workload.put_below("play");
        assert!(workload.groups.is_empty());
        assert_eq!(workload.tasks[0].settings.group, None);
    }
}
