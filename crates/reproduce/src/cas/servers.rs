// SPDX-License-Identifier: MIT OR Apache-2.0
//! The experiments of §7, with real servers: what `rota bench servers` measured once on a live
//! kernel. Nothing is run here.

use super::table;
use crate::error::Error;
use crate::figure::{plain, Found, Table};
use crate::Job;
use serde::Deserialize;

/// What the bench printed as JSON, a line for each time that it ran.
const RECORDED: &str = include_str!("../../papers/cas/servers.jsonl");
const SCHEMA: &str = "rota.bench.servers/1";

#[derive(Debug, Deserialize)]
struct Recording {
    schema: String,
    recorded: String,
    computer: Computer,
    programs: std::collections::BTreeMap<String, String>,
    background: String,
    customer_nice: i32,
    duration_ns: u64,
    repeat: u32,
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Computer {
    cpu: String,
    cpus: u32,
    kernel: String,
    virtual_machine: bool,
}

#[derive(Debug, Deserialize)]
struct Row {
    server: String,
    autogroup: bool,
    jobs: u32,
    mode: String,
    measures: Vec<Measure>,
}

#[derive(Debug, Deserialize)]
struct Measure {
    key: String,
    median: f64,
    min: f64,
    max: f64,
    of_plain: Option<Ratio>,
}

#[derive(Debug, Deserialize)]
struct Ratio {
    median: f64,
    min: f64,
    max: f64,
}

/// A figure of the paper, and what it shows of a server.
struct Shown {
    id: &'static str,
    server: &'static str,
    /// Measures with their titles and digits; the first is the paper's.
    measures: &'static [(&'static str, &'static str, usize)],
    /// Numbers by key: of a mode beside so many jobs.
    numbers: &'static [(&'static str, &'static str, u32, What)],
}

#[derive(Clone, Copy)]
enum What {
    Median,
    OfPlain,
}

/// As the paper has it: whoever receives is boosted, the customer who gets an answer, too.
const AS_PAPER: &str = "boost-clients";

const SHOWN: [Shown; 4] = [
    Shown {
        id: "fig1",
        server: "apache",
        measures: &[("fetch", "Time of a fetch (ms)", 0)],
        numbers: &[
            ("of_plain_12", AS_PAPER, 12, What::OfPlain),
            ("of_plain_30", AS_PAPER, 30, What::OfPlain),
            ("default_30", "boost", 30, What::OfPlain),
        ],
    },
    Shown {
        id: "fig2",
        server: "mariadb",
        measures: &[
            ("transaction_mean", "Mean transaction time (ms)", 2),
            ("transaction_p99", "99th percentile of transaction times (ms)", 1),
        ],
        numbers: &[
            ("plain_12", "plain", 12, What::Median),
            ("boost_12", AS_PAPER, 12, What::Median),
            ("of_plain_12", AS_PAPER, 12, What::OfPlain),
            ("default_12", "boost", 12, What::OfPlain),
        ],
    },
    Shown {
        id: "fig3",
        server: "video",
        measures: &[("dropped", "Frames dropped", 0), ("late", "Frames late", 0)],
        numbers: &[("boost_12", "boost", 12, What::Median)],
    },
    Shown {
        id: "fig4",
        server: "video",
        measures: &[("frame_rate", "Frames per second", 1)],
        numbers: &[
            ("plain_12", "plain", 12, What::Median),
            ("boost_12", "boost", 12, What::Median),
        ],
    },
];

pub(super) fn run(job: &Job<'_>) -> Result<Vec<Found>, Error> {
    let recordings = parse(RECORDED)?;
    let wanted = SHOWN.iter().filter(|shown| job.wants(shown.id));
    Ok(wanted.map(|shown| found(shown, &recordings)).collect())
}

fn parse(text: &str) -> Result<Vec<Recording>, Error> {
    let recording = |(at, line): (usize, &str)| {
        let error = |why: String| {
            Error::Failure(format!("papers/cas/servers.jsonl: line {}: {why}", at + 1))
        };
        let recording: Recording = serde_json::from_str(line).map_err(|e| error(e.to_string()))?;
        match recording.schema == SCHEMA {
            true => Ok(recording),
            false => Err(error(format!("schema \"{}\" is not \"{SCHEMA}\"", recording.schema))),
        }
    };
    text.lines().enumerate().map(recording).collect()
}

fn found(shown: &Shown, recordings: &[Recording]) -> Found {
    let of_server: Vec<&Recording> = recordings
        .iter()
        .filter(|recording| recording.rows.iter().any(|row| row.server == shown.server))
        .collect();
    let number = |(key, mode, jobs, what): &(&str, &str, u32, What)| {
        // As the paper's: nothing but compilers, and customers like anybody.
        let plain = of_server.iter().filter(|r| r.customer_nice == 0 && r.background == "compile");
        let mut rows = plain.flat_map(|recording| &recording.rows);
        let row = rows.find(|row| {
            row.server == shown.server && !row.autogroup && row.jobs == *jobs && row.mode == *mode
        })?;
        let measure = row.measures.iter().find(|m| m.key == shown.measures[0].0)?;
        let value = match what {
            What::Median => measure.median,
            What::OfPlain => measure.of_plain.as_ref()?.median,
        };
        Some(((*key).to_owned(), value))
    };
    let tables = shown.measures.iter().enumerate().map(|(at, (key, title, digits))| Table {
        // What the paper does not show.
        long: at > 0,
        ..rows(shown.server, (*key, *title, *digits), &of_server)
    });
    Found {
        id: shown.id,
        ran: ran(&of_server),
        numbers: plain(shown.numbers.iter().filter_map(number)),
        tables: tables.collect(),
        drawings: Vec::new(),
    }
}

fn rows(
    server: &str,
    (key, title, digits): (&str, &str, usize),
    recordings: &[&Recording],
) -> Table {
    let mut rows = Vec::new();
    for recording in recordings {
        for row in recording.rows.iter().filter(|row| row.server == server) {
            let Some(measure) = row.measures.iter().find(|m| m.key == key) else { continue };
            let Measure { median, min, max, .. } = measure;
            let ratio = measure.of_plain.as_ref();
            rows.push(vec![
                row.mode.clone(),
                format!("{} {}", row.jobs, recording.background),
                if row.autogroup { "on".into() } else { "off".into() },
                recording.customer_nice.to_string(),
                format!("{median:.digits$}"),
                format!("{min:.digits$}–{max:.digits$}"),
                ratio.map_or("–".into(), |r| format!("{:.2}", r.median)),
                ratio.map_or("–".into(), |r| format!("{:.2}–{:.2}", r.min, r.max)),
            ]);
        }
    }
    let header = [
        "mode",
        "jobs",
        "autogroups",
        "customers' nice",
        "median",
        "from–to",
        "of plain",
        "from–to",
    ];
    table(title, &header, rows)
}

/// When, where and with what.
fn ran(recordings: &[&Recording]) -> String {
    let Some(first) = recordings.first() else { return "Nothing was recorded.".into() };
    let Computer { cpu, cpus, kernel, virtual_machine } = &first.computer;
    let guest = if *virtual_machine { ", a virtual machine" } else { "" };
    let programs = first.programs.values().map(|program| program.trim_end_matches('.'));
    let programs: Vec<&str> = programs.collect();
    let mut lengths: Vec<String> = recordings
        .iter()
        .map(|r| format!("{} runs of {} s", r.repeat, r.duration_ns / 1_000_000_000))
        .collect();
    lengths.dedup();
    format!(
        "Recorded on {} by `rota bench servers` on a live kernel, Linux {kernel} ({cpu}, {cpus} \
         CPUs{guest}), and not run again here. In turns, {} of each mode; medians. Programs: {}.",
        first.recorded,
        lengths.join(" or "),
        programs.join("; "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recording_is_what_the_bench_writes_and_has_every_number() {
        let recordings = parse(RECORDED).expect("is in order");
        for shown in &SHOWN {
            let found = found(shown, &recordings);
            assert_eq!(found.numbers.len(), shown.numbers.len(), "{}", shown.id);
            assert!(found.tables.iter().all(|table| !table.rows.is_empty()), "{}", shown.id);
        }
    }

    #[test]
    fn what_the_bench_does_not_write_is_refused() {
        for (text, said) in [("{}", "line 1"), ("[]", "line 1"), ("x", "line 1")] {
            let error = parse(text).expect_err(said).to_string();
            assert!(error.contains(said), "{error}");
        }
        let other = RECORDED.lines().next().expect("a line").replace(SCHEMA, "rota.sim/1");
        let error = parse(&other).expect_err("another schema").to_string();
        assert!(error.contains("\"rota.sim/1\" is not"), "{error}");
    }
}
