// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far a workload can be trusted to do what was recorded.

use super::kind::{Kind, Pair};
use rota_replay::{Doubt, Waits};
use serde::Serialize;

/// The grade, and what it is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Grade {
    /// `good`, `fair` or `poor`.
    pub(crate) grade: &'static str,
    /// What keeps it from a better one.
    pub(crate) reasons: Vec<String>,
}

impl Grade {
    pub(crate) fn is_good(&self) -> bool {
        self.grade == GOOD
    }
}

const GOOD: &str = "good";

/// Kinds with less of the CPU time than this are not asked.
const LEAST_PART: f64 = 0.05;
/// How far a measure may be off for a grade of good, and of fair.
const COMPLETION: (f64, f64) = (0.05, 0.15);
const CPU: (f64, f64) = (0.05, 0.15);
/// Of the CPU time and the delay together.
const DELAY: (f64, f64) = (0.10, 0.25);
const P99: (f64, f64) = (0.25, 0.60);
/// A difference of wakeup latencies below this is none.
const LATENCY_FLOOR_NS: u64 = 50_000;
/// CPU time of others.
const OTHERS: (f64, f64) = (0.05, 0.20);
/// CPU time of tasks that poll.
const POLLS: (f64, f64) = (0.05, 0.25);
/// Sleeps of unknown cause.
const UNKNOWN: (f64, f64) = (0.10, 0.50);

/// What else was there when it was recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances<'a> {
    /// The scheduler; `None`: the kernel's own.
    pub(crate) scheduler: Option<&'a str>,
    /// Events that were lost.
    pub(crate) lost: u64,
    /// Part of the machine's CPU time that tasks had which were not recorded.
    pub(crate) others: f64,
}

/// The grade of a replay under these circumstances, by a scheduler that ships or by the kernel's own.
pub(crate) fn grade(
    kinds: &[Kind],
    completion: Option<Pair>,
    (waits, doubts): (&Waits, &[Doubt]),
    (circumstances, ships): (&Circumstances<'_>, bool),
) -> Grade {
    let mut worst = 0;
    let mut reasons = Vec::new();
    let mut judge = |(good, fair): (f64, f64), off: f64, what: String| {
        let level = match off {
            off if off <= good => 0,
            off if off <= fair => 1,
            _ => 2,
        };
        if level > 0 {
            reasons.push(what);
        }
        worst = worst.max(level);
    };
    let Circumstances { scheduler, lost, others } = *circumstances;
    if lost > 0 {
        judge((0.0, 0.0), 1.0, format!("{lost} events were lost"));
    }
    if let Some(name) = scheduler.filter(|_| !ships) {
        let what = format!("{name} was recorded, and the kernel's own scheduler replayed it");
        judge((0.0, 1.0), 1.0, what);
    }
    let what = format!("tasks that are not recorded had {:.0} % of the machine", 100.0 * others);
    judge(OTHERS, others, what);
    if let Some(pair) = completion {
        judge(COMPLETION, pair.off().abs(), format!("completion is {} off", percent(pair.off())));
    }
    let all: u64 = kinds.iter().map(|kind| kind.cpu.recorded_ns).sum();
    for kind in kinds.iter().filter(|kind| kind.cpu.recorded_ns as f64 > LEAST_PART * all as f64) {
        let name = &kind.name;
        let off = kind.cpu.off();
        judge(CPU, off.abs(), format!("CPU time of {name} is {} off", percent(off)));
        let there = kind.cpu.recorded_ns + kind.run_delay.recorded_ns;
        let off = kind.run_delay.difference() / there.max(1) as f64;
        let what = format!("run delay of {name} is off by {} of its time", percent(off));
        judge(DELAY, off.abs(), what);
        let p99 = kind.p99.filter(|p| p.recorded_ns.abs_diff(p.replayed_ns) > LATENCY_FLOOR_NS);
        if let Some(pair) = p99 {
            let what = format!("p99 wakeup latency of {name} is {} off", percent(pair.off()));
            judge(P99, pair.off().abs(), what);
        }
    }
    for doubt in doubts {
        let (limits, off, what) = doubted(doubt, all);
        judge(limits, off, what);
    }
    let unknown = waits.unknown as f64 / waits.total().max(1) as f64;
    let what = format!("{:.0} % of the sleeps have no known cause", 100.0 * unknown);
    judge(UNKNOWN, unknown, what);
    Grade { grade: [GOOD, "fair", "poor"][worst], reasons }
}

/// How good a workload is, of tasks that had so much CPU time, about which there is a doubt; and what
/// that is.
fn doubted(doubt: &Doubt, cpu_ns: u64) -> ((f64, f64), f64, String) {
    // Enough for fair.
    const SOME: (f64, f64) = (0.0, 1.0);
    match doubt {
        Doubt::Polls { name, work_ns } => {
            let part = *work_ns as f64 / cpu_ns.max(1) as f64;
            let what = format!("{name} polls, with {:.0} % of the CPU time", 100.0 * part);
            (POLLS, part, what)
        }
        Doubt::Alone(count) => (
            SOME,
            1.0,
            format!("{count} threads are processes, as nothing was seen to create them"),
        ),
        Doubt::GroupsChanged(count) => (
            SOME,
            1.0,
            format!("values of {count} cgroups changed: the first ones hold throughout"),
        ),
    }
}

/// `+12 %`.
pub(crate) fn percent(part: f64) -> String {
    format!("{:+.0} %", 100.0 * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(recorded_ns: u64, replayed_ns: u64) -> Pair {
        Pair { recorded_ns, replayed_ns }
    }

    fn kind(cpu: Pair) -> Kind {
        let none = pair(0, 0);
        Kind { name: "a".into(), tasks: 1, cpu, run_delay: none, p50: None, p99: None }
    }

    fn of(kinds: &[Kind], completion: Pair, waits: Waits, lost: u64) -> Grade {
        with_doubts(kinds, completion, waits, (lost, vec![]))
    }

    fn with_doubts(
        kinds: &[Kind],
        completion: Pair,
        waits: Waits,
        (lost, doubts): (u64, Vec<Doubt>),
    ) -> Grade {
        let circumstances = Circumstances { scheduler: None, lost, others: 0.0 };
        grade(kinds, Some(completion), (&waits, &doubts), (&circumstances, false))
    }

    #[test]
    fn doubts_keep_a_grade_low() {
        let of = |doubt| {
            let doubts = (0, vec![doubt]);
            let waits = Waits { tasks: 4, ..Waits::default() };
            let found = with_doubts(&[kind(pair(1000, 1000))], pair(9, 9), waits, doubts);
            (found.grade, found.reasons.first().cloned().unwrap_or_default())
        };
        let polls = |work_ns| Doubt::Polls { name: "a".into(), work_ns };
        let what = |part: &str| format!("a polls, with {part} % of the CPU time");
        assert_eq!(of(polls(50)), ("good", String::new()));
        assert_eq!(of(polls(60)), ("fair", what("6")));
        assert_eq!(of(polls(300)), ("poor", what("30")));
        assert_eq!(of(Doubt::Alone(2)).0, "fair");
        assert_eq!(of(Doubt::GroupsChanged(1)).0, "fair");
    }

    #[test]
    fn what_is_as_recorded_is_good() {
        let waits = Waits { tasks: 9, ..Waits::default() };
        let found = of(&[kind(pair(100, 104))], pair(100, 96), waits, 0);
        assert_eq!(found, Grade { grade: "good", reasons: vec![] });
    }

    #[test]
    fn a_grade_says_what_keeps_it_low() {
        let waits = Waits { tasks: 4, unknown: 1, ..Waits::default() };
        let found = of(&[kind(pair(100, 200))], pair(100, 110), waits, 0);
        let reasons = [
            "completion is +10 % off",
            "CPU time of a is +100 % off",
            "20 % of the sleeps have no known cause",
        ];
        assert_eq!((found.grade, found.reasons), ("poor", reasons.map(String::from).to_vec()));
    }

    #[test]
    fn lost_events_are_never_good_enough() {
        let found = of(&[], pair(100, 100), Waits::default(), 1);
        assert_eq!((found.grade, found.reasons.len()), ("poor", 1));
    }
}
