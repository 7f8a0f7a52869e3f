// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which tasks share a colour and a line in the figures.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Task, Workload};
use crate::timeline::colours::{Colours, PAINTS};

/// Tasks that are shown as one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// How many tasks it has at the start.
    pub(crate) tasks: u64,
    /// Its colour; `None`: that of all the rest.
    pub(crate) paint: Option<usize>,
}

/// The groups of a workload's tasks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    pub(crate) list: Vec<Group>,
    /// The group of each task.
    pub(crate) of_task: Vec<usize>,
}

impl Groups {
    /// A group for each task; of more than there are colours, for each kind of task (instances
    /// and forks of one); of too many kinds, for those with most CPU time, and
    /// one for all the rest.
    pub(crate) fn of(workload: &Workload) -> Self {
        let tasks = &workload.tasks;
        let names: BTreeSet<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        let by_kind = names.len() > PAINTS.len();
        // The tasks of each name or kind, in the order in which those come.
        let mut place: BTreeMap<&str, usize> = BTreeMap::new();
        let mut members: Vec<(&str, Vec<usize>)> = Vec::new();
        for (index, task) in tasks.iter().enumerate() {
            let key = if by_kind { task.instance_of.as_str() } else { task.name.as_str() };
            let at = *place.entry(key).or_insert(members.len());
            if at == members.len() {
                members.push((key, Vec::new()));
            }
            members[at].1.push(index);
        }
        let rest = keep_busiest(&mut members, &cpu_time(workload));
        let colours = Colours::of(members.iter().map(|(name, _)| (*name, *name)));
        let mut groups = Groups { list: Vec::new(), of_task: vec![0; tasks.len()] };
        for (name, members) in &members {
            groups.add(name, members, tasks, Some(colours.paint(name, name)));
        }
        if !rest.is_empty() {
            groups.add("other tasks", &rest, tasks, None);
        }
        groups
    }

    fn add(&mut self, name: &str, members: &[usize], tasks: &[Task], paint: Option<usize>) {
        members.iter().for_each(|task| self.of_task[*task] = self.list.len());
        let name = if name.is_empty() { "(no name)" } else { name };
        let count = members.iter().map(|task| tasks[*task].instances).sum();
        self.list.push(Group { name: name.to_owned(), tasks: count, paint });
    }

    /// The group of a task; a number that names no task is of the last group.
    pub(crate) fn group_of(&self, task: u32) -> usize {
        let last = self.list.len().saturating_sub(1);
        usize::try_from(task).ok().and_then(|task| self.of_task.get(task)).map_or(last, |g| *g)
    }
}

/// CPU time of each task under all policies, up to a factor.
fn cpu_time(workload: &Workload) -> Vec<f64> {
    let mut sums = vec![0.0; workload.tasks.len()];
    let figures = workload.policies.iter().filter_map(|policy| policy.figures.as_ref());
    for shares in figures.map(|figures| &figures.shares) {
        for (sum, row) in sums.iter_mut().zip(&shares.tasks) {
            *sum += row.iter().copied().map(f64::from).sum::<f64>() * shares.bucket_ns as f64;
        }
    }
    sums
}

/// Takes out, if there are more groups than colours, all but those with most CPU time.
fn keep_busiest(members: &mut Vec<(&str, Vec<usize>)>, cpu_time: &[f64]) -> Vec<usize> {
    if members.len() <= PAINTS.len() {
        return Vec::new();
    }
    let time = |tasks: &[usize]| tasks.iter().map(|task| cpu_time[*task]).sum::<f64>();
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by(|a, b| time(&members[*b].1).total_cmp(&time(&members[*a].1)));
    let kept: BTreeSet<usize> = order.into_iter().take(PAINTS.len()).collect();
    let (mut index, mut rest) = (0, Vec::new());
    members.retain(|(_, tasks)| {
        let keep = kept.contains(&index);
        index += 1;
        if !keep {
            rest.extend(tasks);
        }
        keep
    });
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::model::{Figures, Outcome, PolicyResult, Shares};

    fn workload(tasks: &[(&str, f32)]) -> Workload {
        let task = |(name, _): &(&str, f32)| Task {
            name: (*name).to_owned(),
            instance_of: name.split('-').next().unwrap_or(name).to_owned(),
            weight: 100,
            instances: 1,
        };
        let rows = tasks.iter().map(|(_, share)| vec![*share]).collect();
        let shares = Shares { from_ns: 0, bucket_ns: 10, tasks: rows };
        let policy = PolicyResult {
            name: "p".to_owned(),
            settings: Vec::new(),
            outcome: Outcome::Finished,
            cells: Vec::new(),
            figures: Some(Figures { shares, ..Figures::default() }),
        };
        let tasks = tasks.iter().map(task).collect();
        Workload { tasks, policies: vec![policy], ..Workload::default() }
    }

    fn names(groups: &Groups) -> Vec<(&str, u64)> {
        groups.list.iter().map(|group| (group.name.as_str(), group.tasks)).collect()
    }

    #[test]
    fn few_tasks_are_a_group_each() {
        let groups = Groups::of(&workload(&[("a-0", 0.1), ("a-1", 0.2), ("b", 0.0)]));
        assert_eq!(names(&groups), [("a-0", 1), ("a-1", 1), ("b", 1)]);
        assert_eq!(groups.of_task, [0, 1, 2]);
    }

    #[test]
    fn instances_of_many_tasks_are_one_group() {
        let tasks: Vec<String> = (0..12).map(|i| format!("{}-{i}", ["a", "b"][i % 2])).collect();
        let tasks: Vec<(&str, f32)> = tasks.iter().map(|name| (name.as_str(), 0.1)).collect();
        let groups = Groups::of(&workload(&tasks));
        assert_eq!(names(&groups), [("a", 6), ("b", 6)]);
        assert_eq!(groups.group_of(3), 1);
    }

    #[test]
    fn kinds_with_little_cpu_time_are_the_rest() {
        let names_of: Vec<String> = (0..12).map(|i| format!("kind{i:02}")).collect();
        let tasks: Vec<(&str, f32)> =
            names_of.iter().zip(0u8..).map(|(name, i)| (name.as_str(), f32::from(i))).collect();
        let groups = Groups::of(&workload(&tasks));
        assert_eq!(groups.list.len(), 9);
        assert_eq!(names(&groups)[0], ("kind04", 1));
        assert_eq!(names(&groups)[8], ("other tasks", 4));
        assert_eq!(groups.list[8].paint, None);
        assert_eq!((groups.group_of(0), groups.group_of(4), groups.group_of(999)), (8, 0, 8));
    }

    #[test]
    fn no_tasks_are_no_groups() {
        assert!(Groups::of(&workload(&[])).list.is_empty());
    }
}
