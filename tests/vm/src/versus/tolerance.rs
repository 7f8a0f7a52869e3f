// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far the hosts may be from each other: `tests/vm/versus/tolerance.toml`.

use super::case::Case;
use super::compare::{Measure, Pair};
use anyhow::{bail, Context, Result};
use serde::Deserialize;
use std::path::Path;

/// The rows of the file; of those that fit a case, the last one counts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerances {
    tolerance: Vec<Tolerance>,
    /// What is known not to agree, and stays marked as that.
    #[serde(default)]
    outside: Vec<Outside>,
}

/// Cases whose measures are known to be out of their tolerance.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Outside {
    /// Their names.
    cases: Vec<String>,
    measures: Vec<Measure>,
    /// For people: as far as it is known.
    reason: String,
}

/// What is let pass, and why.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    measures: Vec<Measure>,
    /// All workloads if empty; and so on.
    #[serde(default)]
    workloads: Vec<String>,
    #[serde(default)]
    policies: Vec<String>,
    #[serde(default)]
    cpus: Vec<u32>,
    /// In the unit of the measure: parts of the machine, switches, nanoseconds.
    absolute: f64,
    /// In parts of the kernel's value.
    #[serde(default)]
    relative: f64,
    /// For people.
    pub reason: String,
}

impl Tolerances {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Tolerances> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let read: Tolerances = toml::from_str(&text).with_context(|| path.display().to_string())?;
        let reasons = read.tolerance.iter().map(|row| (&row.measures, &row.reason));
        let all = reasons.chain(read.outside.iter().map(|row| (&row.measures, &row.reason)));
        match all.clone().find(|(_, reason)| reason.trim().is_empty()) {
            Some((measures, _)) => bail!("{}: {measures:?} has no reason", path.display()),
            None => Ok(read),
        }
    }

    /// Whether a measure of a case is known to be out of its tolerance.
    pub fn is_known(&self, case: &Case, measure: Measure) -> bool {
        let name = case.name();
        self.outside.iter().any(|row| row.measures.contains(&measure) && row.cases.contains(&name))
    }

    /// Cases that the file calls known and that do not exist, if any.
    pub fn stranger<'a>(&'a self, cases: &[Case]) -> Option<&'a str> {
        let known = self.outside.iter().flat_map(|row| &row.cases);
        known.map(String::as_str).find(|name| !cases.iter().any(|case| case.name() == *name))
    }

    /// What applies to a measure of a case; `None`: nothing does, which is an error of the file.
    pub fn of(&self, case: &Case, measure: Measure) -> Option<&Tolerance> {
        self.tolerance.iter().rev().find(|row| row.fits(case, measure))
    }
}

impl Tolerance {
    fn fits(&self, case: &Case, measure: Measure) -> bool {
        let any = |list: &[String], name: &String| list.is_empty() || list.contains(name);
        self.measures.contains(&measure)
            && any(&self.workloads, &case.workload)
            && any(&self.policies, &case.policy)
            && (self.cpus.is_empty() || self.cpus.contains(&case.cpus))
    }

    /// How much of what is let pass the kernel is outside of what the machine could have given:
    /// it is near enough up to 1.
    pub fn used(&self, pair: Pair) -> f64 {
        match self.absolute.max(self.relative * pair.kernel.abs()) {
            _ if pair.outside() == 0.0 => 0.0,
            limit => pair.outside() / limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(workload: &str, cpus: u32) -> Case {
        Case {
            workload: workload.into(),
            policy: "rr".into(),
            set: vec![],
            cpus,
            topology: String::new(),
            duration_ns: 1,
            timings: 1,
            picks: None,
            own_set: false,
            quick: false,
            kernel: Default::default(),
        }
    }

    fn within(absolute: f64, relative: f64) -> Tolerance {
        Tolerance {
            measures: vec![],
            workloads: vec![],
            policies: vec![],
            cpus: vec![],
            absolute,
            relative,
            reason: String::new(),
        }
    }

    #[test]
    fn the_last_row_that_fits_counts() {
        let text = r#"
            [[tolerance]]
            measures = ["share", "switches"]
            absolute = 0.01
            reason = "all"
            [[tolerance]]
            measures = ["share"]
            workloads = ["hogs"]
            cpus = [2]
            absolute = 0.5
            reason = "some""#;
        let tolerances: Tolerances = toml::from_str(text).unwrap();
        let reason = |case: &Case, measure| tolerances.of(case, measure).map(|t| t.reason.as_str());
        assert_eq!(reason(&case("hogs", 2), Measure::Share), Some("some"));
        assert_eq!(reason(&case("hogs", 1), Measure::Share), Some("all"));
        assert_eq!(reason(&case("hogs", 2), Measure::Switches), Some("all"));
        assert_eq!(reason(&case("hogs", 2), Measure::RunDelay), None);
    }

    #[test]
    fn an_error_passes_by_either_bound() {
        let row = within(5.0, 0.1);
        let used = |row: &Tolerance, simulator, kernel| {
            row.used(Pair { simulator, kernel, least: simulator, most: simulator, interval: None })
        };
        assert_eq!(used(&row, 6.0, 1.0), 1.0);
        assert_eq!(used(&row, 109.0, 100.0), 0.9);
        assert_eq!(used(&row, 89.0, 100.0), 1.1);
        let exact = Tolerance { absolute: 0.0, relative: 0.0, ..row };
        assert_eq!(used(&exact, 5.0, 5.0), 0.0);
        assert_eq!(used(&exact, 5.0, 6.0), f64::INFINITY);
    }

    #[test]
    fn what_is_known_not_to_agree_is_so_for_its_cases_and_measures_only() {
        let text = r#"
            tolerance = []
            [[outside]]
            cases = ["hogs/rr/2"]
            measures = ["switches"]
            reason = "some""#;
        let tolerances: Tolerances = toml::from_str(text).unwrap();
        assert!(tolerances.is_known(&case("hogs", 2), Measure::Switches));
        assert!(!tolerances.is_known(&case("hogs", 2), Measure::Share));
        assert!(!tolerances.is_known(&case("hogs", 4), Measure::Switches));
        assert_eq!(tolerances.stranger(&[case("hogs", 2)]), None);
        assert_eq!(tolerances.stranger(&[case("hogs", 4)]), Some("hogs/rr/2"));
    }

    #[test]
    fn of_means_the_difference_counts_beyond_its_interval() {
        let row = within(5.0, 0.0);
        let used = |kernel| {
            row.used(Pair { simulator: 30.0, kernel, least: 0.0, most: 60.0, interval: Some(4.0) })
        };
        // 9 apart, of which 4 may be chance; 5 pass. However far the single runs are apart.
        assert_eq!((used(33.0), used(39.0), used(19.0)), (0.0, 1.0, 1.4));
    }

    #[test]
    fn within_what_the_machine_could_have_given_there_is_no_error() {
        let row = within(5.0, 0.0);
        let (least, most) = (20.0, 60.0);
        let used = |kernel| row.used(Pair { simulator: 30.0, kernel, least, most, interval: None });
        assert_eq!((used(20.0), used(45.0), used(60.0)), (0.0, 0.0, 0.0));
        // 4 below the least, and 10 above the most; 5 pass.
        assert_eq!((used(16.0), used(70.0)), (0.8, 2.0));
    }
}
