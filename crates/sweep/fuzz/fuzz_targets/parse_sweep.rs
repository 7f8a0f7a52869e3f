// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any text as a sweep file, and each of its lines as a condition: an error that names the file or
//! says something, a condition that is the same again from its own text, or a sweep with points.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rota_sweep::{Constraint, Method, Sweep, Values};
use std::path::Path;

/// Points of a larger sweep would take the fuzzer's time.
const MOST: usize = 4096;

/// Most points that a sweep can have; `None`: too many.
fn points(sweep: &Sweep) -> Option<usize> {
    let drawn = match sweep.method {
        Method::Grid => None,
        Method::Random { samples, .. }
        | Method::Sobol { samples, .. }
        | Method::Halving { samples, .. } => Some(samples as usize),
    };
    let policies = sweep.policies.iter().map(|policy| {
        let axes = sweep.workload.iter().chain(&sweep.machine).chain(&policy.axes);
        let mut counts = axes.map(|axis| match &axis.values {
            Values::List(values) => values.len(),
            Values::Range(_) => 1,
        });
        drawn.or_else(|| counts.try_fold(1usize, usize::checked_mul))
    });
    policies.sum::<Option<usize>>()?.checked_mul(2 * sweep.workloads.len())
}

fuzz_target!(|text: &str| {
    for line in text.lines() {
        match Constraint::parse(line) {
            Ok(condition) => {
                let again = Constraint::parse(&condition.text).expect("its own text");
                assert_eq!((again.sign, again.bound), (condition.sign, condition.bound));
            }
            Err(error) => assert!(!error.is_empty()),
        }
    }
    match Sweep::parse(Path::new("s.toml"), text) {
        Ok(sweep) if points(&sweep).is_some_and(|points| points <= MOST) => {
            if let Ok(points) = sweep.points() {
                assert!(!points.is_empty());
            }
        }
        Ok(_) => {}
        Err(error) => assert!(error.to_string().starts_with("s.toml"), "{error}"),
    }
});
