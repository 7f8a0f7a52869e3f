// SPDX-License-Identifier: MIT OR Apache-2.0
//! The experiments of §7 in the simulated machine: a server and J compilers on one CPU, under
//! `cfs`, `rbpe`, and `appease`.

use super::table;
use crate::error::Error;
use crate::figure::{Drawing, Found, Measured};
use crate::pool;
use crate::rig::{linked, Length, Rig};
use crate::Job;
use rota_report::chart::{Axis, Line, LineChart, Scale};
use rota_trace::{Event, EventKind, Request, Sink};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The load average has settled.
const WARM_NS: u64 = 5_000_000_000;
const SECOND: (&str, &str) = ("load_window_ns", "1000000000");
const POLICIES: [(&str, &[(&str, &str)]); 3] =
    [("cfs", &[]), ("rbpe", &[SECOND]), ("appease", &[])];
const CFS: usize = 0;
const RBPE: usize = 1;

/// A job compiles for 100 ms on average, and reads for 5 ms.
const COMPILERS: &str = r#""run": {"dist": "lognormal", "mean": 100000, "sigma": 0.8},
    "sleep": {"dist": "exp", "mean": 5000}"#;

/// CPU time of a file, and the time in which it is on its way [see expected.toml].
const FILE_US: u64 = 100_000;
const TRANSFER_US: u64 = 3_550_000;
const APACHE_S: u64 = 40;
const APACHE_JOBS: u32 = 30;

/// A frame's time, and its decoding: at 1/13 of a CPU 8 frames per second are decoded.
const FRAME_US: u64 = 40_000;
const DECODING_US: u64 = 9_600;
const VIDEO_S: u64 = 20;
const VIDEO_JOBS: u32 = 12;

/// What is shown of all J on the page; the report and JSON have all.
const SHOWN: [usize; 9] = [0, 2, 3, 4, 5, 8, 12, 20, 30];

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    if job.wants("fig1-sim") {
        found.push(apache(job)?);
    }
    if job.wants("fig3-sim") {
        found.push(video(job)?);
    }
    Ok(found)
}

/// For each J what each policy comes to.
fn sweep(
    job: &Job<'_>,
    most: u32,
    seconds: u64,
    server: &(dyn Fn(u32) -> String + Sync),
    value: fn(&Served) -> f64,
) -> Result<Vec<[f64; POLICIES.len()]>, Error> {
    let jobs: Vec<u32> = (0..=most).collect();
    job.progress.announce(jobs.len() as u64);
    pool::map(job.threads, &jobs, |jobs| {
        let workload = Arc::new(rota_workload::parse("sweep", &server(*jobs))?);
        let mut values = [f64::NAN; POLICIES.len()];
        for (value_of, (policy, set)) in values.iter_mut().zip(POLICIES) {
            let mut served = Served::default();
            let length = Length::of(WARM_NS + seconds * 1_000_000_000);
            Rig::new(&linked(policy, set)?).run(&workload, length, &mut served)?;
            *value_of = value(&served);
        }
        job.progress.advance(1);
        Ok(values)
    })
}

/// A workload: what customers ask of a server, with J compilers.
fn workload(socket: &str, customers: &str, jobs: u32) -> String {
    let compilers = match jobs {
        0 => String::new(),
        jobs => format!(", \"cc\": {{\"instance\": {jobs}, {COMPILERS}}}"),
    };
    format!(
        "{{\"sockets\": {{\"s\": {socket}}}, \"customers\": {{\"c\": {{\"to\": \"s\", {customers}}}}}, \
         \"tasks\": {{\"server\": {{\"recv\": \"s\", \"run\": {{\"request\": 1}}, \"reply\": \"s\"}}\
         {compilers}}}}}"
    )
}

fn apache(job: &Job<'_>) -> Result<Found, Error> {
    let server = |jobs| {
        let customers = format!("\"users\": 1, \"think\": {TRANSFER_US}, \"demand\": {FILE_US}");
        workload("\"tcp\"", &customers, jobs)
    };
    // A file's response time, and its transfer.
    let times = sweep(job, APACHE_JOBS, APACHE_S, &server, |served| {
        served.mean_response_ms() / 1e3 + TRANSFER_US as f64 / 1e6
    })?;
    let slower = |jobs: usize| times[jobs][CFS] / times[jobs][RBPE];
    let last = times.len() - 1;
    let numbers = vec![
        ("same".into(), each((0..=2).map(slower))),
        ("lower".into(), each((3..=last).map(slower))),
        ("at_30".into(), slower(last).into()),
    ];
    let y = ("download of a file (s)", 2);
    Ok(Found {
        id: "fig1-sim",
        ran: format!(
            "{}: a customer at a network socket asks for a file, for which Apache needs 100 ms of the \
             CPU, and which is on its way for 3.55 s; then for the next one, for 40 s.",
            machine()
        ),
        numbers,
        tables: shown("Download of a file (s)", &times, y.1),
        drawings: vec![chart("Downloads from Apache, with compilers", y.0, &times)],
    })
}

fn video(job: &Job<'_>) -> Result<Found, Error> {
    let server = |jobs| {
        let customers = format!("\"every\": {FRAME_US}, \"demand\": {DECODING_US}");
        workload("{\"kind\": \"unix\", \"backlog\": 1}", &customers, jobs)
    };
    let rates = sweep(job, VIDEO_JOBS, VIDEO_S, &server, |served| {
        served.responses_ns.len() as f64 / VIDEO_S as f64
    })?;
    let due = 1e6 / FRAME_US as f64;
    let dropped = |policy: usize, jobs: usize| 100.0 * (1.0 - rates[jobs][policy] / due);
    let last = rates.len() - 1;
    let numbers = vec![
        ("before_4".into(), each((0..=3).map(|jobs| dropped(CFS, jobs)))),
        ("from_4".into(), each((4..=last).map(|j| dropped(CFS, j) - dropped(CFS, j - 1)))),
        ("elevated".into(), each((0..=last).map(|jobs| dropped(RBPE, jobs)))),
        ("plain_12".into(), rates[last][CFS].into()),
        ("elevated_12".into(), rates[last][RBPE].into()),
    ];
    Ok(Found {
        id: "fig3-sim",
        ran: format!(
            "{}: every 40 ms a frame is due, asked for at a UNIX socket as a player's X server does, \
             of 9.6 ms of decoding. One frame can wait while another one is decoded; those that come \
             then are dropped. 20 s.",
            machine()
        ),
        numbers,
        tables: shown("Frames per second", &rates, 1),
        drawings: vec![chart("Frames per second, with compilers", "frames per second", &rates)],
    })
}

fn machine() -> String {
    "One CPU under cfs and rbpe, as of Linux 2.6.24, and appease, with their defaults but a load \
     average of 1 s; J tasks that compile for 100 ms on average (lognormal, sigma 0.8) and read for 5 \
     ms (exponential), the same under each"
        .into()
}

/// All of them are judged; the page has their mean.
fn each(values: impl Iterator<Item = f64>) -> Measured {
    let values: Vec<f64> = values.collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Measured { range: Some((least, most)), ..mean.into() }
}

/// Some of J for the page, and all.
fn shown(
    title: &str,
    values: &[[f64; POLICIES.len()]],
    digits: usize,
) -> Vec<crate::figure::Table> {
    let header = ["J", "cfs", "rbpe", "appease"];
    let row = |(jobs, values): (usize, &[f64; POLICIES.len()])| {
        let cells = values.iter().map(|value| format!("{value:.digits$}"));
        std::iter::once(jobs.to_string()).chain(cells).collect()
    };
    let all = values.iter().enumerate();
    let some = all.clone().filter(|(jobs, _)| SHOWN.contains(jobs)).map(row).collect();
    vec![
        table(title, &header, some),
        super::details(&format!("{title}, every J"), &header, all.map(row).collect()),
    ]
}

fn chart(title: &str, y: &str, values: &[[f64; POLICIES.len()]]) -> Drawing {
    let line = |at: usize| Line {
        name: POLICIES[at].0.to_owned(),
        points: values.iter().enumerate().map(|(jobs, of)| (jobs as f64, of[at])).collect(),
    };
    let chart = LineChart {
        title: title.into(),
        description: format!("{title}, by number of jobs"),
        x: Axis { label: "jobs".into(), scale: Scale::Linear },
        y: Axis { label: y.into(), scale: Scale::Linear },
        lines: (0..POLICIES.len()).map(line).collect(),
    };
    Drawing { svg: chart.render() }
}

/// Requests of customers that were answered once the load average has settled.
#[derive(Default)]
struct Served {
    open: BTreeMap<u64, u64>,
    responses_ns: Vec<u64>,
}

impl Served {
    fn mean_response_ms(&self) -> f64 {
        let sum_ns: u64 = self.responses_ns.iter().sum();
        sum_ns as f64 / self.responses_ns.len() as f64 / 1e6
    }
}

impl Sink for Served {
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Request(Request::Begin { request, .. }) => {
                self.open.insert(*request, event.time_ns);
            }
            EventKind::Request(Request::End { request, .. }) => {
                let began_ns = self.open.remove(request);
                if let (Some(began_ns), true) = (began_ns, event.time_ns >= WARM_NS) {
                    self.responses_ns.push(event.time_ns - began_ns);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_a_row_is_judged() {
        let found = each([1.0, 3.0, 2.0].into_iter());
        assert_eq!((found.value, found.range), (2.0, Some((1.0, 3.0))));
    }

    #[test]
    fn a_server_alone_answers_at_once() {
        let text = workload("\"tcp\"", "\"users\": 1, \"think\": 90000, \"demand\": 10000", 0);
        let workload = Arc::new(rota_workload::parse("alone", &text).expect("is in order"));
        let policy = linked("cfs", &[]).expect("there is one");
        let mut served = Served::default();
        let length = Length::of(WARM_NS + 1_000_000_000);
        Rig::new(&policy).run(&workload, length, &mut served).expect("runs");
        // Answers at 5.0, 5.1 … 5.9 s; that at 6.0 s is at the end.
        assert_eq!((served.responses_ns.len(), served.mean_response_ms()), (10, 10.0));
    }
}
