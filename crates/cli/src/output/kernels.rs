// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rota sim --kernel all` prints: a line for each kernel.

use super::json::MachineJson;
use super::plain::plain;
use super::units::{duration, index_or_dash, percent, time_or_dash};
use super::{summary, table};
use rota_machine::config::Config;
use rota_measure::Totals;
use rota_sim::Measured;
use serde::Serialize;
use std::io::{self, Write};

/// A run on one kernel.
pub(crate) struct OnKernel {
    /// Its release.
    pub(crate) release: &'static str,
    pub(crate) verdict: Verdict,
}

/// What a kernel made of the policy.
pub(crate) enum Verdict {
    /// It does not load it, and says why.
    Refused(String),
    /// It ran until the end, or left by itself.
    Runs(Box<Measured>),
    /// It was ejected.
    Ejected(Box<Measured>),
}

impl Verdict {
    pub(crate) fn of(measured: Measured) -> Self {
        match ejection(&measured).is_some() {
            true => Self::Ejected(Box::new(measured)),
            false => Self::Runs(Box::new(measured)),
        }
    }

    /// Why the kernel refused it, if it did.
    pub(crate) fn refusal(&self) -> Option<&str> {
        match self {
            Self::Refused(why) => Some(why),
            _ => None,
        }
    }

    pub(crate) fn is_ejection(&self) -> bool {
        matches!(self, Self::Ejected(_))
    }

    fn measured(&self) -> Option<&Measured> {
        match self {
            Self::Refused(_) => None,
            Self::Runs(measured) | Self::Ejected(measured) => Some(measured),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::Runs(_) => "runs",
            Self::Ejected(_) => "ejected",
        }
    }

    /// Why it did not run to the end.
    fn reason(&self) -> Option<String> {
        match self {
            Self::Refused(why) => Some(why.clone()),
            Self::Runs(_) => None,
            Self::Ejected(measured) => ejection(measured).map(|(_, why)| why),
        }
    }

    fn text(&self) -> String {
        match (self, self.reason()) {
            (Self::Ejected(measured), Some(why)) => {
                let at_ns = ejection(measured).map_or(measured.outcome.end_ns, |(at_ns, _)| at_ns);
                format!("ejected after {}: {why}", duration(at_ns))
            }
            (_, Some(why)) => format!("{}: {why}", self.word()),
            (_, None) => self.word().to_owned(),
        }
    }
}

/// When and why the policy was ejected, or else a sub-scheduler.
fn ejection(measured: &Measured) -> Option<(u64, String)> {
    let outcome = &measured.outcome;
    if outcome.exit.kind.is_error() {
        return Some((outcome.end_ns, outcome.exit.to_string()));
    }
    let gone = outcome.sub_exits.iter().find(|gone| gone.exit.kind.is_error())?;
    Some((gone.at_ns, format!("{}: {}", gone.cgroup, gone.exit)))
}

const HEADER: [&str; 9] = [
    "kernel",
    "idle",
    "wakeup p50",
    "p99",
    "max",
    "switches",
    "migrations",
    "Jain index",
    "verdict",
];

/// Prints the runs under a line of what was run.
pub(crate) fn print(
    out: &mut dyn Write,
    policy: &str,
    workload: &str,
    config: &Config,
    runs: &[OnKernel],
) -> io::Result<()> {
    let machine = summary::machine_with(config, &summary::seed(config));
    writeln!(out, "{policy}, {workload}: {machine}\n")?;
    let cpus = config.topology.cpus();
    let numbers = |run: &OnKernel| {
        let mut row = vec![run.release.to_owned()];
        row.extend(match run.verdict.measured() {
            Some(measured) => totals(measured, cpus),
            None => [(); 7].map(|()| "-".to_owned()),
        });
        row
    };
    // Verdicts are texts, and as long as they are: behind the numbers, not in the table.
    let lines = table::lines(&HEADER[..8], 1, runs.iter().map(numbers).collect());
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let verdicts =
        std::iter::once(HEADER[8].to_owned()).chain(runs.iter().map(|r| r.verdict.text()));
    for (line, verdict) in lines.iter().zip(verdicts) {
        writeln!(out, "{line:<width$}  {}", plain(&verdict))?;
    }
    Ok(())
}

fn totals(measured: &Measured, cpus: u32) -> [String; 7] {
    let totals = &measured.numbers.totals;
    let capacity_ns = f64::from(cpus) * totals.measured_ns as f64;
    let idle = if capacity_ns > 0.0 { totals.idle_ns as f64 / capacity_ns } else { 0.0 };
    let wakeups = &totals.wakeup_latency_ns;
    [
        percent(idle),
        time_or_dash(wakeups.p50),
        time_or_dash(wakeups.p99),
        time_or_dash(wakeups.max),
        totals.context_switches.to_string(),
        totals.migrations.to_string(),
        index_or_dash(totals.jain),
    ]
}

/// `rota sim --kernel all --json`.
#[derive(Serialize)]
pub(crate) struct Json<'a> {
    schema: &'static str,
    policy: Named<'a>,
    machine: MachineJson,
    seed: u64,
    duration_ns: u64,
    workload: &'a str,
    kernels: Vec<KernelJson<'a>>,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
    source: &'a str,
}

#[derive(Serialize)]
struct KernelJson<'a> {
    kernel: &'a str,
    verdict: &'static str,
    reason: Option<String>,
    duration_ns: Option<u64>,
    totals: Option<&'a Totals>,
}

impl<'a> Json<'a> {
    pub(crate) fn new(
        (name, source): (&'a str, &'a str),
        config: &Config,
        workload: &'a str,
        runs: &'a [OnKernel],
    ) -> Self {
        let kernels = runs.iter().map(|run| KernelJson {
            kernel: run.release,
            verdict: run.verdict.word(),
            reason: run.verdict.reason(),
            duration_ns: run.verdict.measured().map(|measured| measured.outcome.end_ns),
            totals: run.verdict.measured().map(|measured| &measured.numbers.totals),
        });
        Self {
            schema: "rota.sim-kernels/1",
            policy: Named { name, source },
            machine: MachineJson::new(config),
            seed: config.seed,
            duration_ns: config.duration_ns,
            workload,
            kernels: kernels.collect(),
        }
    }
}
