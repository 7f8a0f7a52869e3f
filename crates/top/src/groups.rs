// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cgroups of tasks, and what each got lately.

use crate::numbers::{Numbers, Recent};
use crate::snapshot::Row;
use rustc_hash::FxHashMap;
use std::sync::Arc;

#[derive(Debug)]
struct Group {
    path: Arc<str>,
    tasks: usize,
    recent: Recent,
}

/// All groups that have tasks, or had some lately.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// By the number that tasks have of theirs; those of no use have no path in `by_path`.
    all: Vec<Group>,
    by_path: FxHashMap<Arc<str>, usize>,
    free: Vec<usize>,
}

impl Groups {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn path(&self, group: usize) -> Arc<str> {
        Arc::clone(&self.all[group].path)
    }

    pub(crate) fn recent(&mut self, group: usize) -> &mut Recent {
        &mut self.all[group].recent
    }

    /// One more task is in the root, where those are of which nothing is said.
    pub(crate) fn root(&mut self) -> usize {
        self.enter("/")
    }

    /// A task goes over to the group of this path.
    pub(crate) fn change(&mut self, from: usize, path: &str) -> usize {
        self.leave(from);
        self.enter(path)
    }

    pub(crate) fn leave(&mut self, group: usize) {
        self.all[group].tasks -= 1;
    }

    /// Forgets groups without tasks that got nothing lately.
    pub(crate) fn forget_empty(&mut self, now_ns: u64) {
        for (at, group) in self.all.iter_mut().enumerate() {
            let unused = group.tasks == 0 && group.recent.numbers(now_ns) == Numbers::default();
            if unused && self.by_path.get(&group.path) == Some(&at) {
                self.by_path.remove(&group.path);
                self.free.push(at);
            }
        }
    }

    /// A row for each; `longest` is the longest wait that goes on, by group.
    pub(crate) fn rows(&mut self, now_ns: u64, longest: &[Option<u64>]) -> Vec<Row> {
        let mut rows = Vec::new();
        for (group, waits_ns) in self.all.iter_mut().zip(longest) {
            let numbers = group.recent.numbers(now_ns);
            if numbers != Numbers::default() || waits_ns.is_some() {
                let (name, tasks, waits_ns) = (Arc::clone(&group.path), group.tasks, *waits_ns);
                let group = Arc::clone(&name);
                rows.push(Row { name, group, pid: None, letter: None, tasks, numbers, waits_ns });
            }
        }
        rows
    }

    fn enter(&mut self, path: &str) -> usize {
        let found = self.by_path.get(path).copied();
        let at = found.unwrap_or_else(|| {
            let path: Arc<str> = path.into();
            let group = Group { path: Arc::clone(&path), tasks: 0, recent: Recent::default() };
            let at = match self.free.pop() {
                Some(at) => {
                    self.all[at] = group;
                    at
                }
                None => {
                    self.all.push(group);
                    self.all.len() - 1
                }
            };
            self.by_path.insert(path, at);
            at
        });
        self.all[at].tasks += 1;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_forgotten_when_it_has_no_tasks_and_no_numbers() {
        let mut groups = Groups::default();
        let web = groups.enter("/web");
        groups.recent(web).ran(7, 1);
        let build = groups.change(web, "/build");
        groups.forget_empty(1);
        assert_eq!(groups.enter("/web"), web, "it ran lately");
        groups.leave(web);
        groups.forget_empty(60_000_000_000);
        assert_eq!(groups.enter("/new"), web, "its place is free");
        assert_eq!(groups.enter("/build"), build, "this one has a task");
    }
}
