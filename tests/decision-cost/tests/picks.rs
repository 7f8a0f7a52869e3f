// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loop in the kernel takes the decisions that the policy takes in the simulator.
//! Skipped, visibly, where BPF is not permitted.
#![allow(missing_docs)]

use rota_decision_cost::host::{self, Hosted, TaskSpec};
use rota_decision_cost::link::Bench;
use rota_decision_cost::simulate::{simulate, Simulated};
use rota_decision_cost::subject::Subject;
use rota_decision_cost::tasks::SleepingTasks;
use rota_decision_cost::{measure, Failure};
use std::io::Write as _;
use std::path::{Path, PathBuf};

const DECISIONS: usize = 3000;
/// The simulator's watchdog may come before; a task waits for 30 s and slices are 10
/// or 20 ms.
const LEAST: usize = 1400;

/// Says so past the test harness, which hides what passing tests print.
fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: decisions in the kernel: {why}");
}

/// A bench, if this machine can run it.
fn bench() -> Option<Bench> {
    match host::available().and_then(|()| Bench::compile()) {
        Ok(bench) => Some(bench),
        Err(Failure::Unavailable(why)) => {
            skip(&why);
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
    // counted in slices of 10 ms; linux22 gives 21 of them at once, o1 ten, mlfq eight in the end
    let each = match policy {
        "linux22" => 21,
        "o1" => 10,
        "mlfq" => 8,
        _ => 1,
    };
    let Simulated { picks: expected, .. } =
        simulate(policy, object, specs, each * (2 * DECISIONS as u64 + 100)).unwrap();
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
        // the clock of the kernel's loop is the real one, and tasks have slices without delay:
        // with a large alpha pbs goes by CPU time alone
        let named = match policy.name {
            "pbs" => "pbs:alpha=100",
            // a lead is held against CPU time that the clock has not seen there
            "pfs" => "pfs:scope=queue",
            "tfps" => "tfps:scope=queue",
            name => name,
        };
        let Subject { name, object } = Subject::named(named).unwrap();
        for specs in [shares(&[3, 2, 1]), shares(&[1, 7, 2, 5, 3, 3]), measure::load(50)] {
            assert_same_picks(&bench, &name, &object, &specs);
        }
        assert_same_picks(&bench, &name, &object, &shares(&[1]));
    }
}

#[test]
fn a_policy_with_settings_picks_what_it_picks_in_the_simulator() {
    let Some(bench) = bench() else { return };
    for named in ["wfq:queue=list", "wfq:tie=rr", "vtrr:insert=array", "lottery:seed=7"] {
        let Subject { name, object } = Subject::named(named).unwrap();
        assert_same_picks(&bench, &name, &object, &measure::load(50));
    }
}

#[test]
fn scx_simple_picks_what_it_picks_in_the_simulator() {
    let Some(bench) = bench() else { return };
    let Some(object) = scx_simple() else {
        return skip("no scx_simple.bpf.o: run tests/third-party/fetch");
    };
    for tasks in [1, 3, 100, 1000] {
        assert_same_picks(&bench, "scx_simple", &object, &measure::load(tasks));
    }
}

/// Checks the tree below a node; returns its black height and number of tasks.
fn check_tree(node: &dyn Fn(u32) -> Node, at: u32) -> (u32, usize) {
    if at == 0 {
        return (1, 0);
    }
    let Node { key, kids, red } = node(at);
    for (kid, side) in kids.iter().zip([true, false]).filter(|(kid, _)| **kid != 0) {
        let below = node(*kid);
        assert!(!(red && below.red), "task {at} and {kid} below it are red");
        let sorted = if side { below.key <= key } else { below.key >= key };
        assert!(sorted, "task {kid} is on the wrong side of {at}");
    }
    let [left, right] = kids.map(|kid| check_tree(node, kid));
    assert_eq!(left.0, right.0, "black nodes below task {at}");
    (left.0 + u32::from(!red), left.1 + right.1 + 1)
}

struct Node {
    key: u64,
    kids: [u32; 2],
    red: bool,
}

/// `struct bench_node`.
fn node(nodes: &[u8], at: u32) -> Node {
    let bytes = &nodes[at as usize * 64..][..64];
    let word = |i: usize| u32::from_ne_bytes(bytes[i..i + 4].try_into().unwrap());
    let key = u64::from(word(4)) << 32 | u64::from(word(0));
    Node { key, kids: [word(12), word(16)], red: bytes[20] != 0 }
}

#[test]
fn queue_by_virtual_time_stays_a_red_black_tree() {
    let (Some(bench), Some(object)) = (bench(), scx_simple()) else { return };
    let specs: Vec<TaskSpec> =
        (0..500).map(|i| TaskSpec { weight: 1 + i * 7919 % 10_000, share: None }).collect();
    let tasks = SleepingTasks::start(specs.len()).unwrap();
    let linked = bench.link("scx_simple", &object, false).unwrap();
    let mut hosted = Hosted::load("scx_simple", &linked, specs.len()).unwrap();
    hosted.populate(&tasks, &specs).unwrap();
    for decisions in [1, 10, 100, 1000, 10_000] {
        hosted.decide(decisions).unwrap();
        let nodes = hosted.section(".bss.nodes").unwrap();
        let (_, queued) = check_tree(&|at| node(&nodes, at), hosted.tree_root().unwrap());
        assert_eq!(queued, specs.len() - 1, "all but the one that runs");
    }
}
