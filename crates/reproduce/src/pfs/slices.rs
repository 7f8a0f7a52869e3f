// SPDX-License-Identifier: MIT OR Apache-2.0
//! What §2.4 says of CFS: slices, the period, and virtual runtime [PFS Eq. 1, 2].

use crate::error::Error;
use crate::figure::{plain, Found};
use crate::o1cfs::formulas::{hogs, ms, runs, CFS};
use crate::runs::{longest_run_ns, received_ns, Run};
use crate::Job;

const MS: u64 = 1_000_000;
/// A, B and C of the example, and their weights.
const NICE: [i32; 3] = [0, 1, 2];
const WEIGHTS: [f64; 3] = [1024.0, 820.0, 655.0];
const DURATION_NS: u64 = 20_000 * MS;
const SETTLED_NS: u64 = 1_000 * MS;
const PERIOD_MS: f64 = 20.0;
/// Up to and above nr_latency, which is 20 / 4.
const TASKS: [usize; 4] = [2, 5, 6, 10];

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    job.progress.announce(1);
    let all = runs("cfs", &CFS, &hogs(&NICE)?, DURATION_NS)?;
    // Whole rounds, from one slice of A to another, when all have long begun.
    let begins = |run: &Run| run.client == 0 && run.from_ns >= SETTLED_NS;
    let first = all.iter().position(begins).unwrap_or(0);
    let last = all.iter().rposition(begins).unwrap_or(0);
    let example = &all[first..last];
    let periods = ms(all[last].from_ns - all[first].from_ns) / PERIOD_MS;
    let received = received_ns(example, NICE.len());
    let mut numbers = Vec::new();
    for (task, weight) in WEIGHTS.into_iter().enumerate() {
        let nice = NICE[task];
        let of_first = received[task] as f64 / received[0] as f64;
        numbers.push((format!("weight_{nice}"), WEIGHTS[0] * of_first));
        numbers.push((format!("slice_{nice}"), ms(longest_run_ns(example, task))));
        let in_a_period = ms(received[task]) / periods;
        numbers.push((format!("vruntime_{nice}"), in_a_period / weight * WEIGHTS[0]));
    }
    for count in TASKS {
        let runs = runs("cfs", &CFS, &hogs(&vec![0; count])?, 3_000 * MS)?;
        // All have the same slice, so that a period is as many of it.
        numbers.push((format!("period_{count}"), count as f64 * ms(longest_run_ns(&runs, 0))));
    }
    job.progress.advance(1);
    Ok(vec![Found {
        id: "slices",
        ran: "CFS in the ideal machine with one CPU, a latency of 20 ms and a least granularity of 4 \
              ms. The example's tasks, with nice 0, 1 and 2, compute for 20 s, of which whole \
              rounds count, from 1 s on. A slice is the longest time that a task has the CPU without a break; virtual \
              runtime is CPU time by weight in a period; a period is the slices of all tasks, of \
              nice 0 each."
            .into(),
        numbers: plain(numbers),
        tables: Vec::new(),
        drawings: Vec::new(),
    }])
}
