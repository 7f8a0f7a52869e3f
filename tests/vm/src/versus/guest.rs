// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases in the kernel: many in one machine.

use super::case::{Case, Scheduler};
use super::numbers::Numbers;
use super::simulate::{self, Beside, Host};
use super::{played, programs};
use crate::initramfs::Initramfs;
use crate::qemu::{Pace, VirtualMachine, MEMORY_MIB};
use crate::verdict;
use anyhow::{bail, Context, Result};
use rota_guest::job::Job;
use rota_guest::record::Record;
use rota_guest::recorded::Recorded;
use rota_guest::span::Span;
use rota_guest::step::{Play, Step};
use rota_machine::interruption::Interruption;
use rota_machine::topology::Topology;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::iter;
use std::path::Path;
use std::time::Duration;

/// The kernel sets up each page, so its other work comes at other times.
const MEMORY_STEP_MIB: u32 = 8;
/// What the kernel does by itself comes elsewhere in the case. Not a number of ticks.
const WAIT_STEP_MS: u32 = 7;

/// Whoever takes a task later than this came to it in another way.
const LONGEST_START_NS: u64 = 500_000;

/// Until the kernel has freed what the last case left, as that work would compete with the next.
const QUIET_MS: u64 = 1_000;

/// What all machines have in common.
#[derive(Clone, Copy, Debug)]
pub struct Boot<'a> {
    /// The kernel.
    pub vmlinuz: &'a Path,
    /// Packed, without jobs.
    pub files: &'a [u8],
    /// Another number is another timing: see [`MEMORY_STEP_MIB`] and [`WAIT_STEP_MS`].
    pub shift: u32,
    /// Host time after which a machine is stopped.
    pub within: Duration,
    /// Whether all that happened is recorded, too.
    pub traced: bool,
}

/// What the kernel did with a case, and what else it had to do; as often as it was recorded.
pub type Recordings = Vec<(Host, Beside)>;

/// Boots a machine and plays the cases, which have the same CPUs. Gives what the
/// kernel did with each, and what else it had to do.
pub fn play(
    cases: &[&Case],
    workloads: &BTreeMap<String, String>,
    boot: Boot,
    dir: &Path,
) -> Result<Vec<Recordings>> {
    let Boot { vmlinuz, files, shift, within, traced } = boot;
    let memory_mib = MEMORY_MIB + shift * MEMORY_STEP_MIB;
    let cpus = cases.first().context("no cases")?.arranged()?;
    fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    played::write(dir, cases, workloads)?;
    let initramfs = dir.join("initramfs");
    let mut own = Initramfs::default();
    let jobs: Vec<Job> = cases
        .iter()
        .map(|case| {
            let workload = rota_workload::parse(&case.workload, &workloads[&case.workload])?;
            Ok((case, simulate::plugs(&workload)))
        })
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .flat_map(|(case, plugs)| {
            (0..case.timings).map(move |nr| job(case, shift, nr, traced, plugs))
        })
        .collect();
    own.text(serde_json::to_vec(&jobs)?, rota_guest::JOBS_FILE);
    own.folder("versus");
    for (name, text) in workloads {
        own.text(text.as_bytes(), &format!("versus/{name}.json"));
    }
    for case in cases.iter().filter(|case| case.has_program()) {
        own.program(&programs::find(&case.policy)?, &programs::in_guest(&case.policy))?;
    }
    let mut file = File::create(&initramfs).with_context(|| initramfs.display().to_string())?;
    std::io::Write::write_all(&mut file, files)?;
    own.write(&mut file)?;
    drop(file);

    let pace = Pace::Counted;
    let machine = VirtualMachine { vmlinuz, initramfs: &initramfs, cpus, pace, memory_mib, within };
    let output = machine.run(dir)?;
    fs::remove_file(&initramfs)?;
    let problems = verdict::problems(&output, jobs.len());
    if !problems.is_empty() {
        bail!("{}", problems.join("\n"));
    }
    read(cases, &output.records)
}

fn read(cases: &[&Case], records: &str) -> Result<Vec<Recordings>> {
    let records = verdict::parse(records).map_err(anyhow::Error::msg)?;
    let all = |case: &&Case| (0..case.timings).map(|nr| host(case, nr, &records)).collect();
    cases.iter().map(all).collect()
}

/// What a machine that ran in `dir` before recorded of the cases, if it played what they say today.
pub fn recorded(
    cases: &[&Case],
    workloads: &BTreeMap<String, String>,
    dir: &Path,
) -> Result<Vec<Recordings>> {
    played::check(dir, cases, workloads)?;
    let path = dir.join("records");
    read(cases, &fs::read_to_string(&path).with_context(|| path.display().to_string())?)
}

/// Of a case's recording with this number.
pub(super) fn name(case: &Case, nr: u32) -> String {
    match nr {
        0 => case.name(),
        nr => format!("{}, timing {nr}", case.name()),
    }
}

fn job(case: &Case, shift: u32, nr: u32, traced: bool, plugs: u64) -> Job {
    let fair = case.is_fair();
    let load = match case.has_program() {
        true => Step::Start { command: command(case) },
        false => Step::Load { policy: None, with: vec!["--partial".into()], wait: true },
    };
    let quiet_ms = if fair { QUIET_MS } else { 0 };
    let wait =
        Step::Wait { time: Span::from_ms(quiet_ms + u64::from((shift + nr) * WAIT_STEP_MS)) };
    let play = Step::Play(Play {
        workload: format!("/versus/{}.json", case.workload),
        time: Span::from_ms(case.duration_ns / 1_000_000),
        fair,
        partial: case.kernel == Scheduler::Partial,
        plugs,
        traced,
        core: case.core(),
    });
    let loads = !fair && !case.has_program();
    Job {
        name: name(case, nr),
        policy: loads.then(|| case.policy.clone()),
        set: if loads { case.set.clone() } else { Vec::new() },
        steps: if fair { vec![wait, play] } else { vec![load, wait, play] },
    }
}

/// A scheduler's program in the guest, with its arguments.
fn command(case: &Case) -> Vec<String> {
    let path = format!("/{}", programs::in_guest(&case.policy));
    iter::once(path).chain(case.set.iter().cloned()).collect()
}

fn host(case: &Case, nr: u32, records: &[Record]) -> Result<(Host, Beside)> {
    let name = name(case, nr);
    let saw = records.iter().find_map(|record| match record {
        Record::Step { job, does, saw, .. } if *job == name && does == "play" => Some(saw),
        _ => None,
    });
    let saw = saw.with_context(|| format!("{name} was not played"))?;
    let recorded: Recorded = serde_json::from_value(saw.clone())?;
    let traced = recorded.trace.is_some();
    let asked = domains(&case.arranged()?);
    // Whatever else it is told of: only where it schedules anything.
    let has_fair = case.has_fair() || recorded.left.is_some();
    let fair = recorded.fair.filter(|_| has_fair);
    if let Some(fair) = fair.as_ref().filter(|fair| fair.domains != asked) {
        bail!("{name}: the kernel has the domains {:?}, not {asked:?}", fair.domains);
    }
    let mut numbers = Numbers::of(&recorded.report)?;
    (numbers.doubled, numbers.left) = (recorded.doubled, recorded.left);
    let host = Host { numbers, picks: recorded.picks, trace: recorded.trace, calls: None };
    // Kernel threads are tasks of the scheduler, too, where it has all: see the page on programs.
    let others = if case.has_program() { &[] } else { &recorded.interruptions[..] };
    let mut interruptions: Vec<Interruption> = others
        .iter()
        .map(|i| Interruption { cpu: i.cpu, at_ns: i.at_ns, for_ns: i.for_ns })
        .collect();
    // Where each CPU is held until its first pick, the start is no time of its own.
    let held = case.kernel != Scheduler::Policy && case.cpus > 1;
    if held {
        interruptions.extend(starts(&recorded.first_ns));
    }
    Ok((
        host,
        Beside {
            tick_ns: recorded.tick_ns,
            crossing_ns: recorded.crossing_ns,
            start_ns: if held { 0 } else { recorded.start_ns },
            fork_ns: recorded.fork_ns,
            exit_ns: 0,
            program_ns: recorded.program_ns,
            call_ns: simulate::CALL_NS,
            interruptions,
            fair,
            traced,
        },
    ))
}

/// The names of the kernel's scheduling domains of such a machine, from below.
fn domains(cpus: &Topology) -> Vec<String> {
    let sizes = [cpus.siblings(0), cpus.llc_cpus(0)].map(|set| set.iter().count() as u32);
    let spans = [("SMT", 1, sizes[0]), ("MC", sizes[0], sizes[1]), ("PKG", sizes[1], cpus.cpus())];
    let are = spans.into_iter().filter(|(_, group, span)| span > group);
    are.map(|(name, ..)| name.to_owned()).collect()
}

/// The timers of all tasks end in one interrupt, which wakes up one after the other. Meanwhile that
/// CPU can take nobody, and another one, which a task came to, may be the first.
fn starts(first_ns: &[u64]) -> impl Iterator<Item = Interruption> + '_ {
    let at_start = |ns: &u64| (1..=LONGEST_START_NS).contains(ns);
    (0..).zip(first_ns).filter(move |(_, ns)| at_start(ns)).map(|(cpu, &for_ns)| Interruption {
        cpu,
        at_ns: 0,
        for_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::versus::case;

    #[test]
    fn a_level_of_one_group_is_no_domain() {
        let of = |cpus, text| domains(&Topology::parse(cpus, text).unwrap());
        assert_eq!(of(1, ""), [""; 0]);
        assert_eq!(of(4, ""), ["MC"]);
        assert_eq!(of(4, "smt=2"), ["SMT", "MC"]);
        assert_eq!(of(4, "smt=2,llc=2"), ["SMT", "PKG"]);
        assert_eq!(of(8, "smt=2,llc=4"), ["SMT", "MC", "PKG"]);
    }

    #[test]
    fn a_program_is_started_with_its_arguments_and_nothing_else_is_loaded() {
        let row = r#"matrix = [ { workload = "hogs", cpus = [1], for = "2s", kernel = "program",
                     policies = ["scx_flatcg"], set = ["-s", "5000"] } ]"#;
        let cases = case::parse(row, &["scx_flatcg"]).unwrap();
        let job = job(&cases[0], 0, 0, false, 0);
        let command = ["/programs/scx_flatcg", "-s", "5000"].map(str::to_owned).to_vec();
        assert_eq!(job.steps[0], Step::Start { command });
        assert_eq!((job.policy, job.set.len()), (None, 0));
    }

    #[test]
    fn a_cpu_is_taken_until_it_has_its_first_task_if_that_is_at_the_start() {
        let taken = |first_ns: &[u64]| -> Vec<_> {
            starts(first_ns).map(|i| (i.cpu, i.at_ns, i.for_ns)).collect()
        };
        // CPU 2 never had one, and CPU 3 its first when somebody woke up there later.
        assert_eq!(taken(&[100_000, 80_000, 0, 2_500_000]), [(0, 0, 100_000), (1, 0, 80_000)]);
    }
}
