// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scenario files. `docs/vm-tests.md` explains them to those who write them.

use crate::guest::Guest;
use crate::kernel::Role;
use crate::qemu::Pace;
use anyhow::{bail, Context, Result};
use rota_guest::step::Step;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// One scenario: what must hold, where, and how to find out.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The file's name without `.toml`.
    pub name: String,
    /// What must hold, in a sentence.
    pub about: String,
    /// For which policies.
    pub policies: Policies,
    /// On machines with so many CPUs.
    pub cpus: Vec<u32>,
    /// Where a policy, by its name, runs on others than those.
    pub cpus_of: BTreeMap<String, Vec<u32>>,
    /// On which kernels.
    pub kernels: Vec<Role>,
    /// On what machines.
    pub guest: Guest,
    /// On what clock.
    pub pace: Pace,
    /// Whether it is done where only a part is wanted.
    pub quick: bool,
    /// Tunables of policies, `name=value`, by the policy's name.
    pub set: BTreeMap<String, Vec<String>>,
    /// Whether it is done with each choice that a policy leaves, instead of with its defaults.
    pub each_choice: bool,
    /// More of these, `name=value`, by the policy's name.
    pub choices: BTreeMap<String, Vec<String>>,
    /// What to do.
    pub steps: Vec<Step>,
}

/// Which policies a scenario is for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Policies {
    /// `"all"`, `"shares"`, `"none"`.
    Kind(Kind),
    /// These.
    Named(Vec<String>),
}

/// Kinds of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Each that ships.
    All,
    /// Each that ships and has shares.
    Shares,
    /// The scenario is for no policy of its own and runs once.
    None,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    about: String,
    policies: toml::Value,
    cpus: Vec<u32>,
    #[serde(default)]
    cpus_of: BTreeMap<String, Vec<u32>>,
    #[serde(default = "newest")]
    kernels: Vec<Role>,
    #[serde(default = "bare")]
    guest: Guest,
    #[serde(default = "counted")]
    pace: Pace,
    #[serde(default = "yes")]
    quick: bool,
    #[serde(default)]
    set: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    each_choice: bool,
    #[serde(default)]
    choices: BTreeMap<String, Vec<String>>,
    step: Vec<toml::Value>,
}

fn newest() -> Vec<Role> {
    vec![Role::Newest]
}

fn bare() -> Guest {
    Guest::Bare
}

fn yes() -> bool {
    true
}

fn counted() -> Pace {
    Pace::Counted
}

/// Most CPUs that a test machine has: more would only take turns.
const MOST_CPUS: u32 = 16;

/// Reads all scenarios of a folder, by name.
pub fn read_all(dir: &Path) -> Result<Vec<Scenario>> {
    let mut scenarios = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let scenario = parse(&name.unwrap_or_default(), &text);
            scenarios.push(scenario.with_context(|| path.display().to_string())?);
        }
    }
    scenarios.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(scenarios)
}

/// Reads one scenario. Errors name the key, and the step it is in.
pub fn parse(name: &str, text: &str) -> Result<Scenario> {
    let file: File = toml::from_str(text)?;
    let steps = file.step.into_iter().enumerate().map(|(i, step)| read_step(step, i + 1));
    let scenario = Scenario {
        name: name.to_owned(),
        about: file.about,
        policies: policies(file.policies)?,
        cpus: file.cpus,
        cpus_of: file.cpus_of,
        kernels: file.kernels,
        guest: file.guest,
        pace: file.pace,
        quick: file.quick,
        set: file.set,
        each_choice: file.each_choice,
        choices: file.choices,
        steps: steps.collect::<Result<_>>()?,
    };
    check(&scenario)?;
    Ok(scenario)
}

fn policies(value: toml::Value) -> Result<Policies> {
    let found = value.as_str().map_or(value.type_str().to_owned(), |text| format!("\"{text}\""));
    value.try_into().map_err(|_| {
        anyhow::anyhow!(
            "policies: found {found}, expected \"all\", \"shares\", \"none\", or a list of names"
        )
    })
}

fn read_step(step: toml::Value, number: usize) -> Result<Step> {
    let does = step.get("do").and_then(|word| word.as_str()).unwrap_or("no 'do'").to_owned();
    step.try_into().map_err(|error: toml::de::Error| {
        anyhow::anyhow!("step {number} ({does}): {}", error.message())
    })
}

fn check(scenario: &Scenario) -> Result<()> {
    for (key, is_empty) in [
        ("cpus", scenario.cpus.is_empty()),
        ("kernels", scenario.kernels.is_empty()),
        ("step", scenario.steps.is_empty()),
        ("policies", scenario.policies == Policies::Named(Vec::new())),
    ] {
        if is_empty {
            bail!("'{key}' is empty: the scenario would never run");
        }
    }
    if !scenario.each_choice && !scenario.choices.is_empty() {
        bail!("'choices' without 'each_choice = true' would never be made");
    }
    let of_policies =
        scenario.cpus_of.iter().map(|(policy, cpus)| (format!("cpus_of.{policy}"), cpus));
    for (key, list) in std::iter::once(("cpus".to_owned(), &scenario.cpus)).chain(of_policies) {
        if let Some(cpus) = list.iter().find(|cpus| !(1..=MOST_CPUS).contains(*cpus)) {
            bail!("{key}: {cpus} is not between 1 and {MOST_CPUS}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rota_guest::step::Measure;

    const GOOD: &str = r#"
        about = "weights become shares"
        policies = "shares"
        cpus = [1, 2]
        set.wrr = ["quantum_ns=1ms"]
        [[step]]
        do = "hogs"
        tasks = { a = {}, b = { nice = 5, count = 2 } }
        [[step]]
        do = "repeat"
        times = 3
        [[step.step]]
        do = "measure"
        for = "5s"
        weights = { a = 100, b = 33 }
    "#;

    fn error(text: &str) -> String {
        format!("{:#}", parse("x", text).unwrap_err())
    }

    #[test]
    fn a_scenario_is_read_with_its_defaults() {
        let scenario = parse("weights", GOOD).unwrap();
        assert_eq!(scenario.policies, Policies::Kind(Kind::Shares));
        assert_eq!((scenario.kernels, scenario.pace), (vec![Role::Newest], Pace::Counted));
        let Step::Repeat { step, .. } = &scenario.steps[1] else { panic!("no repeat") };
        let Step::Measure(Measure { time, within, .. }) = &step[0] else { panic!("no measure") };
        assert_eq!((time.duration().as_secs(), *within), (5, 0.02));
    }

    #[test]
    fn unknown_keys_are_errors_that_name_key_and_step() {
        assert!(error(&GOOD.replace("cpus =", "cpu =")).contains("unknown field `cpu`"));
        let text = error(&GOOD.replace("nice = 5", "nize = 5"));
        assert!(text.contains("step 1 (hogs)") && text.contains("`nize`"), "{text}");
        let text = error(&GOOD.replace("for = \"5s\"", "four = \"5s\""));
        assert!(text.contains("step 2 (repeat)") && text.contains("`four`"), "{text}");
    }

    #[test]
    fn unknown_steps_times_and_policies_are_errors_that_name_them() {
        let text = error(&GOOD.replace("\"hogs\"", "\"hog\""));
        assert!(text.contains("step 1 (hog)") && text.contains("unknown variant `hog`"), "{text}");
        let text = error(&GOOD.replace("\"5s\"", "\"5 lightyears\""));
        assert!(text.contains("step 2") && text.contains("lightyears"), "{text}");
        let text = error(&GOOD.replace("\"shares\"", "\"most\""));
        assert!(text.contains("policies: found \"most\", expected \"all\""), "{text}");
    }

    #[test]
    fn a_scenario_that_never_runs_is_an_error() {
        assert!(error(&GOOD.replace("[1, 2]", "[]")).contains("'cpus' is empty"));
        assert!(error(&GOOD.replace("[1, 2]", "[0]")).contains("cpus: 0"));
        let of_policy = error(&GOOD.replace("set.wrr", "cpus_of.wfq = [17]\nset.wrr"));
        assert!(of_policy.contains("cpus_of.wfq: 17 is not between 1 and 16"), "{of_policy}");
        assert!(error(&GOOD.replace("\"shares\"", "[]")).contains("'policies' is empty"));
        let choices = error(&GOOD.replace("set.wrr", "choices.wrr"));
        assert!(choices.contains("'choices' without 'each_choice = true'"), "{choices}");
    }

    #[test]
    fn steps_survive_the_way_into_the_guest() {
        let steps = parse("x", GOOD).unwrap().steps;
        let text = serde_json::to_string(&steps).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Step>>(&text).unwrap(), steps);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "[a-z\\[\\]=\"{}0-9. \n]{0,120}") {
            let _ = parse("x", &text);
            let _ = parse("x", &format!("{GOOD}\n{text}"));
        }
    }
}
