// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is compared: `tests/vm/versus/cases.toml`.

use anyhow::{bail, Context, Result};
use rota_guest::span::Span;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// One run in both hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Name of the workload file, without `.json`.
    pub workload: String,
    /// A policy that ships.
    pub policy: String,
    /// Tunables, `name=value`.
    pub set: Vec<String>,
    /// CPUs of the machine.
    pub cpus: u32,
    /// Its length.
    pub duration_ns: u64,
    /// The picks must be the same, at least so many.
    pub picks: Option<usize>,
}

impl Case {
    /// `hogs/wfq/2`.
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.workload, self.policy, self.cpus)
    }
}

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    /// Tunables of policies, wherever a row does not set any.
    #[serde(default)]
    set: BTreeMap<String, Vec<String>>,
    /// Rows of the table.
    #[serde(default)]
    matrix: Vec<Matrix>,
    /// Cases whose picks are compared.
    #[serde(default)]
    sequence: Vec<Sequence>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Matrix {
    workload: String,
    cpus: Vec<u32>,
    #[serde(rename = "for")]
    time: Span,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sequence {
    workload: String,
    policies: Vec<String>,
    #[serde(rename = "for")]
    time: Span,
    picks: usize,
    #[serde(default)]
    set: Vec<String>,
}

/// All cases, with every policy of the catalogue in each row of the matrix.
pub fn read(path: &Path, policies: &[&str]) -> Result<Vec<Case>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    parse(&text, policies).with_context(|| path.display().to_string())
}

fn parse(text: &str, policies: &[&str]) -> Result<Vec<Case>> {
    let file: Cases = toml::from_str(text)?;
    let named = file.sequence.iter().flat_map(|row| &row.policies).chain(file.set.keys());
    if let Some(stranger) = named.clone().find(|name| !policies.contains(&name.as_str())) {
        bail!("there is no policy '{stranger}'; known are {}", policies.join(", "));
    }
    let usual = |policy: &str| file.set.get(policy).cloned().unwrap_or_default();
    let mut cases = Vec::new();
    for row in &file.matrix {
        for cpus in &row.cpus {
            for policy in policies {
                cases.push(Case {
                    workload: row.workload.clone(),
                    policy: (*policy).to_owned(),
                    set: usual(policy),
                    cpus: *cpus,
                    duration_ns: row.time.duration().as_nanos() as u64,
                    picks: None,
                });
            }
        }
    }
    for row in &file.sequence {
        for policy in &row.policies {
            let set = if row.set.is_empty() { usual(policy) } else { row.set.clone() };
            cases.push(Case {
                workload: row.workload.clone(),
                policy: policy.clone(),
                set,
                cpus: 1,
                duration_ns: row.time.duration().as_nanos() as u64,
                picks: Some(row.picks),
            });
        }
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        set.rr = ["quantum_ns=3ms"]
        [[matrix]]
        workload = "hogs"
        cpus = [1, 4]
        for = "2s"
        [[sequence]]
        workload = "ties"
        policies = ["fifo"]
        for = "1s"
        picks = 500
        "#;

    #[test]
    fn the_matrix_has_every_policy_on_every_size() {
        let cases = parse(TEXT, &["fifo", "rr"]).unwrap();
        let names: Vec<String> = cases.iter().map(Case::name).collect();
        assert_eq!(names, ["hogs/fifo/1", "hogs/rr/1", "hogs/fifo/4", "hogs/rr/4", "ties/fifo/1"]);
        assert_eq!(cases[1].set, ["quantum_ns=3ms"]);
        assert_eq!((cases[0].picks, cases[4].picks), (None, Some(500)));
    }

    #[test]
    fn a_policy_that_does_not_ship_is_an_error() {
        let error = parse(TEXT, &["rr"]).unwrap_err().to_string();
        assert_eq!(error, "there is no policy 'fifo'; known are rr");
    }
}
