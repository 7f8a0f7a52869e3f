// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kernels recorded, as it is kept in the repository, so that the simulated machine can be
//! judged by all cases without booting anything: `tests/vm/versus/recordings.jsonl`, a line of
//! JSON for each recording.

use super::case::Case;
use super::guest::{name, Recordings};
use super::numbers::Numbers;
use super::played::Played;
use super::simulate::{self, Beside, Host};
use anyhow::{bail, Context, Result};
use rota_kernel::Fair;
use rota_machine::interruption::Interruption;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// All recordings that are kept, by their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept(BTreeMap<String, Recording>);

/// One of them: what was played, and what of [`Host`] and [`Beside`] is compared or needed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recording {
    name: String,
    /// The first digits of the SHA-256 of the workload file.
    workload: String,
    set: Vec<String>,
    duration_ns: u64,
    numbers: Numbers,
    /// Only where they are compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    picks: Vec<Vec<u32>>,
    tick_ns: u64,
    crossing_ns: Option<u64>,
    start_ns: u64,
    fork_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program_ns: Option<u64>,
    /// CPU, from when on, for how long.
    interruptions: Vec<(u32, u64, u64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fair: Option<Fair>,
}

impl Kept {
    /// Reads the file; one that is not there holds none.
    pub fn read(path: &Path) -> Result<Kept> {
        match fs::read_to_string(path) {
            Ok(text) => parse(&text).with_context(|| path.display().to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Kept::default()),
            Err(error) => Err(error).with_context(|| path.display().to_string()),
        }
    }

    /// Those of the policies of which anything is kept: a new one is not recorded in kernels yet.
    pub fn policies<'a>(&self, all: &[&'a str]) -> Vec<&'a str> {
        let kept: BTreeSet<&str> =
            self.0.keys().filter_map(|name| name.split('/').nth(1)).collect();
        all.iter().copied().filter(|policy| kept.contains(policy)).collect()
    }

    /// Writes those of `cases`, in their order.
    pub fn write(&self, path: &Path, cases: &[Case]) -> Result<()> {
        fs::write(path, self.text(cases)?).with_context(|| path.display().to_string())
    }

    fn text(&self, cases: &[Case]) -> Result<String> {
        let mut text = String::new();
        for name in cases.iter().flat_map(|case| (0..case.timings).map(|nr| name(case, nr))) {
            if let Some(recording) = self.0.get(&name) {
                writeln!(text, "{}", serde_json::to_string(recording)?)?;
            }
        }
        Ok(text)
    }

    /// Takes those of a case, in place of what it had.
    pub fn keep(&mut self, case: &Case, workload: &str, recordings: &Recordings) {
        for ((host, beside), nr) in recordings.iter().zip(0..) {
            let name = name(case, nr);
            self.0.insert(name.clone(), Recording::new(name, case, workload, host, beside));
        }
    }

    /// Those of a case, which has to be the one that was recorded.
    pub fn of(&self, case: &Case, workload: &str) -> Result<Recordings> {
        let one = |nr| {
            let name = name(case, nr);
            let recording =
                self.0.get(&name).with_context(|| format!("{name}: no recording is kept"))?;
            recording.played().check(case, workload)?;
            Ok(recording.hosts())
        };
        let again = "`rota-vm versus --write CASE` records it anew";
        (0..case.timings).map(one).collect::<Result<_>>().context(again)
    }
}

impl Recording {
    fn new(name: String, case: &Case, workload: &str, host: &Host, beside: &Beside) -> Recording {
        let interruption = |i: &Interruption| (i.cpu, i.at_ns, i.for_ns);
        let Played { workload, set, duration_ns } = Played::new(case, workload);
        Recording {
            name,
            workload,
            set,
            duration_ns,
            numbers: host.numbers.clone(),
            picks: if case.picks.is_some() { host.picks.clone() } else { Vec::new() },
            tick_ns: beside.tick_ns,
            crossing_ns: beside.crossing_ns,
            start_ns: beside.start_ns,
            fork_ns: beside.fork_ns,
            program_ns: beside.program_ns,
            interruptions: beside.interruptions.iter().map(interruption).collect(),
            fair: beside.fair.clone(),
        }
    }

    fn played(&self) -> Played {
        Played {
            workload: self.workload.clone(),
            set: self.set.clone(),
            duration_ns: self.duration_ns,
        }
    }

    fn hosts(&self) -> (Host, Beside) {
        let (numbers, picks) = (self.numbers.clone(), self.picks.clone());
        let host = Host { numbers, picks, trace: None, calls: None };
        let interruption =
            |&(cpu, at_ns, for_ns): &(u32, u64, u64)| Interruption { cpu, at_ns, for_ns };
        let beside = Beside {
            tick_ns: self.tick_ns,
            crossing_ns: self.crossing_ns,
            start_ns: self.start_ns,
            fork_ns: self.fork_ns,
            exit_ns: 0,
            program_ns: self.program_ns,
            call_ns: simulate::CALL_NS,
            interruptions: self.interruptions.iter().map(interruption).collect(),
            fair: self.fair.clone(),
            traced: false,
        };
        (host, beside)
    }
}

fn parse(text: &str) -> Result<Kept> {
    let mut all = BTreeMap::new();
    for (line, number) in text.lines().zip(1..) {
        let recording: Recording =
            serde_json::from_str(line).with_context(|| format!("line {number}"))?;
        if let Some(twice) = all.insert(recording.name.clone(), recording) {
            bail!("line {number}: {} is there already", twice.name);
        }
    }
    Ok(Kept(all))
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
