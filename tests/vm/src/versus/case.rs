// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is compared: `cases.toml`, `fair-cases.toml` and `program-cases.toml` in `tests/vm/versus`.

use anyhow::{bail, Context, Result};
use rota_guest::span::Span;
use rota_machine::topology::Topology;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// More would be a machine that is up for hours.
const MOST_TIMINGS: u32 = 100;

/// One run in both hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Name of the workload file, without `.json`.
    pub workload: String,
    /// A policy that ships, or a scheduler's own program.
    pub policy: String,
    /// Tunables, `name=value`; of a program, its arguments.
    pub set: Vec<String>,
    /// CPUs of the machine.
    pub cpus: u32,
    /// What they share, as `rota sim --topology` takes it; empty: they are all alike.
    pub topology: String,
    /// Its length.
    pub duration_ns: u64,
    /// How often it is recorded, each time with another timing: with more than one, means of the
    /// two hosts are compared.
    pub timings: u32,
    /// The picks must be the same, at least so many.
    pub picks: Option<usize>,
    /// The row sets other tunables than the policy has elsewhere.
    pub own_set: bool,
    /// Among those of `--quick`.
    pub quick: bool,
    /// Who schedules it in the kernel.
    pub kernel: Scheduler,
}

/// What schedules the workload in the kernel. In the simulated machine it is always the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// The policy, loaded there too.
    #[default]
    Policy,
    /// The kernel's own fair class, EEVDF.
    Fair,
    /// The policy has the tasks of `SCHED_EXT`, and the fair class, above it, the others. In the
    /// simulated machine the policy `eevdf` is the fair class.
    Partial,
    /// The scheduler's own program, which loads it and has its part in what it does. In the simulated
    /// machine the same program does so.
    Program,
}

impl Case {
    /// `hogs/wfq/2`, or `hogs/wrr/2/quantum_ns=10ms`; `hogs/eevdf/2/fair` against the fair class,
    /// and `hogs/eevdf/4,smt=2/fair` where cores have two CPUs.
    pub fn name(&self) -> String {
        let mut name = format!("{}/{}/{}", self.workload, self.policy, self.machine());
        match self.kernel {
            Scheduler::Policy => {}
            Scheduler::Fair => name += "/fair",
            Scheduler::Partial => name += "/partial",
            Scheduler::Program => name += "/program",
        }
        if self.own_set && self.picks.is_none() {
            return format!("{name}/{}", self.set.join(","));
        }
        name
    }

    /// Number of CPUs, and what they share.
    pub fn machine(&self) -> String {
        match &*self.topology {
            "" => self.cpus.to_string(),
            shared => format!("{},{shared}", self.cpus),
        }
    }

    /// How its CPUs are arranged, in both hosts.
    pub fn arranged(&self) -> Result<Topology> {
        let cpus = Topology::parse(self.cpus, &self.topology)?;
        if cpus.nodes() > 1 {
            bail!("machines with several nodes are not booted");
        }
        Ok(cpus)
    }

    /// CPUs of a core, if it is compared whether two tasks share one although another is idle.
    pub fn core(&self) -> Option<u32> {
        let cpus = self.arranged().ok().filter(Topology::has_smt)?;
        Some(cpus.siblings(0).iter().count() as u32)
    }

    /// A scheduler's own program takes part.
    pub fn has_program(&self) -> bool {
        self.kernel == Scheduler::Program
    }

    /// In the kernel the fair class has some of the tasks, or all.
    pub fn has_fair(&self) -> bool {
        matches!(self.kernel, Scheduler::Fair | Scheduler::Partial)
    }

    /// In the kernel the fair class schedules it.
    pub fn is_fair(&self) -> bool {
        self.kernel == Scheduler::Fair
    }
}

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    /// Who schedules all of them in the kernel.
    #[serde(default)]
    kernel: Scheduler,
    /// Tunables of policies, wherever a row does not set any.
    #[serde(default)]
    set: BTreeMap<String, Vec<String>>,
    /// Names of the cases that `--quick` has.
    #[serde(default)]
    quick: Vec<String>,
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
    #[serde(default)]
    topology: String,
    /// In place of the file's.
    kernel: Option<Scheduler>,
    #[serde(rename = "for")]
    time: Span,
    #[serde(default = "once")]
    timings: u32,
    /// All that there are if empty.
    #[serde(default)]
    policies: Vec<String>,
    #[serde(default)]
    set: Vec<String>,
}

fn once() -> u32 {
    1
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

pub(super) fn parse(text: &str, policies: &[&str]) -> Result<Vec<Case>> {
    let file: Cases = toml::from_str(text)?;
    let in_rows = file.sequence.iter().flat_map(|row| &row.policies);
    let in_matrix = file.matrix.iter().flat_map(|row| &row.policies);
    let named = in_rows.chain(in_matrix).chain(file.set.keys());
    if let Some(stranger) = named.clone().find(|name| !policies.contains(&name.as_str())) {
        bail!("there is no policy '{stranger}'; known are {}", policies.join(", "));
    }
    let mut cases = Vec::new();
    for row in &file.matrix {
        if !(1..=MOST_TIMINGS).contains(&row.timings) {
            let timings = row.timings;
            bail!("{}: timings = {timings}: expected 1 to {MOST_TIMINGS}", row.workload);
        }
        let of_row: Vec<&str> = match row.policies.is_empty() {
            true => policies.to_vec(),
            false => row.policies.iter().map(String::as_str).collect(),
        };
        for cpus in &row.cpus {
            for policy in &of_row {
                let mut case = file.case(&row.workload, policy, row.time, &row.set);
                case.cpus = *cpus;
                case.topology.clone_from(&row.topology);
                case.arranged().with_context(|| case.name())?;
                case.timings = row.timings;
                case.kernel = row.kernel.unwrap_or(case.kernel);
                case.quick = file.quick.contains(&case.name());
                cases.push(case);
            }
        }
    }
    for row in &file.sequence {
        for policy in &row.policies {
            let case = file.case(&row.workload, policy, row.time, &row.set);
            let mut case = Case { picks: Some(row.picks), ..case };
            case.quick = file.quick.contains(&case.name());
            cases.push(case);
        }
    }
    match file.quick.iter().find(|name| !cases.iter().any(|case| case.name() == **name)) {
        Some(stranger) => bail!("quick: there is no case '{stranger}'"),
        None => Ok(cases),
    }
}

impl Cases {
    /// A case on one CPU.
    fn case(&self, workload: &str, policy: &str, time: Span, set: &[String]) -> Case {
        let usual = || self.set.get(policy).cloned().unwrap_or_default();
        Case {
            workload: workload.to_owned(),
            policy: policy.to_owned(),
            set: if set.is_empty() { usual() } else { set.to_vec() },
            cpus: 1,
            topology: String::new(),
            duration_ns: time.duration().as_nanos() as u64,
            timings: 1,
            picks: None,
            own_set: !set.is_empty(),
            quick: false,
            kernel: self.kernel,
        }
    }
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
    fn a_row_of_its_own_has_a_name_of_its_own_and_can_be_quick() {
        let row = r#"
            quick = ["hogs/rr/2/quantum_ns=9ms"]
            [[matrix]]
            workload = "hogs"
            policies = ["rr"]
            set = ["quantum_ns=9ms"]
            cpus = [2]
            for = "2s""#;
        let cases = parse(row, &["fifo", "rr"]).unwrap();
        assert_eq!(cases.len(), 1);
        assert!(cases[0].quick);
        let error = parse(&row.replace("quick = [\"hogs", "quick = [\"hog"), &["rr"]).unwrap_err();
        assert_eq!(error.to_string(), "quick: there is no case 'hog/rr/2/quantum_ns=9ms'");
    }

    #[test]
    fn picks_are_compared_in_the_quick_form_only_where_it_says_so() {
        let named = format!("quick = [\"hogs/rr/4\", \"ties/fifo/1\"]\n{TEXT}");
        let quick = |text: &str| {
            let cases = parse(text, &["fifo", "rr"]).unwrap();
            cases.iter().filter(|case| case.quick).map(Case::name).collect::<Vec<_>>()
        };
        assert_eq!(quick(TEXT), [""; 0]);
        assert_eq!(quick(&named), ["hogs/rr/4", "ties/fifo/1"]);
    }

    #[test]
    fn the_fair_class_has_names_of_its_own() {
        let cases = parse(&format!("kernel = \"fair\"\n{TEXT}"), &["fifo", "rr"]).unwrap();
        assert_eq!(cases[1].name(), "hogs/rr/1/fair");
        assert!(cases.iter().all(Case::is_fair));
        assert!(!parse(TEXT, &["fifo", "rr"]).unwrap()[0].is_fair());
    }

    #[test]
    fn a_row_says_who_schedules_it_in_the_kernel() {
        let row = TEXT.replace("for = \"2s\"", "for = \"2s\"\nkernel = \"partial\"");
        let cases = parse(&row, &["fifo", "rr"]).unwrap();
        assert_eq!(cases[1].name(), "hogs/rr/1/partial");
        assert_eq!((cases[1].kernel, cases[1].is_fair()), (Scheduler::Partial, false));
    }

    #[test]
    fn a_row_of_a_program_has_its_arguments() {
        let text = TEXT.replace(
            "for = \"2s\"",
            "for = \"2s\"\nkernel = \"program\"\nset = [\"-s\", \"5000\"]",
        );
        let cases = parse(&text, &["fifo", "rr"]).unwrap();
        assert_eq!(cases[0].name(), "hogs/fifo/1/program/-s,5000");
        assert!(cases[0].has_program() && !cases[0].has_fair());
    }

    #[test]
    fn a_row_says_how_often_it_is_recorded() {
        let rows = |times: &str| TEXT.replace("for = \"2s\"", &format!("for = \"2s\"\n{times}"));
        let cases = parse(&rows("timings = 5"), &["fifo", "rr"]).unwrap();
        assert_eq!(cases.iter().map(|case| case.timings).collect::<Vec<_>>(), [5, 5, 5, 5, 1]);
        let error = parse(&rows("timings = 0"), &["fifo", "rr"]).unwrap_err().to_string();
        assert_eq!(error, "hogs: timings = 0: expected 1 to 100");
    }

    #[test]
    fn a_row_says_what_its_cpus_share() {
        let text = |shared: &str| {
            TEXT.replace("cpus = [1, 4]", &format!("cpus = [4]\ntopology = \"{shared}\""))
        };
        let cases = parse(&text("smt=2"), &["fifo", "rr"]).unwrap();
        assert_eq!(cases[1].name(), "hogs/rr/4,smt=2");
        let siblings: Vec<u32> = cases[1].arranged().unwrap().siblings(3).iter().collect();
        assert_eq!(siblings, [2, 3]);
        let error = format!("{:#}", parse(&text("smt=3"), &["fifo", "rr"]).unwrap_err());
        assert!(error.starts_with("hogs/fifo/4,smt=3: topology: smt=3 does not divide"), "{error}");
    }

    #[test]
    fn a_policy_that_does_not_ship_is_an_error() {
        let error = parse(TEXT, &["rr"]).unwrap_err().to_string();
        assert_eq!(error, "there is no policy 'fifo'; known are rr");
    }
}
