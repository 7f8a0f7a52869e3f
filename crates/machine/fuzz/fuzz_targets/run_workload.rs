// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random legal workloads under policies that ship. Bytes only choose: `docs/fuzzing.md` says how to
//! see the workload.
#![no_main]

mod legal;
mod simulation;

use legal::Legal;
use libfuzzer_sys::fuzz_target;
use rota_object::btf::reference;
use rota_object::image::Image;
use rota_object::link::{link, Object};
use rota_catalog::Policy;
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_machine::kfuncs::SimKernel;
use rota_machine::run::RunError;
use rota_machine::topology::Topology;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

fn image(policy: &Policy, hz: u32) -> Arc<Image> {
    thread_local! {
        static LINKED: RefCell<HashMap<(&'static str, u32), Arc<Image>>> = RefCell::default();
    }
    LINKED.with_borrow_mut(|linked| {
        let image = linked.entry((policy.name, hz)).or_insert_with(|| {
            let object = Object::parse(policy.name, policy.object).expect("an object");
            Arc::new(link(&object, &reference(), &SimKernel { hz }).expect("linked"))
        });
        Arc::clone(image)
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
        match simulation::run(image(policy, hz), config, &workload) {
            None => panic!("{} is not hosted", policy.name),
            // The machine is at fault, or the policy.
            Some(Err(error @ (RunError::Kernel(_) | RunError::Load(_)))) => {
                panic!("{}: {error}\n{legal:?}", policy.name)
            }
            // What documents say of workloads that cannot go on: too many forks, say.
            Some(Err(RunError::Task { .. } | RunError::Stuck(_))) => {}
            Some(Ok(outcome)) => {
                assert!(
                    outcome.exit.kind == ExitKind::Unreg,
                    "{} was ejected: {}\n{legal:?}",
                    policy.name,
                    outcome.exit
                );
            }
        }
    }
});
