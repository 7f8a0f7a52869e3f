// SPDX-License-Identifier: MIT OR Apache-2.0
//! The formulas and examples of §2: slices, and what sleep is worth.

use crate::error::Error;
use crate::figure::{plain, Found};
use crate::rig::{hogs_told, linked, tasks, Length, Rig};
use crate::runs::{longest_run_ns, received_ns, Run, Runs};
use crate::Job;
use rota_workload::Workload;
use std::sync::Arc;

const MS: u64 = 1_000_000;
/// Base time slices by nice value: static priorities 100, 119, 120 and 139 [O1CFS §2.1].
const NICE: [i32; 4] = [-20, -1, 0, 19];
/// As the paper has it: a period of 20 ms that is stretched by tasks with less than 4 ms each.
pub(crate) const CFS: [(&str, &str); 2] =
    [("sched_latency_ns", "20000000"), ("sched_min_granularity_ns", "4000000")];
const TASKS: [usize; 3] = [3, 5, 10];

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    job.progress.announce(1);
    let mut numbers = Vec::new();
    for nice in NICE {
        // Two of them, so that a slice ends.
        let two = hogs(&[nice, nice])?;
        let runs = runs("o1", &[], &two, 5_000 * MS)?;
        numbers.push((format!("base_slice_{nice}"), ms(longest_run_ns(&runs, 0))));
    }
    for count in TASKS {
        let runs = runs("cfs", &CFS, &hogs(&vec![0; count])?, 3_000 * MS)?;
        numbers.push((format!("slice_{count}"), ms(longest_run_ns(&runs, 0))));
    }
    // Weights of nice 0 and 5: 1024 and 335.
    let runs_of_two = runs("cfs", &CFS, &hogs(&[0, 5])?, 20_000 * MS)?;
    let received = received_ns(&runs_of_two, 2);
    numbers
        .push(("share".into(), 100.0 * received[0] as f64 / received.iter().sum::<u64>() as f64));
    let by_load = [&CFS[..], &[("sleeper_credit", "load")]].concat();
    for (key, policy, set) in
        [("sleeper", "cfs", &CFS[..]), ("sleeper_load", "cfs", &by_load), ("sleeper_o1", "o1", &[])]
    {
        let workload = tasks(
            ["\"run\": 2000, \"sleep\": 2000", "\"run\": 3600000000"]
                .map(str::to_owned)
                .into_iter(),
            |at| ["a", "b"][at].into(),
        )?;
        let received = received_ns(&runs(policy, set, &workload, 20_000 * MS)?, 2);
        numbers.push((key.to_owned(), received[0] as f64 / received[1] as f64));
    }
    job.progress.advance(1);
    Ok(vec![Found {
        id: "formulas",
        ran: "Tasks that compute in the ideal machine with one CPU, where slices end exactly. The \
              slice of a task is the longest time that it has the CPU without a break. CFS with a \
              latency of 20 ms and a least granularity of 4 ms, and a task that slept placed as \
              2.6.24 does or as the paper prints it (sleeper_credit=load)."
            .into(),
        numbers: plain(numbers),
        tables: Vec::new(),
        drawings: Vec::new(),
    }])
}

pub(crate) fn ms(ns: u64) -> f64 {
    ns as f64 / MS as f64
}

pub(crate) fn hogs(nice: &[i32]) -> Result<Arc<Workload>, Error> {
    hogs_told(nice.iter().map(|nice| format!("\"priority\": {nice}")), |at| format!("t{at}"))
}

pub(crate) fn runs(
    policy: &str,
    set: &[(&str, &str)],
    workload: &Arc<Workload>,
    duration_ns: u64,
) -> Result<Vec<Run>, Error> {
    let mut runs = Runs::default();
    Rig::new(&linked(policy, set)?).run(workload, Length::of(duration_ns), &mut runs)?;
    Ok(joined(runs.finish(duration_ns)))
}

/// Times on the CPU of one task that follow each other are one.
fn joined(runs: Vec<Run>) -> Vec<Run> {
    let mut all: Vec<Run> = Vec::new();
    for run in runs {
        match all.last_mut() {
            Some(last) if last.client == run.client && last.to_ns == run.from_ns => {
                last.to_ns = run.to_ns;
            }
            _ => all.push(run),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_all_that_a_task_has_without_a_break() {
        let run = |client, from_ns, to_ns| Run { client, from_ns, to_ns };
        let runs = vec![run(0, 0, 4), run(0, 4, 8), run(1, 8, 9), run(0, 9, 10), run(0, 12, 13)];
        let expected = [run(0, 0, 8), run(1, 8, 9), run(0, 9, 10), run(0, 12, 13)];
        assert_eq!(joined(runs), expected);
    }
}
