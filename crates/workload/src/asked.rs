// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be asked of a workload that is there: the same with hogs next to it, with tasks at
//! another nice value, with other slices.

use crate::event::{Event, TaskEvent};
use crate::model::{Definition, Policy, Settings, Task, Workload};
use std::collections::BTreeSet;

/// Of a hog; anything that a task without end may be.
const HOG: &str = r#"{"tasks": {"hog": {"loop": -1, "run": 1000000}}}"#;

impl Workload {
    /// Adds tasks that never sleep and never end, in the session of the first task. Returns their
    /// name.
    pub fn add_hogs(&mut self, count: u32) -> String {
        let mut hog = crate::parse("hog", HOG).expect("is a workload").definitions.remove(0);
        let mut name = "hog".to_owned();
        while self.definitions.iter().any(|definition| *definition.name == *name) {
            name.insert(0, '-');
        }
        hog.name = name.as_str().into();
        hog.session = self.tasks.first().and_then(|task| self.definition(task).session);
        let definition = self.definitions.len() as u32;
        let settings = hog.settings.clone();
        self.definitions.push(hog);
        let first = self.tasks.len();
        self.tasks.extend((0..count as usize).map(|at| Task {
            name: format!("{name}-{}", first + at),
            settings: settings.clone(),
            thread_of: None,
            definition,
        }));
        name
    }

    /// The task, and all that it forks, and that these fork, by name.
    pub fn family(&self, task: &str) -> BTreeSet<String> {
        let place = self.definitions.iter().position(|definition| *definition.name == *task);
        let mut open: Vec<u32> = place.map(|at| at as u32).into_iter().collect();
        let mut known: BTreeSet<u32> = open.iter().copied().collect();
        while let Some(at) = open.pop() {
            open.extend(self.definitions[at as usize].forks().filter(|child| known.insert(*child)));
        }
        known.iter().map(|at| self.definitions[*at as usize].name.to_string()).collect()
    }

    /// What the task forks, in this order and each once, by name.
    pub fn forked_by(&self, task: &str) -> Vec<&str> {
        let mut known = BTreeSet::new();
        let found = self.definitions.iter().find(|definition| *definition.name == *task);
        let forks = found.into_iter().flat_map(Definition::forks).filter(|at| known.insert(*at));
        forks.map(|at| &*self.definitions[at as usize].name).collect()
    }

    /// Starts these tasks with another nice value, in place of a weight of their own, if their policy
    /// has one. What they set themselves later stays.
    pub fn set_nice(&mut self, tasks: &BTreeSet<String>, nice: i32) {
        let concerned =
            |d: &Definition| tasks.contains(&*d.name) && !d.settings.policy.is_real_time();
        for definition in self.definitions.iter_mut().filter(|d| concerned(d)) {
            (definition.settings.priority, definition.settings.weight) = (nice, None);
        }
        self.set_initial(|definition, settings| {
            settings.priority = definition.settings.priority;
            settings.weight = definition.settings.weight;
        });
    }

    /// Gives tasks of `SCHED_OTHER` that ask for no slice one of this length.
    pub fn set_slices(&mut self, slice_ns: u64) {
        for definition in &mut self.definitions {
            if definition.settings.policy == Policy::Other {
                definition.settings.slice_ns.get_or_insert(slice_ns);
            }
        }
        self.set_initial(|definition, settings| settings.slice_ns = definition.settings.slice_ns);
    }

    fn definition(&self, task: &Task) -> &Definition {
        &self.definitions[task.definition as usize]
    }

    fn set_initial(&mut self, set: impl Fn(&Definition, &mut Settings)) {
        for task in &mut self.tasks {
            set(&self.definitions[task.definition as usize], &mut task.settings);
        }
    }
}

impl Definition {
    fn forks(&self) -> impl Iterator<Item = u32> + '_ {
        self.events().filter_map(|event| match event {
            Event::Task(TaskEvent::Fork { definition, .. }) => Some(*definition),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_choice::{Choices, Seeded};

    /// A shell that starts two children, the first of which starts one more.
    const SHELL: &str = r#"{"tasks": {
        "sh": {"loop": 1, "fork1": "a", "fork2": "b", "run": 10},
        "a": {"loop": 1, "instance": 0, "weight": 50, "fork": "c", "run": 10},
        "b": {"loop": 1, "instance": 0, "run": 10},
        "c": {"loop": 1, "instance": 0, "policy": "SCHED_FIFO", "priority": 7, "run": 10}
    }, "global": {"ends_with_tasks": true}}"#;

    fn shell() -> Workload {
        crate::parse("shell", SHELL).unwrap()
    }

    fn settings<'a>(workload: &'a Workload, name: &str) -> &'a Settings {
        &workload.definitions.iter().find(|d| *d.name == *name).unwrap().settings
    }

    #[test]
    fn a_family_is_a_task_with_all_that_comes_from_it() {
        let workload = shell();

        let names = |of: &str| workload.family(of).into_iter().collect::<Vec<_>>();
        assert_eq!(workload.forked_by("sh"), ["a", "b"]);
        assert_eq!(names("a"), ["a", "c"]);
        assert_eq!(names("sh"), ["a", "b", "c", "sh"]);
        assert!(names("nobody").is_empty());
    }

    #[test]
    fn a_nice_value_takes_the_place_of_a_weight_but_not_of_a_real_time_priority() {
        let mut workload = shell();

        workload.set_nice(&workload.family("a"), 10);

        let [a, b, c] = ["a", "b", "c"].map(|name| settings(&workload, name));
        assert_eq!((a.priority, a.weight), (10, None));
        assert_eq!((b.priority, c.priority, c.policy), (0, 7, Policy::Fifo));
    }

    #[test]
    fn slices_are_for_tasks_of_the_fair_class_that_ask_for_none() {
        let mut workload = shell();

        workload.set_slices(3_000_000);

        assert_eq!(settings(&workload, "b").slice_ns, Some(3_000_000));
        assert_eq!(workload.tasks[0].settings.slice_ns, Some(3_000_000));
        assert_eq!(settings(&workload, "c").slice_ns, None);
    }

    #[test]
    fn hogs_are_tasks_of_their_own_name_that_do_not_keep_a_run_from_its_end() {
        let mut workload = crate::parse(
            "load",
            r#"{"tasks": {"hog": {"loop": 1, "run": 5}}, "global": {"ends_with_tasks": true}}"#,
        )
        .unwrap();

        let name = workload.add_hogs(2);

        let names: Vec<_> = workload.tasks.iter().map(|task| &*task.name).collect();
        assert_eq!((&*name, &names[..]), ("-hog", &["hog-0", "-hog-1", "-hog-2"][..]));
        let mut choices = Choices::by(Seeded::new(1));
        let mut runner = crate::Runner::new(workload.into(), &mut choices);
        let step = runner.next(crate::TaskIx(0), 0, &mut choices);
        assert_eq!((step, runner.is_done()), (crate::Step::Run { work_ns: 5_000 }, false));
        let step = runner.next(crate::TaskIx(0), 5_000, &mut choices);
        assert_eq!((step, runner.is_done()), (crate::Step::Exit, true));
    }
}
