// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a workload asks of a scheduler, beyond running its tasks.

use crate::events::{Action, CgroupAction, TaskSetting};
use crate::model::{Definition, Policy, Settings, Workload};
use std::collections::BTreeSet;

/// Each is true if any task or event has it at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Nice values but 0, or weights, of tasks that are not real-time.
    pub nice: bool,
    /// Shares.
    pub share: bool,
    /// Slices that tasks ask for.
    pub slice: bool,
    /// Clamps of utilization.
    pub clamps: bool,
    /// `SCHED_BATCH`.
    pub batch: bool,
    /// `SCHED_IDLE`.
    pub idle: bool,
    /// Task groups, which compete by `cpu.weight`.
    pub groups: bool,
    /// `cpu.max`.
    pub bandwidth: bool,
    /// `cpu.idle`.
    pub idle_groups: bool,
    /// Processes of several sessions outside of task groups, as autogroup divides them.
    pub sessions: bool,
}

/// What runs of a workload can have numbers of. Each is true if any task or event has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gives {
    /// Sockets, where requests arrive.
    pub requests: bool,
    /// Timers or reservations, which make jobs.
    pub jobs: bool,
    /// Mutexes, and whatever else tasks wait for each other at.
    pub locks: bool,
}

impl Workload {
    /// What runs can have numbers of.
    pub fn gives(&self) -> Gives {
        let is_reserved = |definition: &Definition| {
            let phases = definition.program.phases.iter().filter_map(|of| of.change.policy);
            let mut policies = std::iter::once(definition.settings.policy).chain(phases);
            policies.any(|policy| policy == Policy::Deadline)
        };
        let makes_jobs =
            |definition: &Definition| !definition.own_timers.is_empty() || is_reserved(definition);
        let names = [&self.mutexes, &self.conditions, &self.semaphores];
        Gives {
            requests: !self.sockets().is_empty(),
            jobs: !self.timers.is_empty() || self.definitions.iter().any(makes_jobs),
            locks: !self.barriers.is_empty() || names.iter().any(|names| !names.is_empty()),
        }
    }

    /// What tasks, groups and events ask for.
    pub fn uses(&self) -> Uses {
        let mut uses = Uses::default();
        let mut sessions = BTreeSet::new();
        for definition in &self.definitions {
            let is_ordinary = uses.note_task(definition);
            if is_ordinary && !definition.kthread && definition.settings.group.is_none() {
                sessions.insert(definition.identity(None).session);
            }
        }
        uses.sessions = sessions.len() > 1;
        let files = self.groups.iter().flat_map(|group| &group.files);
        files.for_each(|file| uses.note_file(file));
        for event in &self.outside {
            match &event.action {
                Action::Set(_, TaskSetting::Nice(_) | TaskSetting::Weight(_)) => uses.nice = true,
                Action::Set(_, TaskSetting::Cgroup(Some(_))) => uses.groups = true,
                Action::Cgroup(_, action) => uses.note_file(action),
                _ => {}
            }
        }
        uses
    }
}

impl Uses {
    /// Notes what a task has in any phase. Whether it is ever below the real-time classes.
    fn note_task(&mut self, definition: &Definition) -> bool {
        let mut settings = definition.settings.clone();
        let mut is_ordinary = self.note_settings(&settings);
        for phase in &definition.program.phases {
            phase.change.apply(&mut settings, &definition.task_cpus);
            is_ordinary |= self.note_settings(&settings);
        }
        is_ordinary
    }

    fn note_settings(&mut self, settings: &Settings) -> bool {
        if settings.policy.is_real_time() {
            return false;
        }
        self.nice |= settings.priority != 0 || settings.weight.is_some();
        self.share |= settings.share.is_some();
        self.slice |= settings.slice_ns.is_some_and(|ns| ns > 0);
        self.clamps |= settings.util_min.or(settings.util_max).is_some();
        self.batch |= settings.policy == Policy::Batch;
        self.idle |= settings.policy == Policy::Idle;
        self.groups |= settings.group.is_some();
        true
    }

    fn note_file(&mut self, file: &CgroupAction) {
        match file {
            CgroupAction::Max { quota_us, .. } => self.bandwidth |= quota_us.is_some(),
            CgroupAction::Idle(is_idle) => self.idle_groups |= is_idle,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Gives, Uses};
    use crate::parse;

    fn uses(tasks: &str) -> Uses {
        parse("w.json", &format!(r#"{{"tasks": {{{tasks}}}}}"#)).unwrap().uses()
    }

    #[test]
    fn plain_and_real_time_tasks_ask_for_nothing() {
        let plain = r#""a": {"run": 1}, "b": {"cpus": [0], "sleep": 1},
            "c": {"policy": "SCHED_FIFO", "priority": 3, "run": 1, "sleep": 1}"#;
        assert_eq!(uses(plain), Uses::default());
    }

    #[test]
    fn each_setting_counts_in_any_phase() {
        let in_phase = |setting: &str| {
            uses(&format!(
                r#""a": {{"phases": {{"x": {{"run": 1}}, "y": {{{setting}, "run": 1}}}}}}"#
            ))
        };
        let none = Uses::default();
        assert_eq!(in_phase(r#""priority": 5"#), Uses { nice: true, ..none });
        assert_eq!(in_phase(r#""weight": 5"#), Uses { nice: true, ..none });
        assert_eq!(in_phase(r#""share": 5"#), Uses { share: true, ..none });
        assert_eq!(in_phase(r#""dl-runtime": 500"#), Uses { slice: true, ..none });
        assert_eq!(in_phase(r#""util_min": 1"#), Uses { clamps: true, ..none });
        assert_eq!(in_phase(r#""util_max": 9"#), Uses { clamps: true, ..none });
        assert_eq!(in_phase(r#""policy": "SCHED_BATCH""#), Uses { batch: true, ..none });
        assert_eq!(in_phase(r#""policy": "SCHED_IDLE""#), Uses { idle: true, ..none });
        assert_eq!(in_phase(r#""taskgroup": "/g""#), Uses { groups: true, ..none });
    }

    #[test]
    fn what_runs_can_have_numbers_of_is_in_any_phase() {
        let gives =
            |tasks: &str| parse("w.json", &format!(r#"{{"tasks": {{{tasks}}}}}"#)).unwrap().gives();
        let none = Gives::default();
        assert_eq!(gives(r#""a": {"run": 1, "sleep": 1}"#), none);
        let jobs = Gives { jobs: true, ..none };
        let timer = |name: &str| format!(r#"{{"ref": "{name}", "period": 5}}"#);
        for name in ["tick", "unique"] {
            let phase = format!(r#""a": {{"run": 1, "timer": {}}}"#, timer(name));
            assert_eq!(gives(&phase), jobs, "{name}");
        }
        let reserved = r#""policy": "SCHED_DEADLINE", "dl-runtime": 5, "dl-period": 10"#;
        let later =
            format!(r#""a": {{"phases": {{"x": {{"run": 1}}, "y": {{{reserved}, "run": 1}}}}}}"#);
        assert_eq!(gives(&later), jobs);
        let locks = Gives { locks: true, ..none };
        assert_eq!(gives(r#""a": {"lock": "m", "run": 1, "unlock": "m"}"#), locks);
        let web = include_str!("../../../workloads/webserver.json");
        assert!(parse("webserver.json", web).unwrap().gives().requests);
    }

    #[test]
    fn sessions_count_where_there_are_several() {
        let session = |a, b| {
            uses(&format!(
                r#""a": {{"session": {a}, "run": 1}}, "b": {{"session": {b}, "run": 1}}"#
            ))
        };
        assert!(session(10, 11).sessions);
        assert!(!session(10, 10).sessions);
    }
}
