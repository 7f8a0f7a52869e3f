// SPDX-License-Identifier: MIT OR Apache-2.0
//! What schedulers decided in two runs, and the first decision that differs: the command reads it
//! from traces, the output prints it.

use rota_measure::catalogue::Measure;
use std::collections::{BTreeMap, BTreeSet};

/// A CPU starts a slice of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) time_ns: u64,
    pub(crate) pid: u32,
    pub(crate) slice_ns: u64,
}

/// Decisions of a run, by CPU and in their order, with the names of tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decisions {
    pub(crate) of_cpu: BTreeMap<u32, Vec<Decision>>,
    pub(crate) names: BTreeMap<u32, String>,
}

impl Decisions {
    pub(crate) fn name(&self, pid: u32) -> &str {
        self.names.get(&pid).map_or("", String::as_str)
    }

    pub(crate) fn count(&self) -> usize {
        self.of_cpu.values().map(Vec::len).sum()
    }

    pub(crate) fn at(&self, cpu: u32, at: usize) -> Option<&Decision> {
        self.of_cpu.get(&cpu)?.get(at)
    }
}

/// Where two runs part: a decision of a CPU, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parting {
    pub(crate) cpu: u32,
    pub(crate) at: usize,
}

/// The earliest decision for which CPUs take different tasks, or only one run has one. Decisions are
/// compared by CPU: a policy that takes longer to decide has them later, and has taken the same.
pub(crate) fn parting(a: &Decisions, b: &Decisions) -> Option<Parting> {
    first(a, b, |of, one, other| one.pid == other.pid && of.0.name(one.pid) == of.1.name(other.pid))
}

/// As [`parting`], of decisions with another slice.
pub(crate) fn other_slice(a: &Decisions, b: &Decisions) -> Option<Parting> {
    first(a, b, |_, one, other| one.slice_ns == other.slice_ns)
}

fn first(
    a: &Decisions,
    b: &Decisions,
    is_same: impl Fn((&Decisions, &Decisions), &Decision, &Decision) -> bool,
) -> Option<Parting> {
    let cpus: BTreeSet<u32> = a.of_cpu.keys().chain(b.of_cpu.keys()).copied().collect();
    let of_cpu = |cpu: u32| {
        let length = |of: &Decisions| of.of_cpu.get(&cpu).map_or(0, Vec::len);
        let most = length(a).max(length(b));
        let differs = |at: &usize| match (a.at(cpu, *at), b.at(cpu, *at)) {
            (Some(one), Some(other)) => !is_same((a, b), one, other),
            _ => true,
        };
        (0..most).find(differs).map(|at| Parting { cpu, at })
    };
    let time = |of: &Parting| {
        let times = [a.at(of.cpu, of.at), b.at(of.cpu, of.at)];
        times.into_iter().flatten().map(|decision| decision.time_ns).min()
    };
    cpus.into_iter().filter_map(of_cpu).min_by_key(time)
}

/// What a scheduler saw of a task when it decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Runnable {
    pub(crate) pid: u32,
    pub(crate) name: String,
    pub(crate) weight: u32,
    /// CPU time that it had got.
    pub(crate) ran_ns: u64,
    /// Since when it waits; `None`: it runs.
    pub(crate) since_ns: Option<u64>,
    /// The CPU that it runs on, or that it was on last.
    pub(crate) cpu: Option<u32>,
    /// The queue that it is in; `None`: the policy has it.
    pub(crate) dsq: Option<u64>,
}

/// A side of the difference.
#[derive(Debug)]
pub(crate) struct Side {
    /// The trace; or the policy, workload and seed.
    pub(crate) name: String,
    /// Of a run that was done for it: the policy.
    pub(crate) policy: Option<String>,
    pub(crate) decisions: Decisions,
    pub(crate) cpus: u32,
    pub(crate) duration_ns: u64,
    /// All that could run just before the decision that differs, and were known then.
    pub(crate) saw: Vec<Runnable>,
    /// By the places of the metrics in the catalogue.
    pub(crate) measures: Vec<Option<f64>>,
}

/// Everything that is printed.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) sides: [Side; 2],
    /// Of runs that were done for it: the workload and the seed.
    pub(crate) of: Option<(String, u64)>,
    pub(crate) parting: Option<Parting>,
    pub(crate) slice: Option<Parting>,
    pub(crate) measures: &'static [Measure],
}

impl Difference {
    /// The decisions of both sides at a place.
    pub(crate) fn at(&self, parting: Parting) -> [Option<&Decision>; 2] {
        [0, 1].map(|side: usize| self.sides[side].decisions.at(parting.cpu, parting.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decisions(of: &[(u32, u64, u32)]) -> Decisions {
        let mut decisions = Decisions::default();
        for (cpu, time_ns, pid) in of {
            let decision = Decision { time_ns: *time_ns, pid: *pid, slice_ns: 5 };
            decisions.of_cpu.entry(*cpu).or_default().push(decision);
            decisions.names.insert(*pid, format!("task-{pid}"));
        }
        decisions
    }

    #[test]
    fn the_same_tasks_at_other_times_are_the_same_decisions() {
        let a = decisions(&[(0, 1, 7), (1, 2, 8), (0, 5, 8)]);
        let later = decisions(&[(1, 2, 8), (0, 3, 7), (0, 9, 8)]);
        assert_eq!(parting(&a, &later), None);
    }

    #[test]
    fn the_earliest_of_all_cpus_is_the_first() {
        let a = decisions(&[(0, 1, 7), (1, 2, 8), (0, 5, 8), (1, 4, 7)]);
        let b = decisions(&[(0, 1, 7), (1, 2, 8), (0, 5, 9), (1, 4, 9)]);
        assert_eq!(parting(&a, &b), Some(Parting { cpu: 1, at: 1 }));
        let shorter = decisions(&[(0, 1, 7), (1, 2, 8), (0, 5, 8)]);
        assert_eq!(parting(&a, &shorter), Some(Parting { cpu: 1, at: 1 }));
    }

    proptest! {
        #[test]
        fn a_run_does_not_differ_from_itself_and_order_does_not_matter(
            a in proptest::collection::vec((0..3u32, 0..50u64, 0..4u32), 0..20),
            b in proptest::collection::vec((0..3u32, 0..50u64, 0..4u32), 0..20)
        ) {
            let (a, b) = (decisions(&a), decisions(&b));
            prop_assert_eq!(parting(&a, &a), None);
            prop_assert_eq!(parting(&a, &b).is_none(), parting(&b, &a).is_none());
        }
    }
}
