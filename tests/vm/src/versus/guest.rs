// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases in the kernel: many in one machine.

use super::case::Case;
use super::numbers::Numbers;
use super::simulate::{Beside, Host};
use crate::initramfs::Initramfs;
use crate::qemu::{Machine, Pace};
use crate::verdict;
use anyhow::{bail, Context, Result};
use rota_guest::job::Job;
use rota_guest::record::Record;
use rota_guest::recorded::Recorded;
use rota_guest::span::Span;
use rota_guest::step::{Play, Step};
use rota_machine::interruption::Interruption;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

/// Boots a machine and plays the cases, which have the same number of CPUs. Gives what the
/// kernel did with each, and what else it had to do.
pub fn play(
    cases: &[&Case],
    workloads: &BTreeMap<String, String>,
    vmlinuz: &Path,
    files: &[u8],
    dir: &Path,
    within: Duration,
) -> Result<Vec<(Host, Beside)>> {
    let cpus = cases.first().map_or(1, |case| case.cpus);
    fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let initramfs = dir.join("initramfs");
    let mut own = Initramfs::default();
    let jobs: Vec<Job> = cases.iter().map(|case| job(case)).collect();
    own.text(serde_json::to_vec(&jobs)?, rota_guest::JOBS_FILE);
    own.folder("versus");
    for (name, text) in workloads {
        own.text(text.as_bytes(), &format!("versus/{name}.json"));
    }
    let mut file = File::create(&initramfs).with_context(|| initramfs.display().to_string())?;
    std::io::Write::write_all(&mut file, files)?;
    own.write(&mut file)?;
    drop(file);

    let machine = Machine { vmlinuz, initramfs: &initramfs, cpus, pace: Pace::Counted, within };
    let output = machine.run(dir)?;
    fs::remove_file(&initramfs)?;
    let problems = verdict::problems(&output, jobs.len());
    if !problems.is_empty() {
        bail!("{}", problems.join("\n"));
    }
    let records = verdict::parse(&output.records).map_err(anyhow::Error::msg)?;
    cases.iter().map(|case| host(case, &records)).collect()
}

fn job(case: &Case) -> Job {
    let load = Step::Load { policy: None, with: vec!["--partial".into()], wait: true };
    let play = Step::Play(Play {
        workload: format!("/versus/{}.json", case.workload),
        time: Span::from_ms(case.duration_ns / 1_000_000),
    });
    Job {
        name: case.name(),
        policy: Some(case.policy.clone()),
        set: case.set.clone(),
        steps: vec![load, play],
    }
}

fn host(case: &Case, records: &[Record]) -> Result<(Host, Beside)> {
    let name = case.name();
    let saw = records.iter().find_map(|record| match record {
        Record::Step { job, does, saw, .. } if *job == name && does == "play" => Some(saw),
        _ => None,
    });
    let saw = saw.with_context(|| format!("{name} was not played"))?;
    let recorded: Recorded = serde_json::from_value(saw.clone())?;
    let host = Host { numbers: Numbers::of(&recorded.report)?, picks: recorded.picks };
    let interruptions = recorded.interruptions.iter().map(|i| Interruption {
        cpu: i.cpu,
        at_ns: i.at_ns,
        for_ns: i.for_ns,
    });
    Ok((host, Beside { tick_ns: recorded.tick_ns, interruptions: interruptions.collect() }))
}
