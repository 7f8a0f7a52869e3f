// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sees what the tasks of a run do.

use crate::kind;
use crate::life::{Edge, Life, LifeIx, Step, What};
use rota_replay::Charges;
use rota_trace::{Event, EventKind, OffCpu, Sink};
use std::collections::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unborn,
    Waiting,
    Running { since_ns: u64 },
    Sleeping { since_ns: u64 },
    Ended,
}

/// What a task is doing now.
#[derive(Clone, Copy, Debug)]
struct Now {
    state: State,
    /// Work since the last step, less what the machine charged, and when it began.
    run_ns: i64,
    run_from_ns: u64,
}

/// What was seen of all tasks.
#[derive(Debug)]
pub struct Watched {
    charges: Charges,
    pub(crate) lives: Vec<Life>,
    now: Vec<Now>,
    by_pid: HashMap<u32, LifeIx>,
    /// Since when a CPU runs nothing.
    free_since_ns: HashMap<u32, u64>,
    pub(crate) edges: Vec<Edge>,
    /// Names of the kinds.
    pub(crate) kinds: Vec<String>,
    /// Last time that a task left a CPU.
    pub(crate) end_ns: u64,
}

impl Watched {
    /// For a run on a machine that charges this by itself: it is taken off the work.
    pub fn new(charges: Charges) -> Self {
        Self {
            charges,
            lives: Vec::new(),
            now: Vec::new(),
            by_pid: HashMap::new(),
            free_since_ns: HashMap::new(),
            edges: Vec::new(),
            kinds: Vec::new(),
            end_ns: 0,
        }
    }

    /// Until the last task had left its CPU; what comes after that is no part of the workload.
    pub fn length_ns(&self) -> u64 {
        self.end_ns
    }

    /// Ends what is under way.
    pub(crate) fn finish(&mut self, end_ns: u64) {
        for life in 0..self.lives.len() {
            if matches!(self.now[life].state, State::Running { .. }) {
                self.end_ns = self.end_ns.max(end_ns);
            }
            self.work_until(life, end_ns);
            self.flush(life);
        }
    }

    fn named(&mut self, pid: u32, of: &str, now_ns: u64) {
        let known = self.by_pid.get(&pid).filter(|life| self.now[**life].state != State::Ended);
        if known.is_some() {
            return;
        }
        let of_kind = kind(of);
        let place = self.kinds.iter().position(|kind| kind == of_kind);
        let kind = place.unwrap_or_else(|| {
            self.kinds.push(of_kind.to_owned());
            self.kinds.len() - 1
        });
        self.by_pid.insert(pid, self.lives.len());
        self.lives.push(Life {
            of: of.to_owned(),
            kind,
            born_ns: now_ns,
            ended_ns: None,
            parent: None,
            steps: Vec::new(),
        });
        self.now.push(Now { state: State::Unborn, run_ns: 0, run_from_ns: now_ns });
    }

    fn work_until(&mut self, life: LifeIx, now_ns: u64) {
        let now = &mut self.now[life];
        if let State::Running { since_ns } = &mut now.state {
            now.run_ns += now_ns.saturating_sub(*since_ns) as i64;
            *since_ns = now_ns;
        }
    }

    fn flush(&mut self, life: LifeIx) {
        let now = &mut self.now[life];
        if now.run_ns > 0 {
            let step = Step { at_ns: now.run_from_ns, what: What::Run(now.run_ns as u64) };
            self.lives[life].steps.push(step);
            now.run_ns = 0;
        }
    }

    fn push(&mut self, life: LifeIx, at_ns: u64, what: What) {
        self.flush(life);
        self.lives[life].steps.push(Step { at_ns, what });
        if let State::Running { since_ns } = self.now[life].state {
            self.now[life].run_from_ns = since_ns;
        }
    }

    /// The task that runs and has this pid.
    fn running(&mut self, pid: u32, now_ns: u64) -> Option<LifeIx> {
        let life = *self.by_pid.get(&pid)?;
        self.work_until(life, now_ns);
        matches!(self.now[life].state, State::Running { .. }).then_some(life)
    }

    fn fork(&mut self, life: LifeIx, parent: u32, now_ns: u64) {
        if let Some(parent) = self.running(parent, now_ns).filter(|parent| *parent != life) {
            self.now[parent].run_ns -= self.charges.fork_ns as i64;
            self.push(parent, now_ns, What::Fork(life));
            self.lives[life].parent = Some(parent);
        }
    }

    fn wake(&mut self, life: LifeIx, waker: u32, now_ns: u64) {
        let waker = match waker {
            0 => None,
            pid => self.running(pid, now_ns).filter(|waker| *waker != life),
        };
        let state = std::mem::replace(&mut self.now[life].state, State::Waiting);
        match state {
            State::Sleeping { since_ns } => {
                let ns = now_ns.saturating_sub(since_ns);
                match waker {
                    Some(from) => {
                        let edge = self.edges.len() as u32;
                        self.edges.push(Edge { from, to: life });
                        self.push(life, since_ns, What::Wait { edge, ns });
                        self.now[from].run_ns -= self.charges.wakeup_ns as i64;
                        self.push(from, now_ns, What::Post { edge });
                    }
                    None => self.push(life, since_ns, What::Sleep(ns)),
                }
            }
            State::Unborn => {}
            other => self.now[life].state = other,
        }
    }

    fn switch_in(&mut self, life: LifeIx, cpu: u32, now_ns: u64) {
        // One on which no task was before was idle, too.
        let idle = self.free_since_ns.remove(&cpu).is_none_or(|since_ns| since_ns < now_ns);
        let now = &mut self.now[life];
        if now.run_ns <= 0 {
            now.run_from_ns = now_ns;
        }
        now.state = State::Running { since_ns: now_ns };
        let idle_exit_ns = if idle { self.charges.idle_exit_ns } else { 0 };
        now.run_ns -= (self.charges.switch_ns + idle_exit_ns) as i64;
    }

    fn switch_out(&mut self, life: LifeIx, cpu: Option<u32>, why: OffCpu, now_ns: u64) {
        if let Some(cpu) = cpu {
            self.free_since_ns.insert(cpu, now_ns);
        }
        self.work_until(life, now_ns);
        self.end_ns = now_ns;
        self.now[life].state = match why {
            OffCpu::Runnable => State::Waiting,
            OffCpu::Sleep => State::Sleeping { since_ns: now_ns },
            OffCpu::Exit => {
                self.flush(life);
                self.lives[life].ended_ns = Some(now_ns);
                State::Ended
            }
        };
    }
}

impl Sink for Watched {
    fn event(&mut self, event: &Event) {
        let now_ns = event.time_ns;
        let life = |pid: &u32| self.by_pid.get(pid).copied();
        match &event.kind {
            EventKind::Task { pid, instance_of: Some(of), .. } => self.named(*pid, of, now_ns),
            EventKind::Fork { pid, parent } => {
                if let Some(life) = life(pid) {
                    self.fork(life, *parent, now_ns);
                }
            }
            EventKind::Wakeup { pid, waker } => {
                if let Some(life) = life(pid) {
                    self.wake(life, *waker, now_ns);
                }
            }
            EventKind::Migrate { pid, .. } => {
                if let Some(life) = life(pid) {
                    self.now[life].run_ns -= self.charges.migration_ns as i64;
                }
            }
            EventKind::SwitchIn { pid } => {
                if let Some(life) = life(pid) {
                    self.switch_in(life, event.cpu.unwrap_or(0), now_ns);
                }
            }
            EventKind::SwitchOut { pid, why } => {
                if let Some(life) = life(pid) {
                    self.switch_out(life, event.cpu, *why, now_ns);
                }
            }
            _ => {}
        }
    }
}
