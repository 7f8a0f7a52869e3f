// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loop in the kernel takes the decisions that the policy takes in the simulator.
//! Skipped, visibly, where BPF is not permitted.
#![allow(missing_docs)]

use rota_decision_cost::host::{self, Hosted, TaskSpec};
use rota_decision_cost::link::Bench;
use rota_decision_cost::simulate::{simulate, Simulated};
use rota_decision_cost::tasks::SleepingTasks;
use rota_decision_cost::{measure, Failure};
use std::path::{Path, PathBuf};

const DECISIONS: usize = 3000;
/// The simulator's watchdog may come before; a task waits for 30 s and slices are 10
/// or 20 ms.
const LEAST: usize = 1400;

/// A bench, if this machine can run it.
fn bench() -> Option<Bench> {
    match host::available().and_then(|()| Bench::compile()) {
        Ok(bench) => Some(bench),
        Err(Failure::Unavailable(why)) => {
            println!("SKIPPED: {why}");
            None
        }
        Err(failure) => panic!("{failure}"),
    }
}

/// Numbers of the tasks that the kernel's loop picks.
fn picked(bench: &Bench, policy: &str, object: &[u8], specs: &[TaskSpec]) -> Vec<usize> {
    let tasks = SleepingTasks::start(specs.len()).unwrap();
    let linked = bench.link(policy, object, true).unwrap();
    let mut hosted = Hosted::load(policy, &linked, specs.len()).unwrap();
    hosted.populate(&tasks, specs).unwrap();
    hosted.decide(DECISIONS as u64).unwrap();
    let number = |pid: &u32| tasks.pids().iter().position(|p| p == pid).expect("one of ours");
    hosted.picks().unwrap().iter().map(number).collect()
}

fn assert_same_picks(bench: &Bench, policy: &str, object: &[u8], specs: &[TaskSpec]) {
    let Simulated { picks: expected, .. } =
        simulate(policy, object, specs, 2 * DECISIONS as u64 + 100).unwrap();
    let picks = picked(bench, policy, object, specs);
    assert_eq!(picks.len(), DECISIONS);
    assert!(expected.len() >= LEAST, "{policy}: {} decisions were simulated", expected.len());
    if let Some(at) = picks.iter().zip(&expected).position(|(a, b)| a != b) {
        let around = at.saturating_sub(5)..at + 15;
        panic!(
            "{policy}, {} tasks, decision {at}: kernel {:?}, simulator {:?}",
            specs.len(),
            &picks[around.start..around.end.min(picks.len())],
            &expected[around.start.min(expected.len())..around.end.min(expected.len())]
        );
    }
}

fn shares(shares: &[u64]) -> Vec<TaskSpec> {
    shares.iter().map(|share| TaskSpec { weight: 100, share: Some(*share) }).collect()
}

fn scx_simple() -> Option<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cache = std::env::var_os("ROTA_CACHE").map_or_else(|| root.join(".cache"), PathBuf::from);
    std::fs::read(cache.join("objects/scx_simple.bpf.o")).ok()
}

#[test]
fn shipped_policies_pick_what_they_pick_in_the_simulator() {
    let Some(bench) = bench() else { return };
    for policy in rota_catalog::policies() {
        for specs in [shares(&[3, 2, 1]), shares(&[1, 7, 2, 5, 3, 3]), measure::load(50)] {
            assert_same_picks(&bench, policy.name, policy.object, &specs);
        }
        assert_same_picks(&bench, policy.name, policy.object, &shares(&[1]));
    }
}

#[test]
fn scx_simple_picks_what_it_picks_in_the_simulator() {
    let Some(bench) = bench() else { return };
    let Some(object) = scx_simple() else {
        println!("SKIPPED: no scx_simple.bpf.o: run tests/third-party/fetch");
        return;
    };
    for tasks in [1, 3, 100, 1000] {
        assert_same_picks(&bench, "scx_simple", &object, &measure::load(tasks));
    }
}
