// SPDX-License-Identifier: MIT OR Apache-2.0
//! A trace replayed against the laws of every schedule: a CPU runs one task at a time,
//! a task runs on one CPU at a time, only when it is runnable, and only where it may.

use crate::trace::Row;
use anyhow::{bail, Result};
use std::collections::BTreeMap;

/// CPUs that tasks may run on, by task name; all CPUs where nothing is said.
pub type Allowed<'a> = &'a dyn Fn(&str) -> Option<Vec<u32>>;

/// What a replay measured.
#[derive(Debug, Default)]
pub struct Replay {
    /// Time on a CPU by pid.
    pub on_cpu_ns: BTreeMap<u32, u64>,
    /// Time of all CPUs without a task.
    pub idle_ns: u64,
    /// The longest time a runnable task waited for a CPU.
    pub longest_wait: Option<Span>,
    /// The longest time a task waited while a CPU that it may use was idle.
    pub longest_neglect: Option<Span>,
}

/// A stretch of time of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Task by name.
    pub task: String,
    /// Begin.
    pub from_ns: u64,
    /// End.
    pub until_ns: u64,
}

impl Span {
    /// Length.
    pub fn ns(&self) -> u64 {
        self.until_ns - self.from_ns
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting { since: u64 },
    Running { cpu: usize },
    Blocked,
    Gone,
}

#[derive(Debug)]
struct Task {
    name: String,
    state: State,
    cpus: Vec<usize>,
    ran_ns: u64,
}

struct Machine<'a> {
    tasks: BTreeMap<u32, Task>,
    /// What each CPU does since when.
    cpus: Vec<(Option<u32>, u64)>,
    allowed: Allowed<'a>,
    out: Replay,
}

/// Replays the rows of a run of `cpus` CPUs that ended at `end_ns`.
pub fn replay(rows: &[Row], cpus: u32, end_ns: u64, allowed: Allowed) -> Result<Replay> {
    let mut machine = Machine {
        tasks: BTreeMap::new(),
        cpus: vec![(None, 0); cpus as usize],
        allowed,
        out: Replay::default(),
    };
    let mut now = 0;
    for row in rows {
        if row.time_ns > now {
            machine.neglect(row.time_ns);
            now = row.time_ns;
        }
        machine.step(row)?;
    }
    machine.neglect(end_ns);
    machine.end(end_ns);
    Ok(machine.out)
}

impl Machine<'_> {
    fn step(&mut self, row: &Row) -> Result<()> {
        let Some(pid) = row.pid.filter(|pid| *pid != 0) else {
            return Ok(());
        };
        let now = row.time_ns;
        match row.event.as_str() {
            "fork" | "wakeup" => {
                let task = self.task(pid, row);
                match task.state {
                    State::Blocked => task.state = State::Waiting { since: now },
                    State::Gone => bail!("{now} ns: {} of {}, which ended", row.event, row.task),
                    // A wakeup may cross the sleep it ends, and a fork is one as well.
                    State::Waiting { .. } | State::Running { .. } => {}
                }
            }
            "switch_in" => self.switch_in(pid, row)?,
            "switch_out" => self.switch_out(pid, row)?,
            "exit" => {
                let task = self.task(pid, row);
                if let State::Running { cpu } = task.state {
                    self.release(pid, cpu, now);
                }
                self.task(pid, row).state = State::Gone;
            }
            _ => {}
        }
        Ok(())
    }

    fn task(&mut self, pid: u32, row: &Row) -> &mut Task {
        let (allowed, all) = (self.allowed, self.cpus.len());
        self.tasks.entry(pid).or_insert_with(|| Task {
            name: row.task.clone(),
            state: State::Blocked,
            cpus: match allowed(&row.task) {
                Some(list) => list.into_iter().map(|cpu| cpu as usize).collect(),
                None => (0..all).collect(),
            },
            ran_ns: 0,
        })
    }

    fn switch_in(&mut self, pid: u32, row: &Row) -> Result<()> {
        let (now, Some(cpu)) = (row.time_ns, row.cpu.map(|cpu| cpu as usize)) else {
            bail!("{} ns: switch_in of {} on no CPU", row.time_ns, row.task);
        };
        match self.cpus.get(cpu) {
            None => bail!("{now} ns: {} runs on CPU {cpu}, which does not exist", row.task),
            Some((Some(other), _)) => {
                bail!("{now} ns: {} and pid {other} run on CPU {cpu}", row.task)
            }
            Some((None, since)) => self.out.idle_ns += now - since,
        }
        let task = self.task(pid, row);
        if !task.cpus.contains(&cpu) {
            bail!("{now} ns: {} runs on CPU {cpu}, which it may not use", row.task);
        }
        let State::Waiting { since } = task.state else {
            bail!("{now} ns: {} runs on CPU {cpu} though it was {:?}", row.task, task.state);
        };
        task.state = State::Running { cpu };
        let span = Span { task: task.name.clone(), from_ns: since, until_ns: now };
        longer(&mut self.out.longest_wait, span);
        self.cpus[cpu] = (Some(pid), now);
        Ok(())
    }

    fn switch_out(&mut self, pid: u32, row: &Row) -> Result<()> {
        let now = row.time_ns;
        let task = self.task(pid, row);
        let State::Running { cpu } = task.state else {
            // `exit` came first and has taken the task off its CPU.
            if task.state == State::Gone {
                return Ok(());
            }
            bail!("{now} ns: {} stops running though it was {:?}", row.task, task.state);
        };
        task.state = match row.detail.as_str() {
            "why=runnable" => State::Waiting { since: now },
            "why=sleep" => State::Blocked,
            "why=exit" => State::Gone,
            other => bail!("{now} ns: switch_out of {} with detail {other:?}", row.task),
        };
        self.release(pid, cpu, now);
        Ok(())
    }

    fn release(&mut self, pid: u32, cpu: usize, now: u64) {
        let (_, since) = std::mem::replace(&mut self.cpus[cpu], (None, now));
        if let Some(task) = self.tasks.get_mut(&pid) {
            task.ran_ns += now - since;
        }
    }

    /// Between the last event and `until`, no idle CPU may be of use to a waiting task.
    fn neglect(&mut self, until: u64) {
        let idle = |cpu: &usize| match self.cpus.get(*cpu) {
            Some((None, since)) => Some(*since),
            _ => None,
        };
        for task in self.tasks.values() {
            let State::Waiting { since } = task.state else {
                continue;
            };
            let Some(idle_since) = task.cpus.iter().filter_map(idle).min() else {
                continue;
            };
            let from_ns = since.max(idle_since);
            if from_ns < until {
                let span = Span { task: task.name.clone(), from_ns, until_ns: until };
                longer(&mut self.out.longest_neglect, span);
            }
        }
    }

    fn end(&mut self, end_ns: u64) {
        for cpu in 0..self.cpus.len() {
            match self.cpus[cpu] {
                (Some(pid), _) => self.release(pid, cpu, end_ns),
                (None, since) => self.out.idle_ns += end_ns - since,
            }
        }
        for (pid, task) in &self.tasks {
            self.out.on_cpu_ns.insert(*pid, task.ran_ns);
            if let State::Waiting { since } = task.state {
                let span = Span { task: task.name.clone(), from_ns: since, until_ns: end_ns };
                longer(&mut self.out.longest_wait, span);
            }
        }
    }
}

fn longer(longest: &mut Option<Span>, span: Span) {
    if longest.as_ref().is_none_or(|old| old.ns() < span.ns()) {
        *longest = Some(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(time_ns: u64, cpu: u32, event: &str, pid: u32, detail: &str) -> Row {
        Row {
            time_ns,
            cpu: Some(cpu),
            event: event.to_string(),
            pid: Some(pid),
            task: format!("task-{pid}"),
            detail: detail.to_string(),
        }
    }

    fn anywhere(_: &str) -> Option<Vec<u32>> {
        None
    }

    #[test]
    fn times_add_up() {
        let rows = [
            row(0, 0, "fork", 1, ""),
            row(5, 0, "switch_in", 1, ""),
            row(20, 0, "switch_out", 1, "why=sleep"),
            row(40, 0, "wakeup", 1, ""),
            row(40, 1, "switch_in", 1, ""),
        ];
        let replay = replay(&rows, 2, 100, &anywhere).unwrap();
        assert_eq!(replay.on_cpu_ns[&1], 15 + 60);
        assert_eq!(replay.idle_ns, 200 - 75);
        assert_eq!(replay.longest_wait.map(|span| span.ns()), Some(5));
    }

    #[test]
    fn waiting_beside_an_idle_cpu_is_neglect() {
        let rows = [
            row(0, 0, "fork", 1, ""),
            row(0, 0, "switch_in", 1, ""),
            row(10, 0, "wakeup", 2, ""),
            row(30, 1, "switch_in", 2, ""),
        ];
        let replay = replay(&rows, 2, 50, &anywhere).unwrap();
        let expected = Span { task: "task-2".to_string(), from_ns: 10, until_ns: 30 };
        assert_eq!(replay.longest_neglect, Some(expected));
    }

    #[test]
    fn waiting_for_ones_only_cpu_is_no_neglect() {
        let rows = [
            row(0, 0, "fork", 1, ""),
            row(0, 0, "switch_in", 1, ""),
            row(10, 0, "wakeup", 2, ""),
            row(30, 0, "switch_out", 1, "why=runnable"),
            row(30, 0, "switch_in", 2, ""),
        ];
        let pinned = |name: &str| (name == "task-2").then(|| vec![0]);
        let replay = replay(&rows, 2, 31, &pinned).unwrap();
        let expected = Span { task: "task-1".to_string(), from_ns: 30, until_ns: 31 };
        assert_eq!(replay.longest_neglect, Some(expected));
    }

    #[test]
    fn impossible_schedules_are_refused() {
        let start = [row(0, 0, "fork", 1, ""), row(0, 0, "switch_in", 1, "")];
        for (next, message) in [
            (
                vec![row(1, 0, "fork", 2, ""), row(1, 0, "switch_in", 2, "")],
                "task-2 and pid 1 run on CPU 0",
            ),
            (vec![row(1, 1, "switch_in", 1, "")], "task-1 runs on CPU 1 though it was Running"),
            (vec![row(1, 1, "switch_in", 3, "")], "task-3 runs on CPU 1 though it was Blocked"),
            (
                vec![row(1, 0, "fork", 2, ""), row(1, 2, "switch_in", 2, "")],
                "CPU 2, which does not exist",
            ),
            (
                vec![row(1, 0, "exit", 1, ""), row(2, 0, "wakeup", 1, "")],
                "wakeup of task-1, which ended",
            ),
        ] {
            let rows = [&start[..], &next].concat();
            let error = replay(&rows, 2, 10, &anywhere).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let bound = |_: &str| Some(vec![1]);
        let error = replay(&start, 2, 10, &bound).unwrap_err().to_string();
        assert!(error.contains("CPU 0, which it may not use"), "{error}");
    }
}
