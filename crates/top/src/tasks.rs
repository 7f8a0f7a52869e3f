// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of a task, wherever its numbers come from, and the rows of all of them.

use crate::groups::Groups;
use crate::letters::Letters;
use crate::numbers::{Numbers, Recent};
use crate::snapshot::Row;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) name: Arc<str>,
    pub(crate) group: usize,
    pub(crate) recent: Recent,
}

/// The rows of tasks, each with how long it has been waiting if it does, and of their groups; and how
/// many wait.
pub(crate) fn rows<'a>(
    tasks: impl Iterator<Item = (u32, &'a mut Known, Option<u64>)>,
    groups: &mut Groups,
    letters: &Letters,
    now_ns: u64,
) -> (Vec<Row>, Vec<Row>, usize) {
    let mut rows = Vec::new();
    let mut longest = vec![None; groups.len()];
    let mut waiting = 0;
    for (pid, task, waits_ns) in tasks {
        let numbers = task.recent.numbers(now_ns);
        waiting += usize::from(waits_ns.is_some());
        longest[task.group] = longest[task.group].max(waits_ns);
        if numbers == Numbers::default() && waits_ns.is_none() {
            continue;
        }
        rows.push(Row {
            name: Arc::clone(&task.name),
            group: groups.path(task.group),
            pid: Some(pid),
            letter: letters.of(pid),
            tasks: 1,
            numbers,
            waits_ns,
        });
    }
    let groups = groups.rows(now_ns, &longest);
    (rows, groups, waiting)
}
