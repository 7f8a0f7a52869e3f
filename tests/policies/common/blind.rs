// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priority-based blind scheduling [PBS] on one CPU, looked at from outside: who had run for how
//! long at each pick of a trace, and what priorities that made, in doubles.

use super::hosted::Hosted;
use super::{ideal, Tape};
use rota_machine::exit::ExitKind;
use rota_trace::EventKind;

const MS: u64 = 1_000_000;

/// Tasks that compute: when each comes and what it needs, in ms.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) tasks: Vec<(u64, u64)>,
}

/// What a policy made of it.
pub(crate) struct Played {
    /// When slices began, and whose: the number of the task.
    pub(crate) picks: Vec<(u64, usize)>,
    /// When tasks were done, if they were.
    pub(crate) ends: Vec<Option<u64>>,
    came: Vec<u64>,
    end_ns: u64,
}

/// What a task had at a pick.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    /// Time since it came.
    pub(crate) sojourn_ns: u64,
    /// CPU time.
    pub(crate) served_ns: u64,
    /// The part of that of its last slice.
    pub(crate) last_ns: u64,
    /// It came and is not done.
    pub(crate) active: bool,
}

impl State {
    /// log2(T) - alpha log2(S), with other CPU time.
    pub(crate) fn priority_at(&self, alpha: f64, served_ns: u64) -> f64 {
        if served_ns == 0 && alpha > 0.0 {
            return f64::INFINITY;
        }
        let log = |ns: u64| (ns.max(1) as f64).log2();
        log(self.sojourn_ns) - alpha * log(served_ns)
    }

    pub(crate) fn priority(&self, alpha: f64) -> f64 {
        self.priority_at(alpha, self.served_ns)
    }
}

impl Scenario {
    /// The four tasks of [PBS §3.1, Fig. 2].
    pub(crate) fn four() -> Self {
        Self { tasks: vec![(0, 4_500), (1_000, 2_500), (3_000, 3_000), (5_000, 2_000)] }
    }

    fn workload(&self) -> String {
        let task = |(at, (comes, needs)): (usize, &(u64, u64))| {
            let times = format!(r#""delay": {}, "run": {}"#, comes * 1000, needs * 1000);
            format!(r#""t{at:02}": {{"loop": 1, {times}}}"#)
        };
        let tasks: Vec<String> = self.tasks.iter().enumerate().map(task).collect();
        format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "))
    }

    /// Plays it for `ms`, without overheads.
    pub(crate) fn play(&self, policy: &str, set: &[(&str, &str)], ms: u64) -> Played {
        let mut hosted = Hosted::new(policy, set, ideal(1, ms * MS), &self.workload());
        let (outcome, tape) = hosted.run();
        assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
        self.read(&tape, ms * MS)
    }

    fn read(&self, tape: &Tape, end_ns: u64) -> Played {
        let names = (0..self.tasks.len()).map(|at| format!("t{at:02}-{at}"));
        let pids: Vec<u32> = names.map(|name| tape.pid(&name)).collect();
        let number = |pid: u32| pids.iter().position(|p| *p == pid);
        let mut ends = vec![None; pids.len()];
        let mut picks: Vec<(u64, usize)> = Vec::new();
        for event in &tape.0 {
            match event.kind {
                EventKind::Pick { pid, .. } => {
                    picks.extend(number(pid).map(|task| (event.time_ns, task)));
                }
                EventKind::Exit { pid } => {
                    if let Some(task) = number(pid) {
                        ends[task] = Some(event.time_ns);
                    }
                }
                _ => {}
            }
        }
        let came = self.tasks.iter().map(|(comes, _)| comes * MS).collect();
        Played { picks, ends, came, end_ns }
    }
}

impl Played {
    /// All tasks at each pick: the time, who was picked, and what each had.
    pub(crate) fn states(&self) -> Vec<(u64, usize, Vec<State>)> {
        let mut all = vec![State::default(); self.ends.len()];
        let mut states = Vec::new();
        for (at, (time_ns, picked)) in self.picks.iter().enumerate() {
            for (task, state) in all.iter_mut().enumerate() {
                state.active =
                    self.came[task] <= *time_ns && self.ends[task].is_none_or(|end| end > *time_ns);
                state.sojourn_ns = time_ns.saturating_sub(self.came[task]);
            }
            states.push((*time_ns, *picked, all.clone()));
            let next = self.picks.get(at + 1).map_or(self.end_ns, |next| next.0);
            let until = self.ends[*picked].map_or(next, |end| end.min(next));
            all[*picked].last_ns = until - time_ns;
            all[*picked].served_ns += until - time_ns;
        }
        states
    }

    /// CPU time of a task between two times.
    pub(crate) fn served_ns(&self, task: usize, from_ns: u64, to_ns: u64) -> u64 {
        self.spans(task)
            .iter()
            .map(|(a, b)| (*b).min(to_ns).saturating_sub((*a).max(from_ns)))
            .sum()
    }

    /// When a task ran; slices that touch are one.
    pub(crate) fn spans(&self, task: usize) -> Vec<(u64, u64)> {
        let mut spans: Vec<(u64, u64)> = Vec::new();
        for (at, (time_ns, picked)) in self.picks.iter().enumerate() {
            if *picked != task {
                continue;
            }
            let next = self.picks.get(at + 1).map_or(self.end_ns, |next| next.0);
            let until = self.ends[task].map_or(next, |end| end.min(next));
            match spans.last_mut() {
                Some(last) if last.1 == *time_ns => last.1 = until,
                _ => spans.push((*time_ns, until)),
            }
        }
        spans
    }
}
