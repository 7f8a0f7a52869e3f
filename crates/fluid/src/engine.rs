// SPDX-License-Identifier: MIT OR Apache-2.0
//! From event to event.

use crate::crossing::{self, Crossing, EQUAL};
use crate::error::Error;
use crate::level::Level;
use crate::pbs::Pbs;
use crate::sessions::Session;
use crate::solution::{Activation, Change, ChangeKind, Segment, Solution};
use crate::source::{Next, Tasks};
use crate::task::{State, Task};

/// More than any scenario that is meant; one in which tasks do nothing for ever has more.
const MOST_EVENTS: usize = 500_000;
/// Steps of a task at one moment.
const MOST_STEPS: usize = 100_000;

/// Solves a scenario up to `end`; infinite: until all tasks are over.
pub fn solve(tasks: &mut dyn Tasks, pbs: &Pbs, end: f64) -> Result<Solution, Error> {
    let mut engine = Engine::new(tasks, *pbs, end)?;
    engine.run()?;
    Ok(engine.finish())
}

pub(crate) struct Engine<'a> {
    pub(crate) source: &'a mut dyn Tasks,
    pub(crate) pbs: Pbs,
    pub(crate) now: f64,
    end: f64,
    pub(crate) tasks: Vec<Task>,
    /// Numbers of those that are scheduled.
    pub(crate) set: Vec<usize>,
    completions: Vec<Option<f64>>,
    activations: Vec<Activation>,
    pub(crate) changes: Vec<Change>,
    segments: Vec<Segment>,
}

impl<'a> Engine<'a> {
    fn new(source: &'a mut dyn Tasks, pbs: Pbs, end: f64) -> Result<Self, Error> {
        let mut tasks = Vec::new();
        for at in 0..source.count() {
            let (arrival, weight) = (source.arrival(at), source.weight(at));
            let refuse = |what| Err(Error::Task { task: source.name(at).into(), what });
            if !(arrival >= 0.0 && arrival.is_finite()) {
                return refuse(format!("arrives at {arrival} s: expected 0 or later"));
            }
            if !(weight > 0.0 && weight.is_finite()) {
                return refuse(format!("weight {weight}: expected more than 0"));
            }
            tasks.push(Task::new(arrival, weight));
        }
        let completions = vec![None; tasks.len()];
        Ok(Self {
            source,
            pbs,
            now: 0.0,
            end,
            tasks,
            set: Vec::new(),
            completions,
            activations: Vec::new(),
            changes: Vec::new(),
            segments: Vec::new(),
        })
    }

    fn run(&mut self) -> Result<(), Error> {
        loop {
            let due = self.next_wakeup();
            if self.set.is_empty() {
                // Nobody wants anything until then.
                if due >= self.end || due.is_infinite() {
                    return Ok(());
                }
                self.now = due;
                self.wake()?;
                continue;
            }
            if self.now >= self.end {
                return Ok(());
            }
            self.segment(due.min(self.end))?;
            if self.changes.len().max(self.segments.len()) > MOST_EVENTS {
                let what = format!("{MOST_EVENTS} events by {} s: expected less", self.now);
                return Err(Error::Endless(what));
            }
            if self.now >= due && self.now < self.end {
                self.wake()?;
            }
        }
    }

    fn next_wakeup(&self) -> f64 {
        let due = |task: &Task| match task.state {
            State::Until(at) => at,
            _ => f64::INFINITY,
        };
        self.tasks.iter().map(due).fold(f64::INFINITY, f64::min)
    }

    /// Up to the next event, but no further than `limit`.
    fn segment(&mut self, limit: f64) -> Result<(), Error> {
        let level = self.level();
        let left = |at: &usize| self.tasks[*at].goal - self.tasks[*at].service;
        let left: f64 = self.set.iter().map(left).sum();
        // By then one of the set is done, whoever gets how much.
        let mut to = limit.min(self.now + left.max(0.0));
        if to.is_infinite() {
            let names: Vec<&str> = self.set.iter().map(|at| self.source.name(*at)).collect();
            let what = format!("{} never ends: expected a duration", names.join(", "));
            return Err(Error::Endless(what));
        }
        let waiting = self.waiting();
        let mut crossing = None;
        if self.pbs.exponent().is_some() {
            let tasks: Vec<_> = waiting.iter().map(|at| self.tasks[*at].waiting(*at)).collect();
            if let Some((at, what)) = crossing::first(&level, &tasks, to) {
                (to, crossing) = (at, Some(what));
            }
        }
        if let Some(done) = self.first_done(&level, to) {
            if done < to {
                (to, crossing) = (done, None);
            }
        }
        // Where nothing but the work that is left limits the segment, somebody is done.
        let exhausted = to < limit && crossing.is_none();
        self.settle(level, to);
        match crossing {
            Some(Crossing::Falls(place)) => self.interrupt(self.set[place]),
            Some(Crossing::Rise(places)) => {
                places.iter().for_each(|place| self.resume(waiting[*place]));
                self.trim();
            }
            None => {}
        }
        self.complete(exhausted)
    }

    /// When the first of the set has all it wants.
    fn first_done(&self, level: &Level, to: f64) -> Option<f64> {
        let is_done = |at: f64| {
            let reading = level.read(at);
            let done =
                |m: &crate::level::Member| level.service(m, &reading) >= self.tasks[m.task].goal;
            level.members.iter().any(done)
        };
        if !is_done(to) {
            return None;
        }
        let (mut low, mut high) = (level.from, to);
        loop {
            let middle = low + (high - low) / 2.0;
            if middle <= low || middle >= high {
                return Some(high);
            }
            match is_done(middle) {
                true => high = middle,
                false => low = middle,
            }
        }
    }

    /// Time has passed: keeps what each has received.
    fn settle(&mut self, level: Level, to: f64) {
        let reading = level.read(to);
        for member in &level.members {
            let service = level.service(member, &reading);
            self.tasks[member.task].serve(service, level.ln_service(member, &reading));
        }
        if to > self.now {
            self.segments.push(Segment::new(to, level, &self.tasks));
        }
        self.now = to;
    }

    /// Those that have what they wanted go on with what comes next.
    fn complete(&mut self, exhausted: bool) -> Result<(), Error> {
        let left = |at: &usize| self.tasks[*at].goal - self.tasks[*at].service;
        let nearly = |at: &usize| {
            let goal = self.tasks[*at].goal;
            goal.is_finite() && left(at) <= EQUAL * goal
        };
        let mut done: Vec<usize> = self.set.iter().copied().filter(nearly).collect();
        if done.is_empty() && exhausted {
            done = self
                .set
                .iter()
                .copied()
                .min_by(|a, b| left(a).total_cmp(&left(b)))
                .into_iter()
                .collect();
        }
        for at in done {
            self.tasks[at].service = self.tasks[at].goal;
            self.go_on(at)?;
        }
        if self.set.is_empty() {
            self.fill();
        }
        Ok(())
    }

    /// What a task that is awake does next.
    fn go_on(&mut self, at: usize) -> Result<(), Error> {
        for _ in 0..MOST_STEPS {
            match self.source.next(at, self.now) {
                Next::Run(want) if want > 0.0 => {
                    self.tasks[at].goal = self.tasks[at].service + want;
                    return Ok(());
                }
                Next::SleepUntil(then) if then > self.now => {
                    self.tasks[at].asleep_since = Some(self.now);
                    self.leave(at, State::Until(then), ChangeKind::Sleeps);
                    return Ok(());
                }
                Next::Run(_) | Next::SleepUntil(_) => {}
                Next::Exit => {
                    self.completions[at] = Some(self.now);
                    self.leave(at, State::Over, ChangeKind::Ends);
                    return Ok(());
                }
            }
        }
        let (name, now) = (self.source.name(at), self.now);
        Err(Error::Endless(format!("{name} does {MOST_STEPS} steps at {now} s without any time")))
    }

    fn leave(&mut self, at: usize, state: State, kind: ChangeKind) {
        self.set.retain(|of| *of != at);
        self.tasks[at].state = state;
        let (from, received) = self.tasks[at].awake_since;
        let service = self.tasks[at].received() - received;
        self.activations.push(Activation { task: at, from, to: Some(self.now), service });
        self.change(at, kind);
    }

    /// Those whose time has come arrive or wake, all of a moment together.
    fn wake(&mut self) -> Result<(), Error> {
        let due = |task: &Task| matches!(task.state, State::Until(at) if at <= self.now);
        let due: Vec<usize> = (0..self.tasks.len()).filter(|at| due(&self.tasks[*at])).collect();
        let (mut new, mut old) = (Vec::new(), Vec::new());
        for at in due {
            let is_new = self.wake_one(at);
            self.change(at, ChangeKind::Wakes);
            self.go_on(at)?;
            if self.tasks[at].state == State::Waiting {
                if is_new { &mut new } else { &mut old }.push(at);
            }
        }
        self.admit(&old, &new);
        Ok(())
    }

    /// Whether it begins a session.
    fn wake_one(&mut self, at: usize) -> bool {
        let (now, beta) = (self.now, self.pbs.beta);
        let task = &mut self.tasks[at];
        task.state = State::Waiting;
        task.awake_since = (now, task.received());
        let session = match task.asleep_since {
            None => Session::New,
            Some(since) => task.sleeps.wake(now - since, beta),
        };
        match session {
            Session::New => {
                (task.before, task.origin) = (task.received(), now);
                task.serve(0.0, f64::NEG_INFINITY);
            }
            Session::Same { later_by } => task.origin += later_by,
        }
        session == Session::New
    }

    fn finish(mut self) -> Solution {
        for (at, task) in self.tasks.iter().enumerate() {
            if matches!(task.state, State::Scheduled | State::Waiting) {
                let (from, received) = task.awake_since;
                let service = task.received() - received;
                self.activations.push(Activation { task: at, from, to: None, service });
            }
        }
        let mut served = vec![Vec::new(); self.tasks.len()];
        for (number, segment) in self.segments.iter().enumerate() {
            segment.level.members.iter().for_each(|m| served[m.task].push(number));
        }
        let last = self.changes.last().map_or(0.0, |change| change.at);
        Solution {
            names: (0..self.tasks.len()).map(|at| self.source.name(at).to_owned()).collect(),
            end: if self.end.is_finite() { self.end } else { last },
            completions: self.completions,
            activations: self.activations,
            changes: self.changes,
            segments: self.segments,
            served,
        }
    }
}
