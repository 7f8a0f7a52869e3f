// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota-vm`: runs the scenarios of `tests/vm/scenarios` in real kernels.

mod encoders_command;
mod page_command;
mod shares_command;
mod versus_command;
mod web_command;

use anyhow::{bail, Context, Result};
use clap::{Parser, Subcommand};
use page_command::PageArgs;
use rota_object::settings::Tunable;
use rota_vm_tests::debian;
use rota_vm_tests::guest::{self, Guest, Sources};
use rota_vm_tests::initramfs::Initramfs;
use rota_vm_tests::kernel::{Cache, Kernel, Role};
use rota_vm_tests::plan::{plan, Boot, Filter, Policy};
use rota_vm_tests::run::{self, Outcome, Repeated, Setup};
use rota_vm_tests::scenario::{self, Scenario};
use rota_vm_tests::systemd;
use std::collections::btree_map::{BTreeMap, Entry};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Run Rota's scenarios in real kernels, in QEMU.
#[derive(Debug, Parser)]
#[command(name = "rota-vm", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Boot the machines and run the scenarios
    Run(RunArgs),
    /// Find the kernels to test on, and print which they are
    Kernels {
        /// Look for newer ones although there are some
        #[arg(long)]
        refresh: bool,
    },
    /// List the scenarios
    List,
    /// Compare the simulator with a kernel
    Versus(versus_command::VersusArgs),
    /// Run a real encoder under the schedulers of the VTRR paper
    Encoders(PageArgs),
    /// Measure the shares of the PBS paper's four tasks, Figure 4
    Shares(PageArgs),
    /// Ask a real web server for pages: Figure 8 of the PBS paper, and customers with busy tasks
    Web(web_command::WebArgs),
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    /// Only scenarios with one of these in their name
    scenarios: Vec<String>,

    /// Only this policy
    #[arg(long)]
    policy: Option<String>,

    /// Only machines with so many CPUs
    #[arg(long)]
    cpus: Option<u32>,

    /// Only machines with this kernel
    #[arg(long, value_parser = ["newest", "older", "plain"])]
    kernel: Option<String>,

    /// What stands for the whole in a third of the time: nothing on the host's clock, each scenario
    /// with each policy on one number of CPUs, and only the shortest machine twice
    #[arg(long, conflicts_with = "runs")]
    quick: bool,

    /// Run each machine so often; two runs or more are compared
    #[arg(long, default_value_t = 2)]
    runs: usize,

    /// Machines side by side
    #[arg(long, default_value_t = 2)]
    side_by_side: usize,

    /// Host seconds after which a machine is stopped
    #[arg(long, default_value_t = 1500)]
    within: u64,

    /// The `rota` command [default: next to this program]
    #[arg(long)]
    rota: Option<PathBuf>,

    /// Where machines keep their consoles and records
    #[arg(long, default_value = ".cache/vm")]
    dir: PathBuf,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(args) => run(&args),
        Command::Kernels { refresh } => kernels(refresh),
        Command::List => list(),
        Command::Versus(args) => {
            let sources = sources(args.rota.as_deref());
            sources.and_then(|sources| versus_command::run(&args, &sources))
        }
        Command::Encoders(args) => {
            let sources = sources(args.rota.as_deref());
            sources.and_then(|sources| encoders_command::run(&args, &sources))
        }
        Command::Shares(args) => {
            let sources = sources(args.rota.as_deref());
            sources.and_then(|sources| shares_command::run(&args, &sources))
        }
        Command::Web(args) => {
            let sources = sources(args.page.rota.as_deref());
            sources.and_then(|sources| web_command::run(&args, &sources))
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("rota-vm: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// `tests/vm` of this checkout.
fn tests() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn scenarios() -> Result<Vec<Scenario>> {
    scenario::read_all(&tests().join("scenarios"))
}

fn list() -> Result<bool> {
    for scenario in scenarios()? {
        println!("{:<24}{}", scenario.name, scenario.about);
    }
    Ok(true)
}

fn say(text: &str) {
    eprintln!("rota-vm: {text}");
}

fn kernels(refresh: bool) -> Result<bool> {
    let mut cache = Cache::of_user()?;
    cache.refresh = refresh;
    for role in [Role::Newest, Role::Older, Role::Plain] {
        let kernel = cache.find(role, &mut say)?;
        println!("{:<8}{}\n        {}", role.name(), kernel.name, kernel.vmlinuz.display());
    }
    Ok(true)
}

fn run(args: &RunArgs) -> Result<bool> {
    let start = Instant::now();
    let boots = wanted(args)?;
    let mut cache = Cache::of_user()?;
    let mut kernels: BTreeMap<Role, Kernel> = BTreeMap::new();
    for boot in &boots {
        if let Entry::Vacant(entry) = kernels.entry(boot.kernel) {
            let kernel = entry.insert(cache.find(boot.kernel, &mut say)?);
            say(&format!("{}: {}", boot.kernel.name(), kernel.name));
        }
    }
    let files = files(&sources(args.rota.as_deref())?, &boots, &cache)?;
    let setup = Setup {
        kernels: &kernels,
        files: &files,
        dir: &args.dir,
        side_by_side: args.side_by_side,
        runs: args.runs.max(1),
        repeated: if args.quick { Repeated::Shortest } else { Repeated::All },
        within: Duration::from_secs(args.within),
    };
    let outcomes = run::all(&boots, &setup, &mut print)?;
    let bad = outcomes.iter().filter(|outcome| !outcome.problems.is_empty()).count();
    let jobs: usize = boots.iter().map(|boot| boot.jobs.len()).sum();
    let took = start.elapsed().as_secs();
    if bad > 0 {
        say(&format!(
            "{bad} of {} machines had problems; consoles and records are in {}",
            boots.len(),
            args.dir.display()
        ));
        return Ok(false);
    }
    println!(
        "{jobs} jobs in {} machines: all good, {} min {:02} s",
        boots.len(),
        took / 60,
        took % 60
    );
    Ok(true)
}

fn wanted(args: &RunArgs) -> Result<Vec<Boot>> {
    let mut scenarios = scenarios()?;
    scenarios.retain(|scenario| {
        args.scenarios.is_empty() || args.scenarios.iter().any(|part| scenario.name.contains(part))
    });
    let filter = Filter {
        policy: args.policy.clone(),
        cpus: args.cpus,
        kernel: args.kernel.clone(),
        quick: args.quick,
        // the two runs of a machine are side by side
        least: if args.runs == 1 { args.side_by_side } else { 1 },
    };
    let boots = plan(&scenarios, &policies()?, &filter)?;
    if boots.is_empty() {
        bail!("nothing to run: no scenario is as asked for; `rota-vm list` shows them");
    }
    Ok(boots)
}

fn policies() -> Result<Vec<Policy>> {
    let kernel = rota_object::btf::reference();
    let mut policies = Vec::new();
    for policy in rota_catalog::policies() {
        let image = rota_kernel::link(policy.object, policy.name, &kernel)
            .with_context(|| format!("policy {}", policy.name))?;
        let has_shares = image.maps.iter().any(|map| map.name == rota_kernel::SHARES_MAP);
        // A value that it must have in a kernel leaves no choice.
        let fixed = image.values_in_kernel();
        let is_free = |of: &&Tunable| fixed.iter().all(|(name, _)| *name != of.name);
        let choices = image.tunables().iter().filter(is_free).flat_map(choices).collect();
        policies.push(Policy { name: policy.name.to_owned(), has_shares, choices });
    }
    Ok(policies)
}

/// The values of a tunable that has few, but for its default. Setting a new one may bring in code
/// that the kernel did not see before.
fn choices(tunable: &Tunable) -> Vec<String> {
    let switch = ["false".to_owned(), "true".to_owned()];
    let values = if tunable.ctype == "bool" { &switch } else { tunable.values.as_slice() };
    let others = values.iter().filter(|value| **value != tunable.default);
    others.map(|value| format!("{}={value}", tunable.name)).collect()
}

/// The files of each kind of machine that there is among these.
fn files(sources: &Sources, boots: &[Boot], cache: &Cache) -> Result<BTreeMap<Guest, Initramfs>> {
    let mut files = BTreeMap::new();
    for guest in boots.iter().map(|boot| boot.guest) {
        if let Entry::Vacant(entry) = files.entry(guest) {
            entry.insert(match guest {
                Guest::Bare => guest::initramfs(sources)?,
                Guest::Systemd => {
                    systemd::initramfs(sources, &debian::system(&cache.guests(), &mut say)?)?
                }
            });
        }
    }
    Ok(files)
}

fn sources(rota: Option<&Path>) -> Result<Sources> {
    let here = std::env::current_exe()?;
    let beside = |name: &str| here.with_file_name(name);
    Ok(Sources {
        tests: tests().to_owned(),
        rota: rota.map_or_else(|| beside("rota"), Path::to_owned),
        guest: beside("rota-guest"),
        package: beside("../debian/rota.deb"),
    })
}

fn print(outcome: &Outcome) {
    let times: Vec<String> =
        outcome.took.iter().map(|took| format!("{:.1} s", took.as_secs_f64())).collect();
    let verdict = if outcome.problems.is_empty() { "good" } else { "BAD" };
    let given_up = match outcome.given_up.len() {
        0 => String::new(),
        runs => format!(" ({runs} more given up for the emulator's fault)"),
    };
    let odd = match outcome.odd {
        0 => String::new(),
        runs => format!(" ({runs} not like the others)"),
    };
    println!("{:<28}{verdict:<6}{}{given_up}{odd}", outcome.name, times.join(", "));
    for trouble in &outcome.given_up {
        println!("  given up: {}", trouble.replace('\n', "\n  "));
    }
    for problem in &outcome.problems {
        println!("  {}", problem.replace('\n', "\n  "));
    }
}
