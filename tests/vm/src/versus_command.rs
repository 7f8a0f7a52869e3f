// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota-vm versus`: simulator against kernel.

mod machines;
mod report;

use anyhow::{bail, Context, Result};
use rota_vm_tests::guest::Sources;
use rota_vm_tests::versus::case::{self, Case, Scheduler};
use rota_vm_tests::versus::compare::Compared;
use rota_vm_tests::versus::kept::Kept;
use rota_vm_tests::versus::programs;
use rota_vm_tests::versus::simulate::{Beside, Host};
use rota_vm_tests::versus::spread::{simulate_all, simulate_draws};
use rota_vm_tests::versus::tolerance::Tolerances;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// Runs the same workloads in the simulated machine and in a kernel, and compares.
#[derive(Debug, clap::Args)]
pub(crate) struct VersusArgs {
    /// Only cases with one of these in their name, `workload/policy/cpus`
    cases: Vec<String>,

    /// Only those that cases.toml calls quick
    #[arg(long)]
    quick: bool,

    /// A kernel instead of the newest that is found
    #[arg(long)]
    vmlinuz: Option<PathBuf>,

    /// The `rota` command [default: next to this program]
    #[arg(long)]
    pub(crate) rota: Option<PathBuf>,

    /// Machines side by side
    #[arg(long, default_value_t = 2)]
    side_by_side: usize,

    /// Most guest seconds in one machine
    #[arg(long, default_value_t = 40)]
    per_machine: u64,

    /// Host seconds after which a machine is stopped
    #[arg(long, default_value_t = 900)]
    within: u64,

    /// Another timing, as another build of rota has it: machines have so many times 8 MiB more
    /// memory, and each case begins so many times 7 ms later
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=256))]
    shift: u32,

    /// Boot nothing: judge once more what machines recorded when the same cases were chosen last
    #[arg(long, conflicts_with_all = ["vmlinuz", "shift"])]
    recorded: bool,

    /// Boot nothing: judge by the recordings that are kept in tests/vm/versus; unless cases are
    /// chosen, the tables in docs must be what comes of them
    #[arg(long, conflicts_with_all = ["vmlinuz", "shift", "recorded", "traces"])]
    kept: bool,

    /// Put the tables into docs/simulator-vs-kernel.md, docs/eevdf-vs-kernel.md and
    /// docs/programs-vs-kernel.md, and keep the recordings; rows and recordings of cases that were not chosen stay as they are
    #[arg(long)]
    write: bool,

    /// Also keep all that happened in both hosts, case by case, as CSV in the folder `traces` there
    #[arg(long, conflicts_with = "recorded")]
    traces: bool,

    /// Where machines keep their consoles and records, and the results their JSON
    #[arg(long, default_value = ".cache/vm/versus")]
    dir: PathBuf,
}

/// Whether everything is within its tolerance.
pub(crate) fn run(args: &VersusArgs, sources: &Sources) -> Result<bool> {
    let folder = sources.tests.join("versus");
    let file = folder.join("recordings.jsonl");
    let mut kept = Kept::read(&file)?;
    let mut policies: Vec<&str> =
        rota_catalog::policies().iter().map(|policy| policy.name).collect();
    if args.kept {
        let recorded = kept.policies(&policies);
        policies.retain(|policy| !recorded.contains(policy));
        for policy in std::mem::replace(&mut policies, recorded) {
            eprintln!(
                "{policy}: no kernel was recorded under it yet: rota-vm versus --write {policy}"
            );
        }
    }
    let mut cases = case::read(&folder.join("cases.toml"), &policies)?;
    cases.extend(case::read(&folder.join("fair-cases.toml"), &policies)?);
    cases.extend(case::read(&folder.join("program-cases.toml"), &programs::NAMES)?);
    let tolerances = Tolerances::read(&folder.join("tolerance.toml"))?;
    let fair_tolerances = Tolerances::read(&folder.join("fair-tolerance.toml"))?;
    let program_tolerances = Tolerances::read(&folder.join("program-tolerance.toml"))?;
    for file in [&tolerances, &fair_tolerances, &program_tolerances] {
        if let Some(stranger) = file.stranger(&cases) {
            bail!("tolerances: there is no case '{stranger}'");
        }
    }
    let all = cases.clone();
    cases.retain(|case| !args.quick || case.quick);
    cases.retain(|case| {
        args.cases.is_empty() || args.cases.iter().any(|part| case.name().contains(part.as_str()))
    });
    if cases.is_empty() {
        bail!("there is no such case");
    }
    let workloads = workloads(&folder, &repository().join("workloads"), &cases)?;
    let machines = machines::machines(&cases, args.per_machine);
    let kernel = if args.kept {
        let of = |case: &&Case| kept.of(case, &workloads[&case.workload]);
        machines.iter().map(|cases| cases.iter().map(of).collect()).collect::<Result<_>>()?
    } else if args.recorded {
        machines::recorded(&machines, &workloads, args)?
    } else {
        machines::boot(&machines, &workloads, args, sources)?
    };
    let played: Vec<_> = machines.iter().flatten().zip(kernel.into_iter().flatten()).collect();
    if args.write && !args.kept {
        for (case, recordings) in &played {
            kept.keep(case, &workloads[&case.workload], recordings);
        }
        kept.write(&file, &all)?;
    }
    let mut compared = side_by_side(&played, args.side_by_side, |_, (case, recordings)| {
        let workload = &workloads[&case.workload];
        let tolerances = match case.kernel {
            Scheduler::Fair => &fair_tolerances,
            Scheduler::Program => &program_tolerances,
            Scheduler::Policy | Scheduler::Partial => &tolerances,
        };
        if let [one] = &recordings[..] {
            let (host, beside) = one;
            let simulator = simulate_all(case, workload, beside, host.numbers.whole_life_ns)?;
            keep_traces(&args.dir, &case.name(), host, &simulator.host)?;
            return Ok(Compared::new(case, simulator, one, tolerances));
        }
        let draw = |((host, beside), nr): (&(Host, Beside), u64)| {
            simulate_draws(case, workload, beside, host.numbers.whole_life_ns, nr)
        };
        let drawn = recordings.iter().zip(0..).map(draw).collect::<Result<_>>()?;
        Ok(Compared::of_means(case, drawn, recordings, tolerances))
    })?;
    // Back into the order of the file.
    compared.sort_by_key(|c| cases.iter().position(|case| case.name() == c.case));
    report::report(&cases, &all, &compared, args)
}

/// Writes what happened in both hosts, if that was recorded.
fn keep_traces(dir: &Path, case: &str, kernel: &Host, machine: &Host) -> Result<()> {
    for (host, name) in [(kernel, "kernel"), (machine, "machine")] {
        let Some(trace) = &host.trace else { continue };
        let path = dir.join("traces").join(format!("{}.{name}.csv", case.replace('/', "-")));
        fs::create_dir_all(dir.join("traces"))?;
        fs::write(&path, trace).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// The comparison's own, and those of the library.
fn workloads(folder: &Path, library: &Path, cases: &[Case]) -> Result<BTreeMap<String, String>> {
    let mut workloads = BTreeMap::new();
    for case in cases {
        let file = format!("{}.json", case.workload);
        let own = folder.join(&file);
        let path = if own.exists() { own } else { library.join(&file) };
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        workloads.insert(case.workload.clone(), text);
    }
    Ok(workloads)
}

/// Does the work for each item, `threads` of them at a time; results in the order of the items.
fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(usize, &T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<R>>>> = Mutex::new(items.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(at) else { return };
                let result = work(at, item);
                if let Ok(mut results) = results.lock() {
                    results[at] = Some(result);
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.into_iter().map(|result| result.context("a thread was lost")?).collect()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
