// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of a run's events, whatever the scheduler: a task is in one state and on one CPU,
//! CPUs do not idle while somebody waits who may use them, nobody waits too long.

use super::plan::Plan;
use rota_measure::Summary;
use rota_trace::{Event, EventKind, OffCpu, Sink};
use std::collections::{BTreeMap, VecDeque};

/// What is allowed in a run.
pub(crate) struct Rules<'a> {
    pub(crate) cpus: u32,
    pub(crate) end_ns: u64,
    /// CPUs that a task (by name) may use at some time.
    pub(crate) may_use: &'a dyn Fn(&str, u32) -> bool,
    /// CPUs that it may use at all times.
    pub(crate) always_may_use: &'a dyn Fn(&str, u32) -> bool,
    /// Longest time that a runnable task may wait.
    pub(crate) longest_wait_ns: u64,
    /// How long it takes a CPU to hear of a task. Until then it may idle; and as the task may
    /// be taken by a CPU that was told of another one, it is their number that counts.
    pub(crate) heard_after_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    Waits { since_ns: u64 },
    Runs { cpu: u32 },
    Sleeps,
    Gone,
}

struct Replay<'a> {
    rules: &'a Rules<'a>,
    now_ns: u64,
    names: BTreeMap<u32, String>,
    states: BTreeMap<u32, State>,
    last_cpu: BTreeMap<u32, u32>,
    running: Vec<Option<u32>>,
    /// When tasks began to wait of which a CPU may not have heard.
    unheard_ns: VecDeque<u64>,
}

/// The first rule that the events break.
pub(crate) fn check(events: &[Event], rules: &Rules<'_>) -> Result<(), String> {
    let mut replay = Replay {
        rules,
        now_ns: 0,
        names: BTreeMap::new(),
        states: BTreeMap::new(),
        last_cpu: BTreeMap::new(),
        running: vec![None; rules.cpus as usize],
        unheard_ns: VecDeque::new(),
    };
    for event in events {
        replay.until(event.time_ns)?;
        replay.step(event).map_err(|what| format!("{what}: {event:?}"))?;
    }
    replay.until(rules.end_ns)?;
    replay.states.iter().try_for_each(|(pid, state)| replay.waited(*pid, *state))
}

/// Checks a run of a random workload on its machine, with every CPU's time accounted for.
pub(crate) fn obeys(plan: &Plan, events: &[Event], duration_ns: u64) -> Result<(), String> {
    let rules = Rules {
        cpus: plan.cpus,
        end_ns: duration_ns,
        may_use: &|name, cpu| plan.may_use(name, cpu, false),
        always_may_use: &|name, cpu| plan.may_use(name, cpu, true),
        longest_wait_ns: duration_ns,
        heard_after_ns: plan.delays_ns[0],
    };
    check(events, &rules)?;
    let mut summary = Summary::new(plan.cpus);
    events.iter().for_each(|event| summary.event(event));
    let report = summary.finish(duration_ns);
    let busy_ns: u64 = report.tasks.iter().map(|t| t.cpu_ns).sum();
    let whole_ns = duration_ns * u64::from(plan.cpus);
    if busy_ns + report.totals.idle_ns != whole_ns {
        return Err(format!("{busy_ns} ns busy and {} idle", report.totals.idle_ns));
    }
    Ok(())
}

impl Replay<'_> {
    /// Time passes: whatever idles or waits now does so until then.
    fn until(&mut self, time_ns: u64) -> Result<(), String> {
        if time_ns < self.now_ns {
            return Err(format!("time goes back from {} to {time_ns}", self.now_ns));
        }
        if time_ns == self.now_ns {
            return Ok(());
        }
        while self.unheard_ns.front().is_some_and(|at| at + self.rules.heard_after_ns < time_ns) {
            self.unheard_ns.pop_front();
        }
        let idle = (0..self.rules.cpus).filter(|c| self.running[*c as usize].is_none());
        for cpu in idle {
            let mut stranded = self.states.iter().filter(|(pid, state)| {
                let able = || (self.rules.always_may_use)(&self.names[*pid], cpu);
                matches!(state, State::Waits { .. }) && able()
            });
            let unheard = self.unheard_ns.len();
            if let Some((pid, _)) = stranded.nth(unheard) {
                let name = &self.names[pid];
                return Err(format!(
                    "CPU {cpu} idles from {} to {time_ns} while {name} waits",
                    self.now_ns
                ));
            }
        }
        self.now_ns = time_ns;
        Ok(())
    }

    fn waited(&self, pid: u32, state: State) -> Result<(), String> {
        match state {
            State::Waits { since_ns } if self.now_ns - since_ns > self.rules.longest_wait_ns => {
                Err(format!("{} waits from {since_ns} to {}", self.names[&pid], self.now_ns))
            }
            _ => Ok(()),
        }
    }

    /// Moves a task from a state that `from` accepts.
    fn go(&mut self, pid: u32, from: fn(State) -> bool, to: State) -> Result<State, String> {
        let known = self.states.get_mut(&pid).ok_or_else(|| format!("unknown task {pid}"))?;
        let old = std::mem::replace(known, to);
        if let State::Waits { since_ns } = to {
            self.unheard_ns.push_back(since_ns);
        }
        if from(old) {
            Ok(old)
        } else {
            Err(format!("task {pid} was {old:?}"))
        }
    }

    fn step(&mut self, event: &Event) -> Result<(), String> {
        let now_ns = self.now_ns;
        let cpu = event.cpu.unwrap_or(u32::MAX);
        let slot = cpu as usize;
        match &event.kind {
            EventKind::Task { pid, name, .. } => {
                self.names.insert(*pid, name.clone());
            }
            EventKind::Fork { pid, parent } => {
                let parent_runs = matches!(self.states.get(parent), Some(State::Runs { .. }));
                if self.states.insert(*pid, State::New).is_some() || *parent != 0 && !parent_runs {
                    return Err("forked twice, or by nobody".into());
                }
            }
            EventKind::Wakeup { pid, .. } => {
                let idle = |s| matches!(s, State::New | State::Sleeps);
                self.go(*pid, idle, State::Waits { since_ns: now_ns })?;
            }
            EventKind::SwitchIn { pid } => {
                let old =
                    self.go(*pid, |s| matches!(s, State::Waits { .. }), State::Runs { cpu })?;
                self.waited(*pid, old)?;
                if self.running[slot].replace(*pid).is_some() {
                    return Err("the CPU was busy".into());
                }
                if !(self.rules.may_use)(&self.names[pid], cpu) {
                    return Err("it may not use this CPU".into());
                }
                if *self.last_cpu.entry(*pid).or_insert(cpu) != cpu {
                    return Err("migrated unseen".into());
                }
            }
            EventKind::SwitchOut { pid, why } => {
                let to = match why {
                    OffCpu::Runnable => State::Waits { since_ns: now_ns },
                    OffCpu::Sleep => State::Sleeps,
                    OffCpu::Exit => State::Gone,
                };
                self.go(*pid, |s| matches!(s, State::Runs { .. }), to)?;
                if self.running[slot].take() != Some(*pid) {
                    return Err("it ran elsewhere".into());
                }
            }
            EventKind::Pick { pid, slice_ns }
                if self.running[slot] != Some(*pid) || *slice_ns == 0 =>
            {
                return Err("picked, but not running with a slice".into());
            }
            EventKind::Exit { pid } if self.running[slot] != Some(*pid) => {
                return Err("exits without running".into());
            }
            EventKind::Migrate { pid, from, to } => {
                let last = self.last_cpu.insert(*pid, *to);
                if last != Some(*from) || from == to || *to != cpu {
                    return Err(format!("it was on {last:?}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
