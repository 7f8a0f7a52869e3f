// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds for every policy whatever happens from outside, tried with random scripts of events:
//! affinity, nice values, cgroups with their files, signals, CPUs that go offline, schedulers that
//! come and go. The machine audits its own books at each instant (`Config::audit`).

use crate::common::hosted::{linked, Hosted};
use crate::common::plan::{cases, plan, Plan};
use crate::common::script::{is_refusal, lawful, script, scripted, without_hotplug};
use crate::common::Tape;
use proptest::prelude::*;
use rota_machine::exit::ExitKind;
use rota_machine::run::Outcome;
use rota_sim::{SimError, Simulation};
use std::sync::Arc;

const MS: u64 = 1_000_000;
const RUN_NS: u64 = 60 * MS;

/// A policy with settings.
type Subject = (&'static str, &'static [(&'static str, &'static str)]);

/// Settings with which a policy heeds groups.
const OF_GROUPS: [Subject; 2] =
    [("cfs", &[("cgroups", "true")]), ("pfs", &[("scope", "queue"), ("by", "cgroup")])];

fn policies() -> impl Iterator<Item = Subject> {
    let none: &[(&str, &str)] = &[];
    rota_catalog::policies().iter().map(move |p| (p.name, none)).chain(OF_GROUPS)
}

/// The run, unless the load asks for what a kernel refuses; tasks have run where they may.
fn outcome_of(policy: Subject, plan: &Plan, load: &str) -> Result<Option<Outcome>, String> {
    let mut tape = Tape::default();
    let mut hosted = Hosted::new(policy.0, policy.1, plan.config(RUN_NS), load);
    let outcome = match hosted.try_run_into(&mut tape) {
        Ok(outcome) => outcome,
        Err(error) if is_refusal(&error) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    lawful(plan, &tape.0, RUN_NS)?;
    Ok(Some(outcome))
}

/// With `eevdf` as the fair class and a policy that comes, goes, and comes again.
fn with_fair(name: &str, plan: &Plan, load: &str, partial: bool) -> Result<(), String> {
    let mut policy = linked(name);
    if partial {
        policy.make_partial().map_err(|error| error.to_string())?;
    }
    let workload = Arc::new(rota_workload::parse("random.json", load).unwrap());
    let mut config = plan.config(RUN_NS);
    config.lifecycle = vec![(RUN_NS / 6, true), (RUN_NS / 2, false), (RUN_NS / 4 * 3, true)];
    let fair = linked("eevdf");
    let simulation = Simulation::new(&policy, &workload, config).with_fair(&fair);
    let mut tape = Tape::default();
    match simulation.load().and_then(|mut loaded| loaded.run(&mut tape)) {
        Ok(outcome) if outcome.exit.kind.is_error() => return Err(outcome.exit.to_string()),
        Ok(_) => {}
        Err(SimError::Run(error)) if is_refusal(&error) => return Ok(()),
        Err(error) => return Err(error.to_string()),
    }
    lawful(plan, &tape.0, RUN_NS)
}

fn failed(what: String, policy: &str, load: &str) -> TestCaseError {
    TestCaseError::fail(format!("{policy}: {what}\n{load}"))
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn no_policy_is_ejected_whatever_happens(
        plan in plan(),
        script in script(RUN_NS / 1000),
    ) {
        let load = scripted(&plan, &without_hotplug(&script));
        for policy in policies() {
            let name = format!("{policy:?}");
            let outcome = outcome_of(policy, &plan, &load).map_err(|e| failed(e, &name, &load))?;
            if let Some(Outcome { exit, .. }) = outcome.filter(|o| o.exit.kind != ExitKind::Unreg) {
                return Err(failed(format!("ejected: {exit}"), &name, &load));
            }
        }
    }

    /// They have no callbacks for it and leave, as the kernel has it (`handle_hotplug()`).
    #[test]
    fn policies_leave_for_hotplug_only(plan in plan(), script in script(RUN_NS / 1000)) {
        let load = scripted(&plan, &script);
        for policy in policies() {
            let name = format!("{policy:?}");
            let outcome = outcome_of(policy, &plan, &load).map_err(|e| failed(e, &name, &load))?;
            let Some(Outcome { exit, .. }) = outcome else { continue };
            let of_hotplug = exit.kind == ExitKind::UnregKern && exit.message.contains("exiting scheduler");
            if exit.kind != ExitKind::Unreg && !of_hotplug {
                return Err(failed(format!("ejected: {exit}"), &name, &load));
            }
        }
    }

    #[test]
    fn eevdf_is_a_fair_class_whatever_happens(
        plan in plan(),
        script in script(RUN_NS / 1000),
        which in 0..1000usize,
        partial in any::<bool>(),
    ) {
        let all = rota_catalog::policies();
        let name = all[which % all.len()].name;
        let load = scripted(&plan, &script);
        with_fair(name, &plan, &load, partial).map_err(|e| failed(e, name, &load))?;
    }
}
