// SPDX-License-Identifier: MIT OR Apache-2.0
//! What §2.1 says of dynamic priorities and interactive tasks, and the bounds of lag of §4.3.

use super::formulas::{hogs, ms, runs, CFS};
use crate::error::Error;
use crate::figure::{plain, Found, Table};
use crate::rig::{linked, tasks, Length, Rig};
use crate::runs::{longest_wait_ns, Run, Runs};
use crate::Job;

const MS: u64 = 1_000_000;
/// One sleep counts in full: the paper has no ceiling.
const O1: [(&str, &str); 1] = [("no_sleep_ceiling", "true")];
/// Sleeps in ms, a bonus apart from each other.
const SLEEPS: [u64; 11] = [50, 150, 250, 350, 450, 550, 650, 750, 850, 950, 2_000];
const TASKS: [usize; 3] = [2, 5, 10];
const MIXED: [i32; 4] = [-5, 0, 5, 10];

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    job.progress.announce(1);
    let mut numbers: Vec<(String, f64)> = Vec::new();
    let mut rows = Vec::new();
    for sleep_ms in SLEEPS {
        let bonus = bonus(sleep_ms)?;
        rows.push(vec![sleep_ms.to_string(), bonus.to_string()]);
        numbers.push((format!("bonus_{sleep_ms}"), bonus));
    }
    numbers.push(("lowest".into(), lowest()?));
    numbers.push(("highest".into(), highest()?));
    numbers.push(("interactive".into(), interactive()?));
    numbers.push(("starved".into(), starved()?));
    for count in TASKS {
        let workload = hogs(&vec![0; count])?;
        for (key, policy, set) in [("lag_o1", "o1", &[][..]), ("lag_cfs", "cfs", &CFS)] {
            let runs = runs(policy, set, &workload, 20_000 * MS)?;
            let longest = (0..count).map(|task| longest_wait_ns(&runs, task)).max();
            numbers.push((format!("{key}_{count}"), ms(longest.unwrap_or(0))));
        }
    }
    let mixed = runs("cfs", &CFS, &hogs(&MIXED)?, 20_000 * MS)?;
    let longest = (0..MIXED.len()).map(|task| longest_wait_ns(&mixed, task)).max();
    numbers.push(("lag_mixed".into(), ms(longest.unwrap_or(0))));
    job.progress.advance(1);
    Ok(vec![Found {
        id: "priorities",
        ran: "Under the policies that ship in the ideal machine with one CPU. A bonus is read from \
              whether a task that wakes up after one sleep preempts one of some nice value that \
              computes, with a bonus of -5: with a bonus b it preempts nice -4 - b and all above. \
              One sleep counts in full (no_sleep_ceiling=true). Lags are the longest times that a task \
              that computes waits for the CPU in 20 s."
            .into(),
        numbers: plain(numbers),
        tables: vec![Table {
            title: "Bonus by the length of a sleep".into(),
            header: ["sleep (ms)", "bonus"].map(String::from).to_vec(),
            rows,
            long: false,
        }],
        drawings: Vec::new(),
    }])
}

/// A task of a workload file.
fn told(nice: i32, sleep_ms: u64) -> String {
    let sleep = match sleep_ms {
        0 => String::new(),
        ms => format!("\"sleep\": {}, ", 1_000 * ms),
    };
    format!("\"priority\": {nice}, \"loop\": 1, {sleep}\"run\": 100000000")
}

/// For how long the first of two has the CPU when it wakes up, if it is at once: it preempts.
fn preempts(one: (i32, u64), other: (i32, u64)) -> Result<Option<u64>, Error> {
    // The other comes later, or it could keep the first from falling asleep.
    let later = format!("\"delay\": 1000, {}", told(other.0, other.1));
    let workload = tasks([told(one.0, one.1), later].into_iter(), |at| format!("t{at}"))?;
    let runs = runs("o1", &O1, &workload, (one.1 + 1_000) * MS)?;
    let first = runs.iter().find(|run| run.client == 0);
    Ok(first.filter(|run| run.from_ns == one.1 * MS).map(|run| run.to_ns - run.from_ns))
}

/// The bonus of a task with nice 0 after one sleep. A task of nice n that computes has 120 + n + 5, and
/// is preempted if that is more than 120 - bonus: the least n is -4 - bonus.
fn bonus(sleep_ms: u64) -> Result<f64, Error> {
    for nice in -13..=5 {
        if preempts((0, sleep_ms), (nice, 0))?.is_some() {
            return Ok(f64::from(-4 - nice));
        }
    }
    Ok(f64::NAN)
}

/// The largest nice value with which a new task preempts one of nice 19, whose priority is 139 and
/// not 144: by hand 13, as 120 + 13 + 5 = 138.
fn highest() -> Result<f64, Error> {
    for nice in (0..=19).rev() {
        // Not at the end of a slice of 5 ms.
        if preempts((nice, 52), (19, 0))?.is_some() {
            return Ok(f64::from(nice));
        }
    }
    Ok(f64::NAN)
}

/// The least nice value of a task that one of nice -20 preempts, both with a bonus of 5: by hand -14.
/// That one has 100 and not 95, and nice -15 has 105 - 5 = 100, too.
fn lowest() -> Result<f64, Error> {
    for nice in -20..=0 {
        if preempts((-20, 2_005), (nice, 2_000))?.is_some() {
            return Ok(f64::from(nice));
        }
    }
    Ok(f64::NAN)
}

/// The largest nice value with which a task that slept goes on after its slice, before one of nice 19
/// whose slice did not end. After a slice its average is below 1 s, and so its bonus 4: by hand nice 11,
/// as 4 >= static / 4 - 28 up to 131, in whole numbers.
fn interactive() -> Result<f64, Error> {
    for nice in (0..=19).rev() {
        let slice_ms = 5 * (20 - nice as u64);
        if preempts((nice, 2_002), (19, 0))?.is_some_and(|ran_ns| ran_ns > slice_ms * MS) {
            return Ok(f64::from(nice));
        }
    }
    Ok(f64::NAN)
}

/// CPU time, from half a minute to a minute, of a task that computes beside four that are interactive
/// and want more than all of the CPU.
fn starved() -> Result<f64, Error> {
    let four =
        std::iter::repeat_n("\"priority\": -5, \"run\": 20000, \"sleep\": 40000".to_owned(), 4);
    let workload = tasks(four.chain([told(0, 0)]), |at| format!("t{at}"))?;
    let mut runs = Runs::default();
    let rig = Rig::new(&linked("o1", &[])?);
    // It waits for longer than a kernel would let it.
    rig.without_watchdog().run(&workload, Length::of(60_000 * MS), &mut runs)?;
    let late = |run: &Run| run.to_ns.saturating_sub(run.from_ns.max(30_000 * MS));
    let own = runs.finish(60_000 * MS);
    Ok(ms(own.iter().filter(|run| run.client == 4).map(late).sum()))
}
