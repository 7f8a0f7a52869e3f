// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random legal workloads under policies that ship. Bytes only choose: `docs/fuzzing.md` says how to
//! see the workload.
#![no_main]

mod legal;
mod simulation;

use legal::Legal;
use libfuzzer_sys::fuzz_target;
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_machine::kernel::Kernel;
use rota_machine::run::RunError;
use rota_machine::topology::Topology;
use rota_sim::{Policy, SimError};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

fn linked(shipped: &rota_catalog::Policy, hz: u32) -> Policy {
    thread_local! {
        static LINKED: RefCell<HashMap<(&'static str, u32), Policy>> = RefCell::default();
    }
    LINKED.with_borrow_mut(|linked| {
        let kernel = Kernel::default().with_hz(hz);
        let link = || Policy::link(shipped.name, shipped.object, &kernel).expect("linked");
        linked.entry((shipped.name, hz)).or_insert_with(link).clone()
    })
}

fuzz_target!(|legal: Legal| {
    let workload = match rota_workload::parse("legal.json", &legal.text) {
        Ok(workload) => Arc::new(workload),
        Err(error) => panic!("{error}\n{legal:?}"),
    };
    let Legal { cpus, smt, hz, seed, ideal, shuffle_ties, duration_ns, .. } = legal;
    let topology = Topology::new(cpus, smt, cpus, cpus).expect("a machine");
    for policy in &legal.policies {
        let mut config = Config::new(topology.clone(), duration_ns);
        if ideal {
            config = config.ideal();
        }
        // It takes time for each task at each instant: minutes for thousands of forks.
        config.audit = !legal.text.contains("\"fork");
        (config.hz, config.seed, config.shuffle_ties) = (hz, seed, shuffle_ties);
        match simulation::run(&linked(policy, hz), config, &workload) {
            // What documents say of workloads that cannot go on: too many forks, say.
            Err(SimError::Run(RunError::Task { .. } | RunError::Stuck(_))) => {}
            // The machine is at fault, or the policy.
            Err(error) => panic!("{}: {error}\n{legal:?}", policy.name),
            Ok(outcome) => {
                // policies have no callbacks for CPUs that come and go, and leave
                let hotplug =
                    outcome.exit.kind == ExitKind::UnregKern && legal.text.contains("\"online\"");
                assert!(
                    outcome.exit.kind == ExitKind::Unreg || hotplug,
                    "{} was ejected: {}\n{legal:?}",
                    policy.name,
                    outcome.exit
                );
            }
        }
    }
});
