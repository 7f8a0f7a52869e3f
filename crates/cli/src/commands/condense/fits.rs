// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kinds of tasks got of the long workload and of the small one, and how far that is off.

use super::played::Played;
use crate::replay::{grade, Circumstances, Grade, Kind, Pair};
use rota_measure::GroupNumbers;
use rota_replay::Waits;
use serde::Serialize;

/// Both, kind by kind, most CPU time first.
#[derive(Debug, Serialize)]
pub(super) struct Fits {
    pub(super) kinds: Vec<Row>,
    #[serde(flatten)]
    pub(super) grade: Grade,
}

/// A kind of tasks: the long workload's, the small one's.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) name: String,
    /// Tasks alive, on average.
    pub(super) alive: (f64, f64),
    /// Part of one CPU.
    pub(super) cpu: (f64, f64),
    pub(super) wakeups_per_s: (f64, f64),
    /// Waiting for a CPU, in each second.
    pub(super) run_delay_ns_per_s: (u64, u64),
    /// All wakeups of the long one.
    #[serde(skip)]
    wakeups: u64,
    /// Wakeup latency.
    pub(super) p50_ns: (Option<u64>, Option<u64>),
    pub(super) p99_ns: (Option<u64>, Option<u64>),
}

impl Fits {
    /// Of both, with their lengths.
    pub(super) fn new(long: (&Played, u64), small: (&Played, u64)) -> Self {
        let mut rows: Vec<Row> = long.0.kinds.iter().map(|group| row(group, long, small)).collect();
        rows.sort_by(|a, b| b.cpu.0.total_cmp(&a.cpu.0).then_with(|| a.name.cmp(&b.name)));
        let kinds: Vec<Kind> = rows.iter().map(judged).collect();
        let none = Circumstances { scheduler: None, lost: 0, others: 0.0 };
        let grade = grade(&kinds, None, (&Waits::default(), &[]), (&none, true));
        Self { kinds: rows, grade }
    }
}

fn row(group: &GroupNumbers, long: (&Played, u64), small: (&Played, u64)) -> Row {
    let other = small.0.kinds.iter().find(|other| other.name == group.name);
    let per_s = |of: u64, ns: u64| of as f64 * 1e9 / ns.max(1) as f64;
    let both = |of: fn(&GroupNumbers) -> u64| {
        (per_s(of(group), long.1), other.map_or(0.0, |other| per_s(of(other), small.1)))
    };
    let alive = |(played, ns): (&Played, u64)| {
        let all_ns = played.alive_ns.get(&group.name).copied().unwrap_or(0);
        all_ns as f64 / ns.max(1) as f64
    };
    let latency = |of: fn(&GroupNumbers) -> Option<u64>| (of(group), other.and_then(of));
    let cpu = both(|group| group.cpu_ns);
    let delay = both(|group| group.run_delay_ns);
    Row {
        name: group.name.clone(),
        alive: (alive(long), alive(small)),
        cpu: (cpu.0 / 1e9, cpu.1 / 1e9),
        wakeups_per_s: both(|group| group.wakeup_latency_ns.count),
        run_delay_ns_per_s: (delay.0.round() as u64, delay.1.round() as u64),
        wakeups: group.wakeup_latency_ns.count,
        p50_ns: latency(|group| group.wakeup_latency_ns.p50),
        p99_ns: latency(|group| group.wakeup_latency_ns.p99),
    }
}

/// As a grade takes it: times of a second.
fn judged(row: &Row) -> Kind {
    let pair = |(long, small): (u64, u64)| Pair { recorded_ns: long, replayed_ns: small };
    let part = |(long, small): (f64, f64)| pair(((long * 1e9) as u64, (small * 1e9) as u64));
    // Of fewer wakeups there is no 99th percentile.
    let enough = row.wakeups >= 100;
    let latency =
        |(long, small): (Option<u64>, Option<u64>)| long.zip(small).filter(|_| enough).map(pair);
    Kind {
        name: row.name.clone(),
        tasks: 0,
        cpu: part(row.cpu),
        run_delay: pair(row.run_delay_ns_per_s),
        p50: latency(row.p50_ns),
        p99: latency(row.p99_ns),
    }
}
