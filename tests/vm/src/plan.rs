// SPDX-License-Identifier: MIT OR Apache-2.0
//! From scenarios to machines to boot: jobs that can share a machine do.

use crate::estimate;
use crate::guest::Guest;
use crate::kernel::Role;
use crate::qemu::Pace;
use crate::scenario::{Kind, Policies, Scenario};
use anyhow::{bail, Result};
use rota_guest::job::Job;
use std::collections::BTreeMap;
use std::time::Duration;

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
    /// Distinguishes machines of the same kind, from 1.
    pub part: usize,
    /// In this order.
    pub jobs: Vec<Job>,
}

impl Boot {
    /// For people, and as a folder's name.
    pub fn name(&self) -> String {
        let pace = if self.pace == Pace::Free { "-free" } else { "" };
        let guest = if self.guest == Guest::Systemd { "-systemd" } else { "" };
        format!("{}-{}cpu{guest}{pace}-{}", self.kernel.name(), self.cpus, self.part)
    }
}

/// A policy that ships.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// As `rota run` takes it.
    pub name: String,
    /// It lets tasks have shares.
    pub has_shares: bool,
    /// What can be chosen other than its defaults, each as `name=value`.
    pub choices: Vec<String>,
}

/// What of a plan is wanted; all if nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only jobs of this policy.
    pub policy: Option<String>,
    /// Only machines with so many CPUs.
    pub cpus: Option<u32>,
    /// Only machines with this kernel, by its role's name.
    pub kernel: Option<String>,
    /// A part that stands for the whole: short scenarios on a counted clock, each with each policy
    /// on one of its numbers of CPUs. They change from policy to policy and from scenario to scenario.
    pub quick: bool,
    /// At least so many machines of each kind, where there are jobs for them: what runs once leaves
    /// CPUs of the host idle in one.
    pub least: usize,
}

/// Guest time that a machine is given to do; a boot costs about two seconds of it. Both runs of
/// a machine on a counted clock are side by side, and busy two CPUs of the host however long they
/// are; those on the host's clock run once, and short ones fill the end.
fn most(pace: Pace) -> Duration {
    Duration::from_secs(if pace == Pace::Counted { 120 } else { 30 })
}

/// One machine, or more if there are many jobs, for each kernel, number of CPUs, guest and clock.
pub fn plan(scenarios: &[Scenario], policies: &[Policy], filter: &Filter) -> Result<Vec<Boot>> {
    let mut kinds: BTreeMap<_, Vec<Job>> = BTreeMap::new();
    for (i, scenario) in scenarios.iter().enumerate() {
        if filter.quick && (scenario.pace == Pace::Free || !scenario.quick) {
            continue;
        }
        for (j, policy) in chosen(scenario, policies)?.into_iter().enumerate() {
            let own = policy.as_ref().and_then(|policy| scenario.cpus_of.get(policy));
            let mut cpus = own.unwrap_or(&scenario.cpus).as_slice();
            if filter.quick && !cpus.is_empty() {
                cpus = &cpus[(i + j) % cpus.len()..][..1];
            }
            for (kernel, cpus) in
                scenario.kernels.iter().flat_map(|k| cpus.iter().map(move |c| (*k, *c)))
            {
                let kind = (kernel, cpus, scenario.guest, scenario.pace);
                let policy = policies.iter().find(|known| Some(&known.name) == policy.as_ref());
                kinds.entry(kind).or_default().extend(jobs_of(scenario, policy));
            }
        }
    }
    let mut boots = Vec::new();
    for ((kernel, cpus, guest, pace), mut jobs) in kinds {
        if filter.cpus.is_some_and(|wanted| wanted != cpus)
            || filter.kernel.as_ref().is_some_and(|wanted| wanted != kernel.name())
        {
            continue;
        }
        jobs.retain(|job| filter.policy.is_none() || job.policy == filter.policy);
        jobs.sort_by(|a, b| a.policy.cmp(&b.policy));
        let machines = spread(jobs, most(pace), filter.least).into_iter().enumerate();
        boots.extend(machines.map(|(i, jobs)| Boot {
            kernel,
            cpus,
            guest,
            pace,
            part: i + 1,
            jobs,
        }));
    }
    Ok(boots)
}

/// Cuts a list of jobs into parts that take about as long as each other, and hardly longer
/// than `most`: at least so many.
fn spread(jobs: Vec<Job>, most: Duration, least: usize) -> Vec<Vec<Job>> {
    let total = estimate::jobs(&jobs);
    let parts = total.as_nanos().div_ceil(most.as_nanos()).max(least as u128).max(1);
    let each = total / parts as u32;
    let mut machines: Vec<Vec<Job>> = Vec::new();
    let mut begun = Duration::ZERO; // of the jobs before
    for job in jobs {
        let took = estimate::job(&job);
        // Its middle decides where it belongs.
        if begun + took / 2 >= each * machines.len() as u32 {
            machines.push(Vec::new());
        }
        begun += took;
        if let Some(machine) = machines.last_mut() {
            machine.push(job);
        }
    }
    machines
}

fn chosen(scenario: &Scenario, policies: &[Policy]) -> Result<Vec<Option<String>>> {
    let known = |name: &String| policies.iter().any(|policy| policy.name == *name);
    let named = match &scenario.policies {
        Policies::Named(names) => names.as_slice(),
        Policies::Kind(_) => &[],
    };
    let keys = [scenario.set.keys(), scenario.choices.keys()];
    let mut said = named.iter().chain(keys.into_iter().flatten()).chain(scenario.cpus_of.keys());
    if let Some(name) = said.find(|name| !known(name)) {
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

/// One job; with `each_choice` one for each that the policy leaves.
fn jobs_of(scenario: &Scenario, policy: Option<&Policy>) -> Vec<Job> {
    let (Some(policy), true) = (policy, scenario.each_choice) else {
        return vec![job(scenario, policy, None)];
    };
    let more = scenario.choices.get(&policy.name).into_iter().flatten();
    let choices = policy.choices.iter().chain(more);
    choices.map(|choice| job(scenario, Some(policy), Some(choice))).collect()
}

fn job(scenario: &Scenario, policy: Option<&Policy>, choice: Option<&String>) -> Job {
    let of_policy = policy.map_or(String::new(), |policy| format!("/{}", policy.name));
    let chosen = choice.map_or(String::new(), |choice| format!(":{choice}"));
    let set = policy.and_then(|policy| scenario.set.get(&policy.name)).into_iter().flatten();
    Job {
        name: format!("{}{of_policy}{chosen}", scenario.name),
        policy: policy.map(|policy| policy.name.clone()),
        set: set.chain(choice).cloned().collect(),
        steps: scenario.steps.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;

    fn policies() -> Vec<Policy> {
        let policy = |name: &str, has_shares| {
            let choices = if name == "wfq" {
                vec!["tie=rr".into(), "no_keep_vft=true".into()]
            } else {
                vec![]
            };
            Policy { name: name.into(), has_shares, choices }
        };
        vec![policy("fifo", false), policy("wfq", true), policy("wrr", true)]
    }

    fn plan(scenarios: &[Scenario], policies: &[Policy]) -> Result<Vec<Boot>> {
        super::plan(scenarios, policies, &Filter::default())
    }

    fn scenario(name: &str, head: &str) -> Scenario {
        let text = format!("about = \"\"\n{head}\n[[step]]\ndo = \"load\"\n");
        parse(name, &text).unwrap()
    }

    fn job_names(boots: &[Boot], name: &str) -> Vec<String> {
        let boot = boots.iter().find(|boot| boot.name() == name).unwrap();
        boot.jobs.iter().map(|job| job.name.clone()).collect()
    }

    #[test]
    fn jobs_share_a_machine_of_their_size_policy_by_policy() {
        let scenarios = [
            scenario("a", "policies = \"all\"\ncpus = [1, 2]"),
            scenario("b", "policies = \"shares\"\ncpus = [2]\nset.wrr = [\"quantum_ns=1ms\"]"),
        ];
        let boots = plan(&scenarios, &policies()).unwrap();
        assert_eq!(job_names(&boots, "newest-1cpu-1"), ["a/fifo", "a/wfq", "a/wrr"]);
        let of_two = job_names(&boots, "newest-2cpu-1");
        assert_eq!(of_two, ["a/fifo", "a/wfq", "b/wfq", "a/wrr", "b/wrr"]);
        assert_eq!(boots[1].jobs[4].set, ["quantum_ns=1ms"]);
        assert!(boots[1].jobs[3].set.is_empty());
    }

    #[test]
    fn each_choice_of_a_policy_is_a_job_of_its_own_and_more_can_be_named() {
        let head = "policies = \"all\"\ncpus = [1]\neach_choice = true\nset.wfq = [\"a=1\"]\n\
            choices.wrr = [\"quantum_ns=1ms\"]";
        let boots = plan(&[scenario("a", head)], &policies()).unwrap();
        let jobs = &boots[0].jobs;
        let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(names, ["a/wfq:tie=rr", "a/wfq:no_keep_vft=true", "a/wrr:quantum_ns=1ms"]);
        assert_eq!(jobs[0].set, ["a=1", "tie=rr"]);
    }

    #[test]
    fn a_policy_can_have_cpus_of_its_own_or_none() {
        let head = "policies = \"all\"\ncpus = [1, 2]\ncpus_of = { wfq = [2], wrr = [] }";
        let boots = plan(&[scenario("a", head)], &policies()).unwrap();
        assert_eq!(job_names(&boots, "newest-1cpu-1"), ["a/fifo"]);
        assert_eq!(job_names(&boots, "newest-2cpu-1"), ["a/fifo", "a/wfq"]);
    }

    #[test]
    fn long_lists_are_spread_evenly_over_machines_and_no_job_is_lost() {
        let wait = |name: &str| {
            let head = "policies = \"none\"\ncpus = [1]";
            let text = format!("about = \"\"\n{head}\n[[step]]\ndo = \"wait\"\nfor = \"50s\"\n");
            parse(name, &text).unwrap()
        };
        let names: Vec<String> = (1..=6).map(|i| format!("s{i}")).collect();
        let scenarios: Vec<Scenario> = names.iter().map(|name| wait(name)).collect();
        // 300 s, of which a machine does 120.
        let boots = plan(&scenarios, &policies()).unwrap();
        let jobs: Vec<Vec<&str>> =
            boots.iter().map(|boot| boot.jobs.iter().map(|j| j.name.as_str()).collect()).collect();
        assert_eq!(jobs, [["s1", "s2"], ["s3", "s4"], ["s5", "s6"]]);
    }

    #[test]
    fn a_filter_leaves_what_fits_all_of_it() {
        let scenarios = [scenario("a", "policies = \"all\"\ncpus = [1, 2]")];
        let filter = Filter { policy: Some("wfq".into()), cpus: Some(2), ..Filter::default() };
        let boots = super::plan(&scenarios, &policies(), &filter).unwrap();
        assert_eq!(boots.len(), 1);
        assert_eq!(job_names(&boots, "newest-2cpu-1"), ["a/wfq"]);
        let other = Filter { kernel: Some("older".into()), ..Filter::default() };
        assert!(super::plan(&scenarios, &policies(), &other).unwrap().is_empty());
    }

    #[test]
    fn a_quick_plan_has_each_job_once_and_all_numbers_of_cpus() {
        let scenarios = [
            scenario("a", "policies = \"all\"\ncpus = [1, 2]\ncpus_of = { wrr = [] }"),
            scenario("b", "policies = \"shares\"\ncpus = [1, 2]"),
            scenario("c", "policies = \"all\"\ncpus = [2]\npace = \"free\""),
            scenario("d", "policies = \"all\"\ncpus = [1]\nquick = false"),
        ];
        let filter = Filter { quick: true, ..Filter::default() };
        let boots = super::plan(&scenarios, &policies(), &filter).unwrap();
        assert_eq!(
            boots.iter().map(Boot::name).collect::<Vec<_>>(),
            ["newest-1cpu-1", "newest-2cpu-1"]
        );
        assert_eq!(job_names(&boots, "newest-1cpu-1"), ["a/fifo", "b/wrr"]);
        assert_eq!(job_names(&boots, "newest-2cpu-1"), ["a/wfq", "b/wfq"]);
    }

    #[test]
    fn jobs_are_spread_over_at_least_so_many_machines() {
        let scenarios = [scenario("a", "policies = \"all\"\ncpus = [2]")];
        let machines = |least| {
            let filter = Filter { least, ..Filter::default() };
            super::plan(&scenarios, &policies(), &filter).unwrap().len()
        };
        let jobs = policies().len();
        assert_eq!([0, 1, 2, jobs + 1].map(machines), [1, 1, 2, jobs]);
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
            ["newest-4cpu-1", "newest-4cpu-free-1", "newest-4cpu-systemd-1", "older-4cpu-1"]
        );
    }

    #[test]
    fn a_policy_that_does_not_ship_is_an_error() {
        let named = scenario("a", "policies = [\"cfs\"]\ncpus = [1]");
        let error = plan(&[named], &policies()).unwrap_err().to_string();
        assert_eq!(error, "a.toml: there is no policy 'cfs'; known are fifo, wfq, wrr");
        for key in ["set", "cpus_of", "choices"] {
            let head =
                format!("policies = \"all\"\ncpus = [1]\neach_choice = true\n{key}.cfs = []");
            assert!(plan(&[scenario("a", &head)], &policies()).is_err(), "{key}");
        }
    }
}
