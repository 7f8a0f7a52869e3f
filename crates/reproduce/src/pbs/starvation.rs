// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who starves [PBS §3.3], and what a row of equal tasks waits for [§3.4]: under the policies that
//! ship, in the ideal machine.

use crate::error::Error;
use crate::figure::{plain, Found, Table};
use crate::pool;
use crate::rig::{linked, tasks, Length, Rig};
use crate::runs::{Run, Runs};
use crate::Job;
use rota_trace::{Event, EventKind, Sink};

const SECOND_NS: u64 = 1_000_000_000;
const END_S: u64 = 60;
/// From here on starving counts.
const FROM_S: u64 = 30;
/// Tasks of 100 ms that come together.
const ROW: usize = 100;

type Set = &'static [(&'static str, &'static str)];
type Entry = (&'static str, &'static str, Set);

/// Each request is a session of its own, and decisions are made at the ends of slices.
const ENTRIES: [Entry; 8] = [
    ("FCFS", "fifo", &[]),
    ("LAS", "las", &[("since", "wakeup"), ("quantum_ns", "4000000"), WAITS]),
    ("RR, 4 ms", "rr", &[("quantum_ns", "4000000")]),
    ("PBS, alpha 0.01", "pbs", &[("alpha", "0.01"), ("beta", "0"), WAITS]),
    ("PBS, alpha 0.2", "pbs", &[("alpha", "0.2"), ("beta", "0"), WAITS]),
    ("PBS, alpha 1", "pbs", &[("alpha", "1"), ("beta", "0"), WAITS]),
    ("PBS, alpha 2", "pbs", &[("alpha", "2"), ("beta", "0"), WAITS]),
    ("PBS, alpha 100", "pbs", &[("alpha", "100"), ("beta", "0"), WAITS]),
];
const WAITS: (&str, &str) = ("no_preemption", "true");

/// One that fails to end, and two that come 10 and 20 s later.
const ENDLESS: [&str; 3] = [
    "\"run\": 90000000",
    "\"delay\": 10000000, \"run\": 90000000",
    "\"delay\": 20000000, \"run\": 90000000",
];

/// A long one, and two users of small tasks. Under LAS they are served alternately in slices of
/// 4 ms, so that one has at least 4 ms left when the other ends, and thinks for 3 ms: one of them
/// always has work, and has had less than the long one.
const AGGRESSIVE: [&str; 3] = [
    "\"run\": 90000000",
    "\"delay\": 100000, \"run\": 20000, \"sleep\": 3000",
    "\"delay\": 100000, \"run\": 20000, \"sleep\": 3000",
];

pub(crate) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    job.progress.announce(2 * ENTRIES.len() as u64 + 2);
    let scenes = [ENDLESS, AGGRESSIVE];
    let cases: Vec<(usize, usize)> =
        (0..ENTRIES.len()).flat_map(|entry| [(entry, 0), (entry, 1)]).collect();
    let had = pool::map(job.threads, &cases, |(entry, scene)| {
        let had = had(&ENTRIES[*entry], &scenes[*scene]);
        job.progress.advance(1);
        had
    })?;
    let of = |entry: usize, scene: usize| had[2 * entry + scene];
    // Tasks that would starve: those that come later, or the long one.
    let later = |entry: usize| of(entry, 0)[1].max(of(entry, 0)[2]);
    let least = |entry: usize| of(entry, 0)[1].min(of(entry, 0)[2]);
    let long = |entry: usize| of(entry, 1)[0];
    let row = |(at, (name, _, _)): (usize, &Entry)| {
        let ms = of(at, 0).into_iter().chain(of(at, 1)).map(|ms| format!("{ms:.0}"));
        std::iter::once((*name).to_owned()).chain(ms).collect::<Vec<String>>()
    };
    let [ps, fcfs] = [row_of("ps")?, row_of("fifo")?];
    job.progress.advance(2);
    let header = [
        "scheduler",
        "endless (ms)",
        "10 s later (ms)",
        "20 s later (ms)",
        "long (ms)",
        "user 1 (ms)",
        "user 2 (ms)",
    ];
    Ok(vec![Found {
        id: "starvation",
        ran: format!(
            "CPU time from {FROM_S} to {END_S} s on one CPU of the ideal machine. A task that fails \
             to end comes first, and two others 10 and 20 s later; or a long task comes first and, \
             0.1 s later, two users that submit 20 ms of work and think for 3 ms. Decisions are made \
             at the ends of slices of 4 ms, and under LAS and PBS each submission is a session (beta 0). {ROW} tasks of 100 ms that come \
             together, for the row of §3.4."
        ),
        numbers: plain([
            ("fcfs", later(0)),
            ("las", long(1)),
            ("ps_first", least(2)),
            ("ps_long", long(2)),
            ("first_0.2", least(4)),
            ("first_1", least(5)),
            ("first_2", least(6)),
            ("first_100", least(7)),
            ("long_0.01", long(3)),
            ("long_0.2", long(4)),
            ("long_1", long(5)),
            ("long_2", long(6)),
            ("long_term_small", later(3)),
            ("long_term_large", long(7)),
            ("row_ps", ps),
            ("row_fcfs", fcfs),
        ]),
        tables: vec![Table {
            title: "CPU time in half a minute".into(),
            header: header.map(String::from).to_vec(),
            rows: ENTRIES.iter().enumerate().map(row).collect(),
            long: false,
        }],
        drawings: Vec::new(),
    }])
}

/// CPU time of three tasks in the last half, in ms.
fn had((_, policy, set): &Entry, told: &[&str; 3]) -> Result<[f64; 3], Error> {
    let workload = tasks(told.iter().map(|one| (*one).to_owned()), |at| format!("t{at}"))?;
    let mut runs = Runs::default();
    let length = Length::of(END_S * SECOND_NS);
    Rig::new(&linked(policy, set)?).without_watchdog().run(&workload, length, &mut runs)?;
    let runs = runs.finish(END_S * SECOND_NS);
    let own = |task: usize| {
        let late = |run: &Run| run.to_ns.saturating_sub(run.from_ns.max(FROM_S * SECOND_NS));
        runs.iter().filter(|run| run.client == task).map(late).sum::<u64>() as f64 / 1e6
    };
    Ok([0, 1, 2].map(own))
}

/// Mean response time over all the work, of tasks of a size that come together.
fn row_of(policy: &str) -> Result<f64, Error> {
    let told = (0..ROW).map(|_| "\"loop\": 1, \"run\": 100000".to_owned());
    let workload = tasks(told, |at| format!("t{at}"))?;
    let mut ends = Ends(Vec::new());
    let length = Length::of(11 * SECOND_NS);
    Rig::new(&linked(policy, &[])?).run(&workload, length, &mut ends)?;
    if ends.0.len() != ROW {
        return Err(Error::Failure(format!("{policy}: {} of {ROW} tasks ended", ends.0.len())));
    }
    let work_ns = ROW as f64 * 1e8;
    Ok(ends.0.iter().sum::<u64>() as f64 / ROW as f64 / work_ns)
}

/// When tasks ended.
struct Ends(Vec<u64>);

impl Sink for Ends {
    fn event(&mut self, event: &Event) {
        if let EventKind::Exit { .. } = event.kind {
            self.0.push(event.time_ns);
        }
    }
}
