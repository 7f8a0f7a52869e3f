// SPDX-License-Identifier: MIT OR Apache-2.0
//! The points of a sweep: which values are run together.

use crate::axis::{Axis, Values};
use crate::file::{Method, Policy, Sweep, MOST_RUNS};
use crate::value::Value;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rota_session::Error;
use std::collections::BTreeSet;

/// Values that are run together, with every seed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// The place of the workload file.
    pub workload: usize,
    /// A value for each of the sweep's axes of workload files.
    pub keys: Vec<Value>,
    /// And of machines.
    pub machine: Vec<Value>,
    /// The place of the policy.
    pub policy: usize,
    /// A value for each of the policy's axes; none: it runs as it ships.
    pub set: Vec<Value>,
}

/// Most axes that Sobol's sequence is known for.
const MOST_AXES: usize = 256;

impl Sweep {
    /// Each point once, in order.
    pub fn points(&self) -> Result<Vec<Point>, Error> {
        self.check_size()?;
        let mut points = BTreeSet::new();
        for workload in 0..self.workloads.len() {
            for (place, policy) in self.policies.iter().enumerate() {
                let point =
                    |(keys, machine, set)| Point { workload, keys, machine, policy: place, set };
                let all: Vec<&Axis> =
                    self.workload.iter().chain(&self.machine).chain(&policy.axes).collect();
                if policy.plain {
                    let shared = &all[..all.len() - policy.axes.len()];
                    points.extend(self.values(shared).into_iter().map(|of| point(self.split(of))));
                }
                if !policy.axes.is_empty() {
                    points.extend(self.values(&all).into_iter().map(|of| point(self.split(of))));
                }
            }
        }
        Ok(points.into_iter().collect())
    }

    /// Values of some axes that are run together. The first axes have the same ones whatever follows
    /// them, so that policies are compared where all else is equal.
    fn values(&self, axes: &[&Axis]) -> Vec<Vec<Value>> {
        let drawn = |samples: u32, part: &dyn Fn(u32, usize) -> f64| {
            let one = |sample| {
                let of = |(at, axis): (usize, &&Axis)| axis.values.draw(part(sample, at));
                axes.iter().enumerate().map(of).collect()
            };
            (0..samples).map(one).collect()
        };
        match self.method {
            Method::Grid => grid(axes),
            Method::Random { samples, draw } => {
                drawn(samples, &|sample, axis| random(draw, sample, axis))
            }
            Method::Sobol { samples, draw } | Method::Halving { samples, draw, .. } => {
                drawn(samples, &|sample, axis| {
                    f64::from(sobol_burley::sample(sample, axis as u32, draw))
                })
            }
        }
    }

    fn split(&self, mut all: Vec<Value>) -> (Vec<Value>, Vec<Value>, Vec<Value>) {
        let set = all.split_off(self.workload.len() + self.machine.len());
        let machine = all.split_off(self.workload.len());
        (all, machine, set)
    }

    fn check_size(&self) -> Result<(), Error> {
        let mut runs = 0u64;
        for policy in &self.policies {
            let shared = || self.workload.iter().chain(&self.machine);
            let axes = shared().chain(&policy.axes);
            if let Some(axis) = axes.clone().nth(MOST_AXES) {
                let expected = format!("at most {MOST_AXES} axes");
                return Err(self.error(axis.line, format!("{}: {expected}", axis.name)));
            }
            let count = |axes: &mut dyn Iterator<Item = &Axis>| match self.method {
                Method::Grid => axes.fold(1u64, |count, axis| match &axis.values {
                    Values::List(values) => count.saturating_mul(values.len() as u64),
                    Values::Range(_) => count,
                }),
                Method::Random { samples, .. }
                | Method::Sobol { samples, .. }
                | Method::Halving { samples, .. } => samples.into(),
            };
            let plain = if policy.plain { count(&mut shared()) } else { 0 };
            let swept = if policy.axes.is_empty() { 0 } else { count(&mut axes.clone()) };
            runs = runs.saturating_add(plain.saturating_add(swept));
        }
        let each = (self.workloads.len() as u64).saturating_mul(self.seeds.len() as u64);
        match runs.saturating_mul(each) {
            runs if runs > MOST_RUNS => Err(Error::input(format!(
                "{}: {runs} runs, expected at most {MOST_RUNS}",
                self.file.display()
            ))),
            _ => Ok(()),
        }
    }
}

impl Policy {
    /// What is set in the runs of a point: its own settings, and its axes' values.
    pub fn settings(&self, set: &[Value]) -> Vec<(String, String)> {
        let swept = self.axes.iter().zip(set);
        let swept = swept.map(|(axis, value)| (axis.name.clone(), value.to_string()));
        self.set.iter().cloned().chain(swept).collect()
    }
}

fn grid(axes: &[&Axis]) -> Vec<Vec<Value>> {
    let mut all = vec![Vec::new()];
    for axis in axes {
        let Values::List(values) = &axis.values else { continue };
        let longer = |before: &Vec<Value>| {
            let with = |value: &Value| before.iter().chain([value]).cloned().collect();
            values.iter().map(with).collect::<Vec<Vec<Value>>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// A number from 0 to below 1, the same for the same three.
fn random(draw: u32, sample: u32, axis: usize) -> f64 {
    let mut generator = ChaCha8Rng::seed_from_u64(draw.into());
    generator.set_stream(axis as u64);
    generator.set_word_pos(2 * u128::from(sample));
    (generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn sweep(text: &str) -> Sweep {
        Sweep::parse(Path::new("s.toml"), text).expect("a sweep")
    }

    fn points(text: &str) -> Vec<Point> {
        sweep(text).points().expect("points")
    }

    const TOP: &str = "workloads = [\"a.json\"]\npolicies = [\"pbs\", \"rr\"]\n";

    #[test]
    fn a_grid_has_every_value_with_every_other() {
        let text = format!(
            "{TOP}[workload]\ntasks.ui.run = [1, 2]\n[machine]\ncpus = [1, 2, 4]\n\
             [set.pbs]\nalpha = [1, 2]\nbeta = [\"-3\", 0]"
        );
        // 2 · 3 with pbs's 2 · 2 and once with rr.
        assert_eq!(points(&text).len(), 2 * 3 * (2 * 2 + 1));
    }

    #[test]
    fn the_baseline_also_runs_as_it_ships() {
        let text = format!("baseline = \"pbs\"\n{TOP}[set.pbs]\nalpha = [1, 2]");
        let points = points(&text);
        let of = |policy, set: &[i64]| {
            let set = set.iter().copied().map(Value::Int).collect();
            Point { workload: 0, keys: Vec::new(), machine: Vec::new(), policy, set }
        };
        assert_eq!(points, [of(0, &[]), of(0, &[1]), of(0, &[2]), of(1, &[])]);
    }

    #[test]
    fn policies_are_drawn_the_same_workloads_and_machines() {
        for method in ["random", "sobol"] {
            let text = format!(
                "method = \"{method}\"\nsamples = 20\n{TOP}[workload]\n\
                 tasks.ui.run = {{ from = 1, to = 1000000 }}\n\
                 [set.pbs]\nalpha = {{ from = 0.1, to = 10, scale = \"log\" }}"
            );
            let points = points(&text);
            let keys = |policy| -> Vec<_> {
                points.iter().filter(|p| p.policy == policy).map(|p| &p.keys).collect()
            };
            assert_eq!((keys(0).len(), keys(0)), (20, keys(1)), "{method}");
            let other = text.replace("samples", "draw = 2\nsamples");
            assert_ne!(sweep(&other).points().expect("points"), points, "{method}");
        }
    }

    #[test]
    fn sobols_points_fill_the_space_evenly() {
        let text = format!(
            "method = \"sobol\"\nsamples = 64\n{TOP}[set.pbs]\nalpha = {{ from = 0.0, to = 1.0 }}\n\
             beta = {{ from = 0.0, to = 1.0 }}"
        );
        // A scrambled (0, 2)-sequence: of its first 64 points, each of 8 · 8 squares has one.
        let squares =
            points(&text).into_iter().filter(|point| !point.set.is_empty()).map(|point| {
                let cell = |value: &Value| (value.number().expect("a number") * 8.0) as u32;
                (cell(&point.set[0]), cell(&point.set[1]))
            });
        assert_eq!(squares.collect::<BTreeSet<_>>().len(), 64);
    }

    #[test]
    fn a_sweep_without_end_is_refused() {
        let axis = "{ from = 1, to = 100000, step = 1 }";
        let text = format!("{TOP}[set.pbs]\nalpha = {axis}\nbeta = {axis}");
        let error = sweep(&text).points().expect_err("too many").to_string();
        assert_eq!(error, "s.toml: 10000000001 runs, expected at most 10000000");
    }
}
