// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures a computer for a machine file of it, in about a minute and without root: what a line
//! takes from CPU to CPU, what switches and wakeups cost, how late a CPU leaves idleness, what a
//! move, a busy sibling and a low frequency cost.
//!
//! Each measurement is repeated in several turns, so that a disturbance does not hit one alone.
//! A number is the median of its samples; one that cannot be told from noise, or for which the
//! computer has not the CPUs, keeps the value of the machine that it starts from.

mod births;
mod budget;
mod clock;
mod comments;
mod cores;
mod costs;
mod distance;
mod error;
mod estimate;
mod facts;
mod idle;
mod ipis;
mod lines;
pub mod loads;
mod loops;
mod number;
mod passes;
mod place;
mod rates;
mod series;
mod steps;
mod ticks;
mod turns;
mod wakes;

pub use error::CalibrateError;
pub use estimate::Estimate;
pub use facts::{Facts, Others};
pub use number::Number;

use budget::Budget;
use facts::Load;
use rota_machine_file::Machine;
use series::Samples;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use steps::Computer;

/// Turns of all measurements.
const TURNS: u64 = 3;
/// With more than this part of the computer, others disturb.
const NOISE: f64 = 0.02;

/// What to measure, and for how long.
pub struct Plan<'a> {
    /// What is known of the computer: its layout, and values for what cannot be measured.
    pub base: Machine,
    /// Nanoseconds for all of it.
    pub duration_ns: u64,
    /// Ticks per second of the kernel, if known.
    pub hz: Option<u32>,
    /// Day of the measurement, for the file.
    pub date: String,
    /// Ends it early.
    pub stop: &'a AtomicBool,
    /// Told how much is done, of how much, before each measurement.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
}

/// A computer that was measured.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// It as a machine.
    pub machine: Machine,
    /// What kind of computer it is.
    pub facts: Facts,
    /// What others had of it meanwhile; `None`: `/proc/stat` cannot be read.
    pub others: Option<Others>,
    /// Each number, measured or not.
    pub numbers: Vec<Number>,
    /// What else there is to know.
    pub notes: Vec<String>,
}

impl Calibrated {
    /// The text of its machine file, each number with where it comes from.
    pub fn file(&self) -> String {
        comments::file(self)
    }
}

/// Measures the computer; `None`: it was ended early.
pub fn calibrate(plan: &Plan<'_>) -> Result<Option<Calibrated>, CalibrateError> {
    let mut machine = plan.base.clone();
    let Some(mut hardware) = machine.hardware.as_deref().cloned() else {
        return Err(CalibrateError::new(format!(
            "machine {} has no model of hardware to measure numbers for",
            machine.name
        )));
    };
    let mut cpus = place::allowed()?;
    let all = cpus.len();
    cpus.retain(|cpu| *cpu < machine.topology.cpus());
    if cpus.is_empty() {
        return Err(CalibrateError::new("this process may use none of the machine's CPUs"));
    }
    let facts = Facts::read();
    let before = Load::now();
    let samples = {
        let topology = &machine.topology;
        let computer = Computer { topology, hardware: &hardware, cpus: &cpus, hz: plan.hz };
        let Some(samples) = measure(&computer, plan)? else { return Ok(None) };
        samples
    };
    let others = before.zip(Load::now()).map(|(before, now)| before.until(&now));

    let mut numbers = costs::on_one_cpu(&samples, &mut machine);
    numbers.extend(cores::caches(&samples, &mut hardware));
    numbers.extend(costs::between_cpus(&samples, &machine, &mut hardware));
    numbers.extend(cores::speeds(&samples, &mut hardware));
    numbers.extend(cores::clocks(&samples, &mut hardware));
    let mut notes = notes(&facts, others);
    notes.extend(cores::hidden(&samples, &hardware));
    if cpus.len() < all || (cpus.len() as u32) < machine.topology.cpus() {
        notes.push(format!(
            "of {all} CPUs that this process may use, {} are among the machine's {}: the others \
             were not measured",
            cpus.len(),
            machine.topology.cpus()
        ));
    }
    let measured = |key: &str| numbers.iter().any(|n| n.estimate.is_some() && n.key == key);
    machine.assumed.retain(|assumed| !measured(&assumed.key));
    machine.source = source(&facts, &plan.date);
    machine.hardware = Some(Arc::new(hardware));
    Ok(Some(Calibrated { machine, facts, others, numbers, notes }))
}

/// All measurements, each in several turns.
fn measure(computer: &Computer<'_>, plan: &Plan<'_>) -> Result<Option<Samples>, CalibrateError> {
    let steps = steps::all(computer);
    let weights: u64 = steps.iter().map(|step| step.weight).sum::<u64>() * TURNS;
    let (mut samples, mut done) = (Samples::default(), 0);
    for _ in 0..TURNS {
        for step in &steps {
            (plan.progress)(done, weights);
            let ns = u128::from(plan.duration_ns) * u128::from(step.weight);
            let budget = Budget::new((ns / u128::from(weights.max(1))) as u64, plan.stop);
            let measured = (step.run)(budget)
                .map_err(|error| CalibrateError::new(format!("{}: {error}", step.name)))?;
            measured.into_iter().for_each(|(series, values)| samples.add(series, values));
            if plan.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            done += step.weight;
        }
    }
    (plan.progress)(weights, weights);
    Ok(Some(samples))
}

/// Where the numbers come from.
fn source(facts: &Facts, date: &str) -> String {
    let governor = facts.governor.as_deref().unwrap_or("none");
    let guest = if facts.guest { ", virtual machine" } else { "" };
    let (model, kernel) = (&facts.cpu_model, &facts.kernel);
    format!("calibrated: {model}{guest}, Linux {kernel}, governor {governor}, {date}")
}

/// What disturbs, and what a virtual machine hides.
fn notes(facts: &Facts, others: Option<Others>) -> Vec<String> {
    let mut notes = Vec::new();
    if facts.guest {
        notes.push(
            "this is a virtual machine: which CPUs share a core or a cache, idle states and \
             frequencies are the host's, and can change while it runs. Ways out of idleness and \
             interrupts have the host's part in them"
                .into(),
        );
    }
    let Some(others) = others else {
        notes.push("/proc/stat cannot be read: whether others disturbed is not known".into());
        return notes;
    };
    for (part, what) in
        [(others.tasks, "other tasks had"), (others.stolen, "the host kept from this one")]
    {
        if part > NOISE {
            let percent = part * 100.0;
            notes.push(format!("{what} {percent:.0} % of the CPU time: measure again when idle"));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_and_busy_others_are_noted() {
        let facts = |guest| Facts {
            cpu_model: "AMD EPYC".into(),
            kernel: "6.18.1".into(),
            governor: None,
            guest,
        };
        let quiet = Others { tasks: 0.01, stolen: 0.0 };
        assert!(notes(&facts(false), Some(quiet)).is_empty());
        assert_eq!(notes(&facts(true), Some(Others { tasks: 0.5, stolen: 0.1 })).len(), 3);
        assert_eq!(
            source(&facts(true), "2026-11-27"),
            "calibrated: AMD EPYC, virtual machine, Linux 6.18.1, governor none, 2026-11-27"
        );
    }

    #[test]
    fn a_machine_without_hardware_cannot_be_calibrated() {
        let stop = AtomicBool::new(false);
        let base = rota_machine_file::preset("flat").expect("it ships");
        let plan = Plan {
            base,
            duration_ns: 0,
            hz: None,
            date: String::new(),
            stop: &stop,
            progress: &|_, _| {},
        };
        let error = calibrate(&plan).expect_err("flat");
        assert!(error.to_string().contains("flat has no model of hardware"), "{error}");
    }

    #[test]
    fn a_short_measurement_gives_a_file_that_is_read_again() {
        let stop = AtomicBool::new(false);
        let base = rota_machine_file::preset("cloud-2").expect("it ships");
        let plan = Plan {
            base,
            duration_ns: 300_000_000,
            hz: Some(250),
            date: "2026-11-27".into(),
            stop: &stop,
            progress: &|_, _| {},
        };
        let found = calibrate(&plan).expect("it can be measured").expect("to its end");
        let text = found.file();
        let again = rota_machine_file::parse("own.toml", &text).expect("as written");
        assert_eq!(again.costs, found.machine.costs);
        assert_eq!(again.topology, found.machine.topology);
        assert!(again.source.starts_with("calibrated: "), "{}", again.source);
        // On a busy computer some cannot be told from noise; how long a thread takes to be made can.
        assert!(text.contains("\n# measured: making a thread"), "{text}");
    }

    #[test]
    fn one_that_is_ended_early_has_no_result() {
        let stop = AtomicBool::new(true);
        let base = rota_machine_file::preset("cloud-2").expect("it ships");
        let plan = Plan {
            base,
            duration_ns: 60_000_000_000,
            hz: None,
            date: String::new(),
            stop: &stop,
            progress: &|_, _| {},
        };
        assert!(calibrate(&plan).expect("nothing fails").is_none());
    }
}
