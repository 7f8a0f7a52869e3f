// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which rows the table has, in which order.

use crate::snapshot::{Row, Snapshot};
use std::cmp::Ordering;

/// What has a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Each task.
    #[default]
    Tasks,
    /// Each cgroup, with what all of its tasks got.
    Cgroups,
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Time on CPUs, the most first; so for all that are numbers.
    #[default]
    Cpu,
    /// Time that it waited for a CPU.
    RunDelay,
    /// 99th percentile of the wakeup latency.
    P99,
    /// The longest wakeup latency.
    Max,
    /// Wakeups.
    Wakeups,
    /// The wait that goes on.
    Waits,
    /// The name, from A on.
    Name,
}

impl Order {
    /// All of them, in the order of their columns.
    pub const ALL: [Order; 7] = [
        Order::Cpu,
        Order::RunDelay,
        Order::P99,
        Order::Max,
        Order::Wakeups,
        Order::Waits,
        Order::Name,
    ];

    /// As the column is called.
    pub fn title(self) -> &'static str {
        match self {
            Order::Cpu => "cpu",
            Order::RunDelay => "run delay",
            Order::P99 => "wakeup p99",
            Order::Max => "max",
            Order::Wakeups => "wakeups/s",
            Order::Waits => "waits now",
            Order::Name => "name",
        }
    }

    /// The one after it.
    pub(crate) fn next(self) -> Order {
        let at = Order::ALL.iter().position(|order| *order == self).unwrap_or(0);
        Order::ALL[(at + 1) % Order::ALL.len()]
    }

    fn compare(self, a: &Row, b: &Row) -> Ordering {
        let numbers = |key: fn(&Row) -> Option<u64>| key(b).cmp(&key(a));
        match self {
            Order::Cpu => numbers(|row| Some(row.numbers.run_ns)),
            Order::RunDelay => numbers(|row| Some(row.numbers.delay_ns)),
            Order::P99 => numbers(|row| row.numbers.p99_ns),
            Order::Max => numbers(|row| row.numbers.max_ns),
            Order::Wakeups => numbers(|row| Some(row.numbers.wakeups)),
            Order::Waits => numbers(|row| row.waits_ns),
            Order::Name => a.name.cmp(&b.name),
        }
    }
}

/// The rows that a user wants: those in whose name, pid or cgroup the filter is, sorted.
pub(crate) fn rows<'a>(
    snapshot: &'a Snapshot,
    by: By,
    filter: &str,
    (order, reverse): (Order, bool),
) -> Vec<&'a Row> {
    let all = match by {
        By::Tasks => &snapshot.tasks,
        By::Cgroups => &snapshot.groups,
    };
    let filter = filter.to_lowercase();
    let has = |text: &str| text.to_lowercase().contains(&filter);
    let wanted = |row: &&Row| {
        filter.is_empty()
            || has(&row.name)
            || has(&row.group)
            || row.pid.is_some_and(|pid| pid.to_string() == filter)
    };
    let mut rows: Vec<&Row> = all.iter().filter(wanted).collect();
    rows.sort_by(|a, b| {
        let first = order.compare(a, b);
        let first = if reverse { first.reverse() } else { first };
        first.then_with(|| (&a.name, a.pid).cmp(&(&b.name, b.pid)))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Numbers;

    fn row(name: &str, group: &str, pid: u32, run_ns: u64, p99_ns: Option<u64>) -> Row {
        let numbers = Numbers { run_ns, p99_ns, ..Numbers::default() };
        let (name, group) = (name.into(), group.into());
        Row { name, group, pid: Some(pid), letter: None, tasks: 1, numbers, waits_ns: None }
    }

    fn snapshot() -> Snapshot {
        let tasks = vec![
            row("web", "/front", 12, 5, None),
            row("db", "/Back", 3, 9, Some(4)),
            row("cc", "/build", 4, 5, Some(7)),
        ];
        Snapshot { tasks, ..Snapshot::default() }
    }

    fn names(filter: &str, order: Order, reverse: bool) -> Vec<String> {
        let snapshot = snapshot();
        let rows = rows(&snapshot, By::Tasks, filter, (order, reverse));
        rows.iter().map(|row| row.name.to_string()).collect()
    }

    #[test]
    fn the_most_comes_first_and_equals_go_by_name() {
        assert_eq!(names("", Order::Cpu, false), ["db", "cc", "web"]);
        assert_eq!(names("", Order::Cpu, true), ["cc", "web", "db"]);
        // A task that never woke has no percentile: last.
        assert_eq!(names("", Order::P99, false), ["cc", "db", "web"]);
        assert_eq!(names("", Order::Name, false), ["cc", "db", "web"]);
    }

    #[test]
    fn a_filter_is_part_of_a_name_or_a_cgroup_or_a_whole_pid() {
        assert_eq!(names("EB", Order::Cpu, false), ["web"]);
        assert_eq!(names("b", Order::Name, false), ["cc", "db", "web"]);
        assert_eq!(names("back", Order::Cpu, false), ["db"]);
        assert_eq!(names("12", Order::Cpu, false), ["web"]);
        assert_eq!(names("1", Order::Cpu, false), [""; 0]);
    }

    #[test]
    fn every_order_comes_up_in_turn() {
        let mut order = Order::default();
        for expected in Order::ALL.into_iter().skip(1).chain([Order::Cpu]) {
            order = order.next();
            assert_eq!(order, expected);
        }
    }
}
