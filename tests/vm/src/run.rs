// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs all machines, some side by side, those on a counted clock twice, and compares.

use crate::guest::Guest;
use crate::initramfs::Initramfs;
use crate::kernel::{Kernel, Role};
use crate::plan::Boot;
use crate::qemu::{Output, Pace, VirtualMachine, MEMORY_MIB};
use crate::resume::Finished;
use crate::{console, estimate, verdict};
use anyhow::{Context, Result};
use rota_guest::job::Job;
use rota_machine::topology::Topology;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Tries of a machine, see [`verdict::is_the_emulators_fault`].
const TRIES: usize = 6;

/// What running needs to know.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// A kernel for each role that a machine asks for.
    pub kernels: &'a BTreeMap<Role, Kernel>,
    /// The files of all machines that boot into the same.
    pub files: &'a BTreeMap<Guest, Initramfs>,
    /// Where machines keep what they write.
    pub dir: &'a Path,
    /// Machines side by side.
    pub side_by_side: usize,
    /// Runs of a machine on a counted clock.
    pub runs: usize,
    /// Which machines have so many.
    pub repeated: Repeated,
    /// Host time after which a machine is stopped.
    pub within: Duration,
}

/// Machines that run more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// All of them.
    All,
    /// The one with the least to do, of those that have a policy to load.
    Shortest,
}

/// How a machine did.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Of [`Boot::name`].
    pub name: String,
    /// Nothing if all was good.
    pub problems: Vec<String>,
    /// Host time of each run.
    pub took: Vec<Duration>,
    /// Runs that were given up for the emulator's fault: what their kernels said.
    pub given_up: Vec<String>,
    /// Runs that were not like the most that were alike.
    pub odd: usize,
}

struct Run {
    boot: usize,
    output: Output,
    took: Duration,
    given_up: Vec<String>,
}

/// Runs them; `done` hears of each when its last run is over.
pub fn all(boots: &[Boot], setup: &Setup, done: &mut dyn FnMut(&Outcome)) -> Result<Vec<Outcome>> {
    fs::create_dir_all(setup.dir).with_context(|| setup.dir.display().to_string())?;
    let mut shared: BTreeMap<Guest, Vec<u8>> = BTreeMap::new();
    for (guest, files) in setup.files {
        files.write(shared.entry(*guest).or_default())?;
    }
    let repeated = repeated(boots, setup.repeated);
    let runs_of = |boot: usize| if repeated.contains(&boot) { setup.runs } else { 1 };
    // The longest first: then no worker idles at the end.
    let mut order: Vec<usize> = (0..boots.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(estimate::jobs(&boots[*i].jobs)));
    let queue: Vec<(usize, usize)> =
        order.into_iter().flat_map(|boot| (0..runs_of(boot)).map(move |run| (boot, run))).collect();

    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel::<Result<Run>>();
    let mut outcomes: Vec<Option<Outcome>> = vec![None; boots.len()];
    let mut runs: Vec<Vec<Run>> = boots.iter().map(|_| Vec::new()).collect();
    std::thread::scope(|scope| -> Result<()> {
        for _ in 0..setup.side_by_side.max(1) {
            let (sender, next, queue, shared) = (sender.clone(), &next, &queue, &shared);
            scope.spawn(move || {
                while let Some((boot, run)) = queue.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let shared = &shared[&boots[*boot].guest];
                    let result = one(*boot, *run, &boots[*boot], setup, shared);
                    let failed = result.is_err();
                    if sender.send(result).is_err() || failed {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for run in receiver {
            let run = run.inspect_err(|_| next.store(queue.len(), Ordering::Relaxed))?;
            let boot = run.boot;
            runs[boot].push(run);
            if runs[boot].len() == runs_of(boot) {
                // Two say that one was not like the other, and a third which.
                if runs[boot].len() == 2 && odd(&runs[boot]) > 0 {
                    let shared = &shared[&boots[boot].guest];
                    runs[boot].push(one(boot, 2, &boots[boot], setup, shared)?);
                }
                let outcome = judge(&boots[boot], &runs[boot]);
                done(&outcome);
                outcomes[boot] = Some(outcome);
            }
        }
        Ok(())
    })?;
    Ok(outcomes.into_iter().flatten().collect())
}

fn repeated(boots: &[Boot], which: Repeated) -> Vec<usize> {
    let counted = (0..boots.len()).filter(|i| boots[*i].pace == Pace::Counted);
    let loads = |i: &usize| boots[*i].jobs.iter().any(|job| job.policy.is_some());
    match which {
        Repeated::All => counted.collect(),
        Repeated::Shortest => {
            let shortest = counted.filter(loads).min_by_key(|i| estimate::jobs(&boots[*i].jobs));
            shortest.into_iter().collect()
        }
    }
}

fn one(index: usize, run: usize, boot: &Boot, setup: &Setup, shared: &[u8]) -> Result<Run> {
    let dir = setup.dir.join(boot.name()).join((run + 1).to_string());
    fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    let initramfs = dir.join("initramfs");
    let kernel = setup.kernels.get(&boot.kernel);
    let kernel = kernel.with_context(|| format!("no kernel '{}'", boot.kernel.name()))?;
    let machine = VirtualMachine {
        vmlinuz: &kernel.boots,
        initramfs: &initramfs,
        cpus: Topology::flat(boot.cpus)?,
        pace: boot.pace,
        memory_mib: MEMORY_MIB,
        within: setup.within,
    };
    let start = Instant::now();
    let (output, given_up) = without_the_emulators_faults(boot.pace, |skip| {
        write_initramfs(&initramfs, shared, &boot.jobs[skip..])?;
        machine.run(&dir)
    })?;
    fs::remove_file(&initramfs)?;
    output.write(&dir)?;
    Ok(Run { boot: index, output, took: start.elapsed(), given_up })
}

/// Runs a machine without its first so many jobs until it was no fault of the emulator's, and
/// returns what the kernels of abandoned runs said.
fn without_the_emulators_faults(
    pace: Pace,
    run: impl Fn(usize) -> Result<Output>,
) -> Result<(Output, Vec<String>)> {
    let mut finished = Finished::default();
    let mut output = run(0)?;
    let mut given_up = Vec::new();
    while given_up.len() < TRIES - 1 && verdict::is_the_emulators_fault(&output, pace) {
        given_up.extend(console::trouble(&output.console));
        finished.add(&output);
        output = run(finished.jobs)?;
    }
    match console::trouble(&output.console) {
        // The same machine does the same again, if it is the kernel's doing.
        Some(trouble) if pace == Pace::Counted => {
            given_up.push(trouble);
            Ok((run(0)?, given_up))
        }
        _ => Ok((finished.before(output), given_up)),
    }
}

/// The shared files, and one more archive with the jobs of this machine.
fn write_initramfs(path: &Path, shared: &[u8], jobs: &[Job]) -> Result<()> {
    let mut own = Initramfs::default();
    own.text(serde_json::to_vec_pretty(jobs)?, rota_guest::JOBS_FILE);
    let mut file = File::create(path).with_context(|| path.display().to_string())?;
    file.write_all(shared)?;
    own.write(&mut file)
}

fn judge(boot: &Boot, runs: &[Run]) -> Outcome {
    let mut problems = Vec::new();
    for run in runs {
        for problem in verdict::problems(&run.output, boot.jobs.len()) {
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }
    let odd = odd(runs);
    if odd * 2 >= runs.len() {
        let others = runs.iter().skip(1).map(|run| differences(&runs[0], run));
        problems.extend(others.into_iter().find(|all| !all.is_empty()).unwrap_or_default());
    }
    Outcome {
        name: boot.name(),
        problems,
        took: runs.iter().map(|run| run.took).collect(),
        given_up: runs.iter().flat_map(|run| run.given_up.clone()).collect(),
        odd,
    }
}

/// How many runs are not like the most that are alike.
fn odd(runs: &[Run]) -> usize {
    let alike = |run: &Run| runs.iter().filter(|other| differences(run, other).is_empty()).count();
    runs.len() - runs.iter().map(alike).max().unwrap_or_default()
}

fn differences(a: &Run, b: &Run) -> Vec<String> {
    let (a, b) = (&a.output, &b.output);
    // Cut off at different places, if at all.
    if a.timed_out || b.timed_out {
        return Vec::new();
    }
    [("records", &a.records, &b.records), ("consoles", &a.console, &b.console)]
        .into_iter()
        .filter_map(|(what, a, b)| {
            let difference = console::difference(a, b)?;
            Some(format!("two runs differ in their {what}, {difference}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(records: &str) -> Run {
        let output =
            Output { console: String::new(), records: records.to_owned(), timed_out: false };
        Run { boot: 0, output, took: Duration::ZERO, given_up: Vec::new() }
    }

    fn boot() -> Boot {
        Boot {
            kernel: Role::Newest,
            cpus: 1,
            guest: Guest::Bare,
            pace: Pace::Counted,
            part: 1,
            jobs: Vec::new(),
        }
    }

    fn differ(records: &[&str]) -> (usize, bool) {
        let runs: Vec<Run> = records.iter().map(|text| run(text)).collect();
        let outcome = judge(&boot(), &runs);
        (outcome.odd, outcome.problems.iter().any(|problem| problem.contains("two runs differ")))
    }

    /// Runs machines whose consoles say this, one after the other.
    fn consoles(pace: Pace, texts: &[&str]) -> (String, usize) {
        let next = AtomicUsize::new(0);
        let (output, given_up) = without_the_emulators_faults(pace, |_| {
            let text = texts[next.fetch_add(1, Ordering::Relaxed)];
            let records = "{\"record\":\"end\",\"code\":0}\n".to_owned();
            Ok(Output { console: text.to_owned(), records, timed_out: false })
        })
        .unwrap();
        assert_eq!(next.load(Ordering::Relaxed), given_up.len() + 1);
        (output.console, given_up.len())
    }

    #[test]
    fn trouble_that_does_not_come_again_on_a_counted_clock_is_the_emulators() {
        let (bug, fine) = ("[ 7.0] BUG: x\n", "[ 7.0] fine\n");

        assert_eq!(consoles(Pace::Counted, &[fine]), (fine.to_owned(), 0));
        assert_eq!(consoles(Pace::Counted, &[bug, fine]), (fine.to_owned(), 1));
        assert_eq!(consoles(Pace::Counted, &[bug, bug]), (bug.to_owned(), 1));
        assert_eq!(consoles(Pace::Free, &[bug]), (bug.to_owned(), 0));
    }

    #[test]
    fn most_runs_of_a_machine_have_to_be_alike() {
        assert_eq!(differ(&["a\n"]), (0, false));
        assert_eq!(differ(&["a\n", "a\n"]), (0, false));
        assert_eq!(differ(&["a\n", "b\n"]), (1, true));
        assert_eq!(differ(&["a\n", "b\n", "b\n"]), (1, false));
        assert_eq!(differ(&["a\n", "b\n", "c\n"]), (2, true));
        assert_eq!(differ(&["a\n", "a\n", "b\n", "b\n"]), (2, true));
    }
}
