// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other people's schedulers, unmodified, as a user runs them: no guest fault, no lost
//! task, CPU time conserved, work conserved where the policy promises it, and the same
//! bytes out of the same run. `third-party/fetch` brings and compiles them.

use rota_e2e::command::{root, rota};
use rota_e2e::fetch::fetch;
use rota_e2e::promise::{Case, Idle, Machine, Promise, Wait, CONSERVING, WORKLOADS};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const ONE: Machine = (1, "smt=1");
const FOUR: Machine = (4, "smt=1");
const FOUR_SMT: Machine = (4, "smt=2");
const SIXTEEN: Machine = (16, "smt=2,llc=8");
const TWO_NODES: Machine = (16, "smt=2,llc=4,node=8");
/// Four caches on two nodes, as the crates' objects run on.
const SIXTY_FOUR: Machine = (64, "smt=2,llc=16,node=32");

fn object(scheduler: &str) -> PathBuf {
    static CACHE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let objects = || fetch("tests/third-party/fetch", "objects").map_err(|e| format!("{e:#}"));
    let cache: Result<&Path, _> = CACHE.get_or_init(objects).as_deref();
    cache.unwrap_or_else(|e| panic!("{e}")).join(format!("{scheduler}.bpf.o"))
}

/// One scheduler on each machine with each workload, with overheads and without; all
/// failures are told together.
fn check(scheduler: &str, machines: &[Machine], promise: Promise) {
    let object = object(scheduler);
    let mut failures = Vec::new();
    for machine in machines {
        for workload in WORKLOADS {
            for more in [&[][..], &["--ideal"]] {
                let case = Case { object: &object, machine: *machine, workload, more };
                if let Err(e) = case.check(promise) {
                    failures.push(format!("{e:#}\n    {}", case.command()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{scheduler}:\n{}", failures.join("\n"));
}

#[test]
fn scx_simple_runs_unmodified() {
    check("scx_simple", &[ONE, FOUR, SIXTEEN], CONSERVING);
}

#[test]
fn scx_sdt_runs_unmodified() {
    check("scx_sdt", &[ONE, FOUR, SIXTEEN], CONSERVING);
}

#[test]
fn scx_userland_is_refused_as_its_scheduler_is_a_program() {
    let object = object("scx_userland");
    let case = Case { object: &object, machine: ONE, workload: "saturated", more: &[] };
    let outcome = rota(case.arguments()).unwrap();
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    let reason = "scx_userland schedules in its own program";
    assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
}

// The central CPU preempts its own task to serve another CPU. If it then finds no task for
// itself, its own one is queued while it still counts as running, which kicks nobody: both
// wait until another CPU has used up its slice (20 ms) and the timer (1 ms) has seen it.
#[test]
fn scx_central_runs_unmodified() {
    let promise = Promise { idle: Idle::Within(21_000_000), wait: Wait::Bounded };
    check("scx_central", &[FOUR, SIXTEEN], promise);
}

// Slices are endless and the timer spares the central CPU: with no other, a task runs until
// it sleeps or another one wakes.
#[test]
fn scx_central_runs_unmodified_on_one_cpu() {
    check("scx_central", &[ONE], Promise { idle: Idle::ByDesign, wait: Wait::Starves });
}

#[test]
fn scx_central_is_ejected_where_it_starves_tasks_on_one_cpu() {
    let more = &["--duration", "50s"];
    let object = object("scx_central");
    let case = Case { object: &object, machine: ONE, workload: "saturated", more };
    let outcome = rota(case.arguments()).unwrap();
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    // the watchdog looks every 15 s for a task that has waited more than 30 s
    let reason = "runnable task stall (high-1[1002] failed to run for 45.000s)";
    assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
}

#[test]
fn scx_qmap_runs_unmodified() {
    check("scx_qmap", &[ONE, FOUR, SIXTEEN], CONSERVING);
}

// The same object as the scheduler of all and as that of a cgroup with tasks that come and go: the
// upper one asks the lower one when it has nothing itself.
#[test]
fn scx_qmap_runs_as_a_sub_scheduler_of_itself() {
    let object = object("scx_qmap");
    let here = object.strip_prefix(root()).unwrap_or(&object);
    let sub = format!("/web={}", here.display());
    let manifest = "/web=manifests/scx_qmap.toml";
    let more = ["--sub", &sub, "--sub-manifest", manifest];
    let promise = Promise { idle: Idle::ByDesign, wait: Wait::Bounded };
    for machine in [ONE, FOUR, SIXTEEN] {
        for more in [&more[..], &[&more[..], &["--ideal"]].concat()] {
            let case = Case { object: &object, machine, workload: "churn", more };
            let told = || case.command();
            case.check(promise).unwrap_or_else(|e| panic!("{e:#}\n    {}", told()));
            let json = rota([&case.arguments()[..], &["--json".into()]].concat()).unwrap();
            let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
            // it stays until the one above leaves: SCX_EXIT_PARENT
            let gone = json["sub_exits"].as_array().unwrap();
            assert_eq!(gone.len(), 1, "{gone:?}\n    {}", told());
            assert_eq!(gone[0]["kind"], 68, "{gone:?}\n    {}", told());
        }
    }
}

// It runs every task on CPU 0 that may run there.
#[test]
fn scx_cpu0_runs_unmodified() {
    let promise = Promise { idle: Idle::ByDesign, wait: Wait::Bounded };
    check("scx_cpu0", &[ONE, FOUR, SIXTEEN], promise);
}

// A CPU idles while its pair runs a group that has no task for it.
#[test]
fn scx_pair_runs_unmodified() {
    let promise = Promise { idle: Idle::ByDesign, wait: Wait::Bounded };
    check("scx_pair", &[(2, "smt=2"), FOUR, FOUR_SMT, SIXTEEN], promise);
}

#[test]
fn scx_pair_refuses_an_odd_number_of_cpus_as_its_loader_does() {
    let object = object("scx_pair");
    let case = Case { object: &object, machine: ONE, workload: "saturated", more: &[] };
    let outcome = rota(case.arguments()).unwrap();
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("needs an even number of them"), "{}", outcome.stderr);
}

#[test]
fn scx_flatcg_runs_unmodified() {
    check("scx_flatcg", &[ONE, FOUR, SIXTEEN], CONSERVING);
}

// What each promises on smaller machines, above, with its reasons.
#[test]
#[ignore = "make schedulers-test"]
fn examples_of_the_kernel_run_unmodified_on_64_cpus() {
    for conserving in ["scx_simple", "scx_sdt", "scx_qmap", "scx_flatcg"] {
        check(conserving, &[SIXTY_FOUR], CONSERVING);
    }
    check(
        "scx_central",
        &[SIXTY_FOUR],
        Promise { idle: Idle::Within(21_000_000), wait: Wait::Bounded },
    );
    for by_design in ["scx_cpu0", "scx_pair"] {
        check(by_design, &[SIXTY_FOUR], Promise { idle: Idle::ByDesign, wait: Wait::Bounded });
    }
}

// A task given to an idle CPU goes to that CPU's own queue, which no other CPU looks at. A
// task of the shared queue with an earlier deadline may overtake it there, for one slice.
#[test]
fn scx_bpfland_runs_unmodified() {
    let promise = Promise { idle: Idle::Within(1_000_000), wait: Wait::Bounded };
    check("scx_bpfland", &[ONE, FOUR, FOUR_SMT, SIXTEEN], promise);
}

#[test]
fn scx_flash_runs_unmodified() {
    check("scx_flash", &[ONE, FOUR, FOUR_SMT, SIXTEEN], CONSERVING);
}

// Every node has a queue of its own, which the CPUs of another node do not look at.
#[test]
fn schedulers_of_many_nodes_run_unmodified_on_two() {
    let promise = Promise { idle: Idle::ByDesign, wait: Wait::Bounded };
    check("scx_bpfland", &[TWO_NODES], promise);
    check("scx_flash", &[TWO_NODES], promise);
}
