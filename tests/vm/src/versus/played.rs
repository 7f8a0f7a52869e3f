// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was played for a recording, by which one can tell whether it still is what the case says.

use super::case::Case;
use anyhow::{bail, Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// So many hexadecimal digits of a workload's hash tell it from what it was before.
const DIGITS: usize = 16;

/// The file with those of a machine, in the folder that it ran in.
const FILE: &str = "played.json";

/// A workload under a policy, for so long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Played {
    /// The first digits of the SHA-256 of the workload file without its comments.
    pub(super) workload: String,
    /// Tunables.
    pub(super) set: Vec<String>,
    pub(super) duration_ns: u64,
}

impl Played {
    pub(super) fn new(case: &Case, workload: &str) -> Played {
        let hash = Sha256::digest(rota_workload::bare(workload));
        let mut digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        digits.truncate(DIGITS);
        Played { workload: digits, set: case.set.clone(), duration_ns: case.duration_ns }
    }

    /// Whether it is what the case would have played today.
    pub(super) fn check(&self, case: &Case, workload: &str) -> Result<()> {
        if *self != Played::new(case, workload) {
            bail!(
                "{}: its workload, tunables or length changed since it was recorded",
                case.name()
            );
        }
        Ok(())
    }
}

/// Keeps beside what a machine recorded what it played.
pub(super) fn write(
    dir: &Path,
    cases: &[&Case],
    workloads: &BTreeMap<String, String>,
) -> Result<()> {
    let played = |case: &&Case| (case.name(), Played::new(case, &workloads[&case.workload]));
    let all: BTreeMap<String, Played> = cases.iter().map(played).collect();
    let path = dir.join(FILE);
    fs::write(&path, serde_json::to_vec_pretty(&all)?).with_context(|| path.display().to_string())
}

/// Whether that is what the cases would play today.
pub(super) fn check(
    dir: &Path,
    cases: &[&Case],
    workloads: &BTreeMap<String, String>,
) -> Result<()> {
    let path = dir.join(FILE);
    let text = fs::read(&path).with_context(|| path.display().to_string())?;
    let all: BTreeMap<String, Played> =
        serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
    for case in cases {
        let played = all.get(&case.name());
        let played = played.with_context(|| format!("{} was not played", case.name()))?;
        played.check(case, &workloads[&case.workload])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::versus::case::parse;

    fn cases(set: &str) -> Vec<Case> {
        let text = format!(
            "{set}\nmatrix = [ {{ workload = \"hogs\", cpus = [1, 2], for = \"2s\", policies = [\"rr\"] }} ]"
        );
        parse(&text, &["rr"]).unwrap()
    }

    fn workloads(text: &str) -> BTreeMap<String, String> {
        [("hogs".to_owned(), text.to_owned())].into()
    }

    #[test]
    fn what_machines_recorded_is_of_no_use_once_a_case_plays_something_else() {
        let dir = tempfile::tempdir().unwrap();
        let cases_then = cases("set.rr = [\"quantum_ns=1ms\"]");
        let cases_now = cases("set.rr = [\"quantum_ns=3ms\"]");
        let [then, now] = [&cases_then, &cases_now].map(|all| all.iter().collect::<Vec<&Case>>());

        write(dir.path(), &then[..1], &workloads("a")).unwrap();
        let why = |cases: &[&Case], text: &str| {
            format!("{:#}", check(dir.path(), cases, &workloads(text)).unwrap_err())
        };

        check(dir.path(), &then[..1], &workloads("a")).unwrap();
        check(dir.path(), &then[..1], &workloads("// Said anew.\na")).unwrap();
        assert!(why(&now[..1], "a").starts_with("hogs/rr/1: its workload, tunables"));
        assert!(why(&then[..1], "b").starts_with("hogs/rr/1: its workload, tunables"));
        assert_eq!(why(&then, "a"), "hogs/rr/2 was not played");
    }
}
