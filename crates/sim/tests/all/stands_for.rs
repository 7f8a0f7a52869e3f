// SPDX-License-Identifier: MIT OR Apache-2.0
//! Policies that stand for a class of the kernel itself.

use rota_machine::config::{Config, Costs};
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_sim::{stands_for, Policy, Simulation, Watchers};
use std::sync::Arc;

fn policy(name: &str) -> Policy {
    let object = rota_catalog::find(name).expect("ships").object;
    Policy::link(name, object, &Kernel::default()).expect("links")
}

/// What two tasks that wake each other on one CPU had, where each instruction takes so long.
fn tasks(policy: &Policy, insn_ps: u64, as_program: bool) -> String {
    let text = r#"{"tasks": {"ping": {"run": 100, "sem_post": "b", "sem_wait": "a"},
        "pong": {"sem_wait": "b", "run": 100, "sem_post": "a"}}}"#;
    let workload = Arc::new(rota_workload::parse("load.json", text).expect("is one"));
    let mut config = Config::new(Topology::flat(1).expect("one CPU"), 20_000_000);
    config.costs = Costs { insn_ps, ..Costs::typical() };
    let mut simulation = Simulation::new(policy, &workload, config);
    if as_program {
        simulation = simulation.as_program();
    }
    let measured = simulation.measure(Watchers::default()).expect("runs");
    format!("{:?}", measured.numbers.tasks)
}

#[test]
fn instructions_take_time_only_where_the_policy_runs_as_a_program() {
    let eevdf = policy("eevdf");
    assert_eq!(stands_for(eevdf.image()), Some("Linux's fair class"));
    assert_eq!(tasks(&eevdf, 500, false), tasks(&eevdf, 0, false));
    assert_ne!(tasks(&eevdf, 500, true), tasks(&eevdf, 0, true));
}

#[test]
fn other_policies_pay_in_any_case() {
    let wfq = policy("wfq");
    assert_eq!(stands_for(wfq.image()), None);
    assert_ne!(tasks(&wfq, 500, false), tasks(&wfq, 0, false));
}
