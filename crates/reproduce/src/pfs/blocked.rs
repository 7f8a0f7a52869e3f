// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that block: what is left of their process's share, and what eq. 7 makes of it
//! [PFS §5.4].

use super::programs::{run as run_programs, Program};
use super::{largest, mean, off_percent, repetitions, Entry, PFS, PFS_OF_QUEUES, SCOPES};
use crate::error::Error;
use crate::figure::{plain, Drawing, Found, Table};
use crate::pool;
use crate::Job;
use rota_report::chart::{Axis, Line, LineChart, Scale};

const CPUS: f64 = 4.0;
const A_THREADS: u32 = 4;
/// Of B, those that block included.
const B_THREADS: u32 = 8;
const DURATION_NS: u64 = 20_000_000_000;
const ASLEEP_US: u64 = 1_000_000_000;

const ENTRIES: [&Entry; 4] = [
    &PFS_OF_QUEUES,
    &Entry {
        name: "scope=queue, active_only",
        policy: "pfs",
        set: &[("scope", "queue"), ("active_only", "true")],
    },
    &PFS,
    &Entry {
        name: "scope=machine, active_only",
        policy: "pfs",
        set: &[("scope", "machine"), ("active_only", "true")],
    },
];

/// Work and sleep of the four threads that do both, in microseconds, and how that is called.
const SLEEPERS: [(u64, u64, &str); 3] = [
    (1_000, 9_000, "1 ms of 10 ms"),
    (10_000, 90_000, "10 ms of 100 ms"),
    (100_000, 900_000, "100 ms of 1 s"),
];

/// B's threads that block, and how.
#[derive(Clone, Copy)]
struct Case {
    blocked: u32,
    run_us: u64,
    sleep_us: u64,
}

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let repetitions = repetitions(job.effort);
    let asleep = |blocked| Case { blocked, run_us: 0, sleep_us: ASLEEP_US };
    let at_times = SLEEPERS.map(|(run_us, sleep_us, _)| Case { blocked: 4, run_us, sleep_us });
    let kinds: Vec<Case> = (0..B_THREADS).map(asleep).chain(at_times).collect();
    let cases: Vec<(&Entry, Case)> =
        ENTRIES.iter().flat_map(|of| kinds.iter().map(move |case| (*of, *case))).collect();
    job.progress.announce(cases.len() as u64 * repetitions);
    let found = pool::map(job.threads, &cases, |(of, case)| {
        let cpus = (1..=repetitions).map(|seed| {
            job.progress.advance(1);
            cpus_of_b(of, *case, seed)
        });
        Ok(mean(&cpus.collect::<Result<Vec<f64>, Error>>()?))
    })?;
    let by_entry: Vec<&[f64]> = found.chunks(kinds.len()).collect();
    Ok(vec![Found {
        id: "blocking",
        ran: format!(
            "A with {A_THREADS} threads that compute, and B with {B_THREADS}, of which some \
             sleep all the time and the others compute, for {} s in the machine of Figure 3, \
             {repetitions} times. Then four of B's threads work at times and sleep at others. \
             {SCOPES} Both run with eq. 6, and with eq. 7 (active_only).",
            DURATION_NS / 1_000_000_000
        ),
        numbers: plain(numbers(&by_entry)),
        tables: vec![of_asleep(&by_entry), of_sleepers(&by_entry)],
        drawings: vec![Drawing { svg: chart(&by_entry).render() }],
    }])
}

fn cpus_of_b(of: &Entry, case: Case, seed: u64) -> Result<f64, Error> {
    let Case { blocked, run_us, sleep_us } = case;
    let sleepers = Some((blocked, run_us, sleep_us));
    let b = Program { sleepers, ..Program::endless(B_THREADS - blocked) };
    let found =
        run_programs(of, CPUS as u32, &[Program::endless(A_THREADS), b], DURATION_NS, seed)?;
    Ok(found[1].cpu_ns as f64 / DURATION_NS as f64)
}

/// CPUs that B has by eq. 6: each of its threads weighs an eighth of A's four together.
fn by_eq6(blocked: u32) -> f64 {
    let weight = f64::from(B_THREADS - blocked) / f64::from(B_THREADS);
    (CPUS * weight / (1.0 + weight)).min(f64::from(B_THREADS - blocked))
}

/// By eq. 7: half of the CPUs, or one for each thread that computes.
fn by_eq7(blocked: u32) -> f64 {
    (CPUS / 2.0).min(f64::from(B_THREADS - blocked))
}

fn numbers(cpus: &[&[f64]]) -> Vec<(String, f64)> {
    let worst = |entry: usize| {
        let off = |(blocked, found): (u32, &f64)| off_percent(*found, by_eq7(blocked));
        largest((0..B_THREADS).zip(cpus[entry]).map(off))
    };
    let four = 4;
    vec![
        ("eq6".into(), cpus[0][four]),
        ("eq7".into(), cpus[1][four]),
        ("eq7_machine".into(), cpus[3][four]),
        ("eq7_all".into(), worst(1)),
        ("machine_all".into(), worst(3)),
    ]
}

fn header(first: &str) -> Vec<String> {
    let names = ENTRIES.iter().map(|entry| entry.name.to_owned());
    std::iter::once(first.to_owned()).chain(names).collect()
}

fn of_asleep(cpus: &[&[f64]]) -> Table {
    let row = |blocked: u32| {
        let found = cpus.iter().map(|of| of[blocked as usize]);
        let all = found.chain([by_eq6(blocked), by_eq7(blocked)]);
        std::iter::once(blocked.to_string()).chain(all.map(|cpus| format!("{cpus:.3}"))).collect()
    };
    let mut header = header("B's threads asleep");
    header.extend(["eq. 6".into(), "eq. 7".into()]);
    Table {
        title: "CPUs that B has, with threads that sleep".into(),
        header,
        rows: (0..B_THREADS).map(row).collect(),
        long: false,
    }
}

fn of_sleepers(cpus: &[&[f64]]) -> Table {
    let row = |(at, (_, _, name)): (usize, &(u64, u64, &str))| {
        let found = cpus.iter().map(|of| format!("{:.3}", of[B_THREADS as usize + at]));
        std::iter::once((*name).to_owned()).chain(found).collect()
    };
    Table {
        title: "CPUs that B has, with four threads that work for a part of the time".into(),
        header: header("they work for"),
        rows: SLEEPERS.iter().enumerate().map(row).collect(),
        long: false,
    }
}

fn chart(cpus: &[&[f64]]) -> LineChart {
    let points = |of: &dyn Fn(u32) -> f64| -> Vec<(f64, f64)> {
        (0..B_THREADS).map(|blocked| (f64::from(blocked), of(blocked))).collect()
    };
    let line = |(entry, found): (&&Entry, &&[f64])| Line {
        name: entry.name.into(),
        points: points(&|blocked| found[blocked as usize]),
    };
    let mut lines: Vec<Line> = ENTRIES.iter().zip(cpus).map(line).collect();
    lines.push(Line { name: "eq. 6".into(), points: points(&by_eq6) });
    lines.push(Line { name: "eq. 7".into(), points: points(&by_eq7) });
    LineChart {
        title: "What a process has when some of its threads sleep".into(),
        description: "CPUs that a process of eight threads has next to one of four, by the number \
                      of its threads that sleep"
            .into(),
        x: Axis { label: "threads asleep, of eight".into(), scale: Scale::Linear },
        y: Axis { label: "CPUs".into(), scale: Scale::Linear },
        lines,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equations_come_to_these_cpus() {
        // None asleep: half each. Four of eight: half of the weight, a third of four CPUs.
        assert_eq!((by_eq6(0), by_eq7(0)), (2.0, 2.0));
        assert!((by_eq6(4) - 4.0 / 3.0).abs() < 1e-12);
        // Seven of eight: a ninth of the weights; by eq. 7 all that one thread can use.
        assert!((by_eq6(7) - 4.0 / 9.0).abs() < 1e-12);
        assert_eq!(by_eq7(7), 1.0);
    }
}
