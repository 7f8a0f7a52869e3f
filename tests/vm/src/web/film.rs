// SPDX-License-Identifier: MIT OR Apache-2.0
//! A film's decoder beside busy tasks on its CPU, as in the CAS paper [§7.4].

use super::server;
use crate::statement::{Statement, Wanted};
use crate::verdict;
use anyhow::{Context, Result};
use rota_guest::job::Job;
use rota_guest::record::Record;
use rota_guest::span::Span;
use rota_guest::step::{Command, Step};
use rota_guest::visits::Frames;

/// As in the simulated sweep: a frame each 40 ms, of 9.6 ms of decoding.
const PERIOD_US: u64 = 40_000;
const DECODING_US: u64 = 9_600;
const FRAMES: u32 = 100;
const WITHIN_MS: u64 = 60_000;
const BUSY: [usize; 4] = [0, 3, 5, 12];
const POLICIES: [Option<&str>; 3] = [None, Some("cfs"), Some("appease")];

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    policy: Option<&'static str>,
    busy: usize,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    entry: Entry,
    /// Frames per second.
    rate: f64,
}

impl Entry {
    fn job_name(self) -> String {
        format!("film/{} beside {}", self.policy.unwrap_or("kernel"), self.busy)
    }
}

fn entries() -> impl Iterator<Item = Entry> {
    POLICIES.into_iter().flat_map(|policy| BUSY.map(|busy| Entry { policy, busy }))
}

/// For the machine of the web server.
pub fn jobs(busy: impl Fn(usize) -> Option<Step>) -> Vec<Job> {
    let numbers = [DECODING_US, PERIOD_US, u64::from(FRAMES)].map(|number| number.to_string());
    let job = |entry: Entry| {
        let words =
            ["/bin/rota-guest", "frames"].map(str::to_owned).into_iter().chain(numbers.clone());
        let film = Step::Run(Command::measuring(words, Span::from_ms(WITHIN_MS)));
        server::job_of(entry.job_name(), (entry.policy, Vec::new()), busy(entry.busy), film)
    };
    entries().map(job).collect()
}

/// Of all that is run.
pub fn outcomes(records: &[Record]) -> Result<Vec<Outcome>> {
    let outcome = |entry: Entry| {
        let job = entry.job_name();
        let output = verdict::output_of(records, &job)?;
        let Frames { due, shown } =
            serde_json::from_str(output).with_context(|| format!("{job}: it printed {output}"))?;
        let seconds = f64::from(due) * PERIOD_US as f64 / 1e6;
        Ok(Outcome { entry, rate: f64::from(shown) / seconds })
    };
    entries().map(outcome).collect()
}

fn rate(outcomes: &[Outcome], policy: Option<&'static str>, busy: usize) -> f64 {
    let entry = Entry { policy, busy };
    outcomes.iter().find(|of| of.entry == entry).map_or(f64::NAN, |of| of.rate)
}

/// With twelve busy tasks no more frames are lost than one a second.
pub fn statements(outcomes: &[Outcome]) -> Vec<Statement> {
    let due = 1e6 / PERIOD_US as f64;
    vec![Statement {
        what: "a film: frames per second lost under appease, with 12 busy tasks".into(),
        wanted: Wanted::AtMost(1.0),
        found: due - rate(outcomes, Some("appease"), 12),
        unit: "",
        has_to: true,
    }]
}

/// For the page.
pub fn markdown(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "| frames per second, of 25, with | EEVDF, the kernel's own | cfs | appease |\n\
         |---|--:|--:|--:|\n",
    );
    for busy in BUSY {
        text += &format!("| {busy} busy tasks |");
        for policy in POLICIES {
            text += &format!(" {:.1} |", rate(outcomes, policy, busy));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::problems;

    fn records(shown: impl Fn(Entry) -> u32) -> Vec<Record> {
        let record = |entry: Entry| {
            let output = serde_json::to_string(&Frames { due: FRAMES, shown: shown(entry) });
            Record::Step {
                job: entry.job_name(),
                step: "3".into(),
                does: "run".into(),
                at_ns: 0,
                saw: serde_json::json!({ "output": output.unwrap() }),
            }
        };
        entries().map(record).collect()
    }

    #[test]
    fn a_policy_that_loses_frames_is_told() {
        // 100 frames in 4 s: 96 are 24 per second, 95 are 1.25 less than 25.
        let under = |shown: u32| {
            let of = |entry: Entry| if entry.policy == Some("appease") { shown } else { 32 };
            outcomes(&records(of)).unwrap()
        };
        assert_eq!(problems(&statements(&under(96))), Vec::<String>::new());
        let told = problems(&statements(&under(95)));
        assert_eq!(told.len(), 1, "{told:?}");
        let text = markdown(&under(95));
        assert!(text.contains("| 12 busy tasks | 8.0 | 8.0 | 23.8 |"), "{text}");
    }
}
