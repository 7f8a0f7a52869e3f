// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a cell takes: the difference between a long and a short run, so that the start of a run, the
//! creation of tasks and compiling are not in it.

use crate::args::Build;
use crate::grid::Cell;
use crate::load;
use crate::run::{run, Run};
use anyhow::{bail, Context, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The short run.
const SHORT_US: u64 = 20_000;
/// What the long one takes at least on top of it: much longer than clocks and noise.
const ENOUGH_NS: f64 = 400e6;
/// A run of more simulated time than this has too few decisions to measure any.
const LONGEST_US: u64 = 4_000_000_000;

/// The results of a build in a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) build: String,
    /// One for each repetition.
    pub(crate) ns_per_decision: Vec<f64>,
    /// `None`: the policy ran no instruction.
    pub(crate) ns_per_instruction: Option<f64>,
    pub(crate) simulated_per_real: f64,
    pub(crate) instructions_per_decision: f64,
}

/// Measures all builds, in turn, so often.
pub(crate) fn cell(
    cell: &Cell,
    builds: &[Build],
    repeat: u32,
    directory: &Path,
) -> Result<Vec<Measured>> {
    let load = load::file(cell.tasks, directory).context("a workload")?;
    // All builds simulate as much.
    let long_us = long_us(|us| run(&builds[0], cell, &load, us))?;
    let mut parts: Vec<Vec<Run>> = vec![Vec::new(); builds.len()];
    for _ in 0..repeat {
        for (build, parts) in builds.iter().zip(&mut parts) {
            let short = run(build, cell, &load, SHORT_US)?;
            let long = run(build, cell, &load, long_us)?;
            parts.push(between(&short, &long));
        }
    }
    Ok(builds.iter().zip(&parts).map(|(build, parts)| Measured::of(build, parts)).collect())
}

/// How much to simulate, so that it takes long enough.
fn long_us(mut run: impl FnMut(u64) -> Result<Run>) -> Result<u64> {
    let short = run(SHORT_US)?;
    let mut long_us = SHORT_US * 4;
    loop {
        let part = between(&short, &run(long_us)?);
        if part.cpu_ns >= ENOUGH_NS && part.decisions >= 1.0 {
            return Ok(long_us);
        }
        if long_us >= LONGEST_US {
            bail!("{} s of it take no time", LONGEST_US / 1_000_000);
        }
        // A short part is mostly noise: no leaps by it.
        let factor = (1.2 * ENOUGH_NS / part.cpu_ns.max(1.0)).clamp(1.2, 10.0);
        long_us = (long_us as f64 * factor) as u64;
    }
}

/// What the long run has on top of the short one.
fn between(short: &Run, long: &Run) -> Run {
    Run {
        cpu_ns: long.cpu_ns - short.cpu_ns,
        simulated_ns: long.simulated_ns - short.simulated_ns,
        decisions: long.decisions - short.decisions,
        instructions: long.instructions - short.instructions,
    }
}

impl Measured {
    fn of(build: &Build, parts: &[Run]) -> Self {
        let all = |of: fn(&Run) -> f64| parts.iter().map(of).collect::<Vec<f64>>();
        let instructions_per_decision = median(&all(|part| part.instructions / part.decisions));
        let per_instruction = median(&all(|part| part.cpu_ns / part.instructions));
        Self {
            build: build.name.clone(),
            ns_per_decision: all(|part| part.cpu_ns / part.decisions),
            ns_per_instruction: (instructions_per_decision > 0.0).then_some(per_instruction),
            simulated_per_real: median(&all(|part| part.simulated_ns / part.cpu_ns)),
            instructions_per_decision,
        }
    }

    pub(crate) fn median_ns(&self) -> f64 {
        median(&self.ns_per_decision)
    }

    /// The ratio to another build, of the same turn each: the median, the least and the largest.
    pub(crate) fn to(&self, first: &Measured) -> [f64; 3] {
        let ratios: Vec<f64> = self
            .ns_per_decision
            .iter()
            .zip(&first.ns_per_decision)
            .map(|(ours, theirs)| ours / theirs)
            .collect();
        let ends =
            (ratios.iter().copied().reduce(f64::min), ratios.iter().copied().reduce(f64::max));
        [median(&ratios), ends.0.unwrap_or(f64::NAN), ends.1.unwrap_or(f64::NAN)]
    }
}

/// Of an even number the mean of the two in the middle.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => f64::NAN,
        (count, half) if count % 2 == 1 => sorted[half],
        (_, half) => (sorted[half - 1] + sorted[half]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 30 ms for the start, 1 ms for each simulated second, of 100 decisions with 40 instructions each.
    fn played(us: u64) -> Run {
        let seconds = us as f64 / 1e6;
        Run {
            cpu_ns: 30e6 + seconds * 1e6,
            simulated_ns: seconds * 1e9,
            decisions: seconds * 100.0,
            instructions: seconds * 4000.0,
        }
    }

    fn build(name: &str) -> Build {
        Build { name: name.into(), file: name.into() }
    }

    #[test]
    fn a_decision_takes_what_a_longer_run_has_on_top_of_a_short_one() {
        let part = between(&played(SHORT_US), &played(500_000_000));
        let measured = Measured::of(&build("now"), &[part; 3]);
        // 1 ms / 100 decisions; 10 us / 40 instructions; 1 s in 1 ms.
        assert!((measured.median_ns() - 10_000.0).abs() < 0.1, "{measured:?}");
        assert!((measured.ns_per_instruction.expect("some") - 250.0).abs() < 0.1);
        assert!((measured.simulated_per_real - 1000.0).abs() < 0.1);
        assert!((measured.instructions_per_decision - 40.0).abs() < 0.001);
    }

    #[test]
    fn the_long_run_takes_long_enough_and_not_many_times_as_long() {
        // 400 ms at 1 ms a second are 400 s, and a part is 1.2 to 10 times the one before.
        let us = long_us(|us| Ok(played(us))).expect("some");
        assert!((400_000_000..1_000_000_000).contains(&us), "{us}");
    }

    #[test]
    fn what_takes_no_time_is_an_error() {
        let idle = |us| Ok(Run { cpu_ns: 1e6, ..played(us) });
        assert!(long_us(idle).unwrap_err().to_string().contains("take no time"));
    }

    #[test]
    fn a_build_is_compared_turn_by_turn() {
        let of = |ns: [f64; 3]| Measured {
            ns_per_decision: ns.to_vec(),
            ..Measured::of(&build("x"), &[played(1_000_000)])
        };
        // 50/100, 80/200, 60/100: the computer was slow in the second turn.
        let [median, least, most] = of([50.0, 80.0, 60.0]).to(&of([100.0, 200.0, 100.0]));
        assert_eq!((median, least, most), (0.5, 0.4, 0.6));
    }

    #[test]
    fn a_median_of_four_is_between_the_middle_ones() {
        assert_eq!(median(&[4.0, 1.0, 2.0, 8.0]), 3.0);
    }
}
