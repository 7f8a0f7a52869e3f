// SPDX-License-Identifier: MIT OR Apache-2.0
//! From scenarios to machines to boot: jobs that can share a machine do.

use crate::guest::Guest;
use crate::kernel::Role;
use crate::qemu::Pace;
use crate::scenario::{Kind, Policies, Scenario};
use anyhow::{bail, Result};
use rota_guest::job::Job;
use std::collections::BTreeMap;

/// One machine, and what is to be done in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Boot {
    /// Its kernel.
    pub kernel: Role,
    /// Its CPUs.
    pub cpus: u32,
    /// What it boots into.
    pub guest: Guest,
    /// Its clock.
    pub pace: Pace,
    /// The policy of all its jobs, if they have one.
    pub policy: Option<String>,
    /// In this order.
    pub jobs: Vec<Job>,
}

impl Boot {
    /// For people, and as a folder's name.
    pub fn name(&self) -> String {
        let policy = self.policy.as_deref().unwrap_or("none");
        let pace = if self.pace == Pace::Free { "-free" } else { "" };
        let guest = if self.guest == Guest::Systemd { "-systemd" } else { "" };
        format!("{}-{}cpu{guest}{pace}-{policy}", self.kernel.name(), self.cpus)
    }
}

/// A policy that ships.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// As `rota run` takes it.
    pub name: String,
    /// It lets tasks have shares.
    pub has_shares: bool,
}

/// One machine for each policy on each kernel, number of CPUs and clock: if a policy takes the
/// machine down, the others still have theirs.
pub fn plan(scenarios: &[Scenario], policies: &[Policy]) -> Result<Vec<Boot>> {
    let mut boots: BTreeMap<_, Vec<Job>> = BTreeMap::new();
    for scenario in scenarios {
        let chosen = chosen(scenario, policies)?;
        for (kernel, cpus) in
            scenario.kernels.iter().flat_map(|k| scenario.cpus.iter().map(move |c| (*k, *c)))
        {
            for policy in &chosen {
                let key = (kernel, cpus, scenario.guest, scenario.pace, policy.clone());
                boots.entry(key).or_default().push(job(scenario, policy.as_deref()));
            }
        }
    }
    let boot = |((kernel, cpus, guest, pace, policy), jobs)| Boot {
        kernel,
        cpus,
        guest,
        pace,
        policy,
        jobs,
    };
    Ok(boots.into_iter().map(boot).collect())
}

fn chosen(scenario: &Scenario, policies: &[Policy]) -> Result<Vec<Option<String>>> {
    let known = |name: &String| policies.iter().any(|policy| policy.name == *name);
    let named = match &scenario.policies {
        Policies::Named(names) => names.as_slice(),
        Policies::Kind(_) => &[],
    };
    if let Some(name) = named.iter().chain(scenario.set.keys()).find(|name| !known(name)) {
        let known: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
        bail!(
            "{}.toml: there is no policy '{name}'; known are {}",
            scenario.name,
            known.join(", ")
        );
    }
    let all = policies.iter();
    Ok(match &scenario.policies {
        Policies::Named(names) => names.iter().cloned().map(Some).collect(),
        Policies::Kind(Kind::None) => vec![None],
        Policies::Kind(Kind::All) => all.map(|policy| Some(policy.name.clone())).collect(),
        Policies::Kind(Kind::Shares) => {
            all.filter(|policy| policy.has_shares).map(|p| Some(p.name.clone())).collect()
        }
    })
}

fn job(scenario: &Scenario, policy: Option<&str>) -> Job {
    let set = policy.and_then(|policy| scenario.set.get(policy));
    Job {
        name: match policy {
            Some(policy) => format!("{}/{policy}", scenario.name),
            None => scenario.name.clone(),
        },
        policy: policy.map(str::to_owned),
        set: set.cloned().unwrap_or_default(),
        steps: scenario.steps.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;

    fn policies() -> Vec<Policy> {
        let policy = |name: &str, has_shares| Policy { name: name.into(), has_shares };
        vec![policy("fifo", false), policy("wfq", true), policy("wrr", true)]
    }

    fn scenario(name: &str, head: &str) -> Scenario {
        let text = format!("about = \"\"\n{head}\n[[step]]\ndo = \"load\"\n");
        parse(name, &text).unwrap()
    }

    #[test]
    fn jobs_of_one_policy_share_a_machine_of_each_size() {
        let scenarios = [
            scenario("a", "policies = \"all\"\ncpus = [1, 2]"),
            scenario("b", "policies = \"shares\"\ncpus = [2]\nset.wrr = [\"quantum_ns=1ms\"]"),
        ];
        let boots = plan(&scenarios, &policies()).unwrap();
        assert_eq!(boots.len(), 6);
        let wrr = boots.iter().find(|b| b.cpus == 2 && b.policy.as_deref() == Some("wrr")).unwrap();
        let jobs: Vec<&str> = wrr.jobs.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(jobs, ["a/wrr", "b/wrr"]);
        assert_eq!(wrr.jobs[1].set, ["quantum_ns=1ms"]);
        assert!(wrr.jobs[0].set.is_empty());
    }

    #[test]
    fn clocks_kernels_and_guests_are_not_mixed() {
        let scenarios = [
            scenario("a", "policies = \"none\"\ncpus = [4]"),
            scenario("b", "policies = \"none\"\ncpus = [4]\npace = \"free\""),
            scenario("c", "policies = \"none\"\ncpus = [4]\nkernels = [\"older\"]"),
            scenario("d", "policies = \"none\"\ncpus = [4]\nguest = \"systemd\""),
        ];
        let names: Vec<String> =
            plan(&scenarios, &policies()).unwrap().iter().map(Boot::name).collect();
        assert_eq!(
            names,
            [
                "newest-4cpu-none",
                "newest-4cpu-free-none",
                "newest-4cpu-systemd-none",
                "older-4cpu-none"
            ]
        );
    }

    #[test]
    fn a_policy_that_does_not_ship_is_an_error() {
        let named = scenario("a", "policies = [\"cfs\"]\ncpus = [1]");
        let error = plan(&[named], &policies()).unwrap_err().to_string();
        assert_eq!(error, "a.toml: there is no policy 'cfs'; known are fifo, wfq, wrr");
        let set = scenario("a", "policies = \"all\"\ncpus = [1]\nset.cfs = []");
        assert!(plan(&[set], &policies()).is_err());
    }
}
