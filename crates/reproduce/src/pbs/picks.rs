// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decisions of the policy that ships, in the ideal machine, and what each task had had by then:
//! so its priority can be computed in doubles.

use super::scenario::Scenario;
use crate::error::Error;
use crate::rig::{linked, Length, Rig};
use rota_trace::{Event, EventKind, Sink};

/// Decisions of a run.
pub(super) struct Played {
    /// When, and for which task.
    picks: Vec<(u64, usize)>,
    came_ns: Vec<u64>,
    ends_ns: Vec<Option<u64>>,
    end_ns: u64,
}

/// What a task had at a decision.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// Time since it came.
    pub(super) sojourn_ns: u64,
    /// CPU time.
    pub(super) served_ns: u64,
    /// The part of that of its last slice.
    pub(super) last_ns: u64,
    /// It came, and is not done.
    pub(super) active: bool,
}

/// A decision: for which task, and what all had.
pub(super) struct Decision {
    pub(super) picked: usize,
    pub(super) states: Vec<State>,
}

impl State {
    /// log T - alpha log S [PBS eq. 2], with other CPU time.
    pub(super) fn priority_at(&self, alpha: f64, served_ns: u64) -> f64 {
        if served_ns == 0 {
            return f64::INFINITY;
        }
        (self.sojourn_ns.max(1) as f64).log2() - alpha * (served_ns as f64).log2()
    }

    pub(super) fn priority(&self, alpha: f64) -> f64 {
        self.priority_at(alpha, self.served_ns)
    }
}

impl Decision {
    /// Whether no active task has a greater priority than the one that was picked. The policy's
    /// logarithms are exact to 2^-32.
    pub(super) fn is_greatest(&self, priority: impl Fn(&State) -> f64, size: f64) -> bool {
        let active = self.states.iter().filter(|state| state.active);
        let greatest = active.map(&priority).fold(f64::NEG_INFINITY, f64::max);
        let own = priority(&self.states[self.picked]);
        own == greatest || own > greatest - size * 1e-9
    }
}

/// PBS with settings; one session lasts for all of a task's life.
pub(super) fn play(scenario: &Scenario, set: &[(&str, &str)]) -> Result<Played, Error> {
    let set = [&[("beta", "+inf"), ("alpha_min", "0")], set].concat();
    let mut taken = Taken::default();
    let end_ns = (scenario.end * 1e9) as u64;
    let mut rig = Rig::new(&linked("pbs", &set)?).without_watchdog();
    rig.run(&scenario.workload()?, Length::of(end_ns), &mut taken)?;
    let Taken { pids, picks, ends_ns } = taken;
    if pids.len() != scenario.count() {
        return Err(Error::Failure(format!("{} tasks of {}", pids.len(), scenario.count())));
    }
    Ok(Played { picks, came_ns: scenario.came_ns(), ends_ns, end_ns })
}

impl Played {
    /// All decisions.
    pub(super) fn decisions(&self) -> Vec<Decision> {
        let mut states = vec![State::default(); self.came_ns.len()];
        let mut decisions = Vec::with_capacity(self.picks.len());
        for (at, (at_ns, picked)) in self.picks.iter().enumerate() {
            for (task, state) in states.iter_mut().enumerate() {
                let is_done = self.ends_ns[task].is_some_and(|end| end <= *at_ns);
                state.active = self.came_ns[task] <= *at_ns && !is_done;
                state.sojourn_ns = at_ns.saturating_sub(self.came_ns[task]);
            }
            decisions.push(Decision { picked: *picked, states: states.clone() });
            let next = self.picks.get(at + 1).map_or(self.end_ns, |next| next.0);
            let until = self.ends_ns[*picked].map_or(next, |end| end.min(next));
            states[*picked].last_ns = until - at_ns;
            states[*picked].served_ns += until - at_ns;
        }
        decisions
    }

    /// When, and for which task.
    pub(super) fn picks(&self) -> &[(u64, usize)] {
        &self.picks
    }

    /// When a task came first onto the CPU after it came.
    pub(super) fn first_ns(&self, task: usize) -> Option<u64> {
        self.picks.iter().find(|(_, picked)| *picked == task).map(|(at_ns, _)| *at_ns)
    }

    pub(super) fn came_ns(&self, task: usize) -> u64 {
        self.came_ns[task]
    }
}

/// From a run's events.
#[derive(Default)]
struct Taken {
    pids: Vec<u32>,
    picks: Vec<(u64, usize)>,
    ends_ns: Vec<Option<u64>>,
}

impl Sink for Taken {
    fn event(&mut self, event: &Event) {
        let number = |pid: u32| self.pids.iter().position(|known| *known == pid);
        match event.kind {
            EventKind::Fork { pid, .. } => {
                self.pids.push(pid);
                self.ends_ns.push(None);
            }
            EventKind::Pick { pid, .. } => {
                if let Some(task) = number(pid) {
                    self.picks.push((event.time_ns, task));
                }
            }
            EventKind::Exit { pid } => {
                if let Some(task) = number(pid) {
                    self.ends_ns[task] = Some(event.time_ns);
                }
            }
            _ => {}
        }
    }
}
