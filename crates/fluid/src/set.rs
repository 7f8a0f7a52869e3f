// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scheduled set: who comes into it, who falls out and who comes back.

use crate::crossing::EQUAL;
use crate::engine::Engine;
use crate::level::{power, Level};
use crate::solution::{Change, ChangeKind};
use crate::task::State;
use libm::exp;

impl Engine<'_> {
    pub(crate) fn level(&self) -> Level {
        let members = self.set.iter().map(|at| self.tasks[*at].member(*at)).collect();
        let total = self.set.iter().map(|at| self.tasks[*at].service).sum();
        // First come, first served has one member, whose share does not hang on the exponent.
        let exponent = self.pbs.exponent().unwrap_or(0.0);
        Level { exponent, members, from: self.now, total }
    }

    pub(crate) fn waiting(&self) -> Vec<usize> {
        let all = self.tasks.iter().enumerate();
        all.filter(|(_, task)| task.state == State::Waiting).map(|(at, _)| at).collect()
    }

    /// Tasks that woke at this moment: those that go on with their sessions, and the others.
    pub(crate) fn admit(&mut self, old: &[usize], new: &[usize]) {
        if self.pbs.exponent().is_none() {
            return self.first_come();
        }
        self.admit_old(old);
        self.admit_new(new);
        if self.set.is_empty() {
            self.fill();
        }
    }

    /// Tasks that go on with their sessions: those below the level take the place of all others.
    fn admit_old(&mut self, old: &[usize]) {
        let Some(p) = self.pbs.exponent() else { return };
        let height = |at: &usize| {
            let task = &self.tasks[*at];
            task.ln_service - task.ln_weight - power(p, self.now - task.origin)
        };
        let lowest = old.iter().map(height).fold(f64::INFINITY, f64::min);
        let level = match self.set.is_empty() {
            true => f64::INFINITY,
            false => self.level().read(self.now).ln_level(),
        };
        if lowest > level + EQUAL || old.is_empty() {
            return;
        }
        let up: Vec<usize> =
            old.iter().copied().filter(|at| height(at) <= lowest + EQUAL).collect();
        if lowest < level - EQUAL {
            self.interrupt_all();
        }
        up.into_iter().for_each(|at| self.enter(at));
        self.trim();
    }

    /// Tasks that have received nothing: T^p says what they need to keep up with the level. With
    /// p > 1 that is nothing at first [PBS §3.2 property 7], with p < 1 all there is (6), and with
    /// p = 1 the level itself.
    fn admit_new(&mut self, new: &[usize]) {
        let Some(p) = self.pbs.exponent() else { return };
        if new.is_empty() {
            return;
        }
        let takes_all = match self.set.is_empty() {
            true => true,
            false if p == 1.0 => {
                let weights: f64 = new.iter().map(|at| exp(self.tasks[*at].ln_weight)).sum();
                exp(self.level().read(self.now).ln_level()) * weights >= 1.0
            }
            false => p < 1.0,
        };
        if takes_all {
            self.interrupt_all();
        }
        new.iter().for_each(|at| self.enter(*at));
        self.trim();
    }

    /// Nobody is scheduled: those with the highest priority are.
    pub(crate) fn fill(&mut self) {
        let waiting = self.waiting();
        let Some(p) = self.pbs.exponent() else { return self.first_come() };
        let height = |at: &usize| {
            let task = &self.tasks[*at];
            task.ln_service - task.ln_weight - power(p, self.now - task.origin)
        };
        let lowest = waiting.iter().map(height).fold(f64::INFINITY, f64::min);
        let up: Vec<usize> =
            waiting.iter().copied().filter(|at| height(at) <= lowest + EQUAL).collect();
        up.into_iter().for_each(|at| self.resume(at));
        self.trim();
    }

    /// First come, first served: the longest session, of equal ones the first in the file.
    fn first_come(&mut self) {
        let may_run =
            |at: &usize| matches!(self.tasks[*at].state, State::Waiting | State::Scheduled);
        let origin = |at: &usize| self.tasks[*at].origin;
        let all = (0..self.tasks.len()).filter(may_run);
        let Some(first) = all.min_by(|a, b| origin(a).total_cmp(&origin(b))) else { return };
        if self.set != [first] {
            self.interrupt_all();
            self.resume(first);
        }
    }

    /// Those for whom nothing would be left fall out of the set, one by one.
    pub(crate) fn trim(&mut self) {
        while self.set.len() > 1 {
            let level = self.level();
            let place = level.first_to_fall();
            let age = self.now - level.members[place].origin;
            let reading = level.read(self.now);
            if level.same_age() || age == 0.0 || reading.total == 0.0 {
                return;
            }
            let size = reading.total.recip() + (level.exponent / age).abs();
            // Not so small a share as rounding may give who is just to come back.
            if reading.slope(level.exponent, age) >= -1e3 * EQUAL * size {
                return;
            }
            self.interrupt(self.set[place]);
        }
    }

    fn interrupt_all(&mut self) {
        for at in std::mem::take(&mut self.set) {
            self.interrupt(at);
        }
    }

    pub(crate) fn interrupt(&mut self, at: usize) {
        self.set.retain(|of| *of != at);
        self.tasks[at].state = State::Waiting;
        self.change(at, ChangeKind::Interrupted);
    }

    pub(crate) fn resume(&mut self, at: usize) {
        self.enter(at);
        self.change(at, ChangeKind::Served);
    }

    fn enter(&mut self, at: usize) {
        self.tasks[at].state = State::Scheduled;
        self.set.push(at);
    }

    pub(crate) fn change(&mut self, task: usize, kind: ChangeKind) {
        self.changes.push(Change { at: self.now, task, kind });
    }
}
