// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects of the sched_ext project's crates and the BPF tests of its libraries, unmodified.
//! `third-party/fetch-schedulers` brings and builds them. Three objects run with every `cargo test`,
//! all with `make schedulers-test`.

use rota_e2e::command::{built, root, rota, Outcome};
use rota_e2e::fetch::fetch_with;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fn cache() -> &'static Path {
    static CACHE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let fetched = CACHE.get_or_init(|| {
        let rota = built().map_err(|e| format!("{e:#}"))?;
        let variables = [("ROTA", rota.as_os_str())];
        fetch_with("tests/third-party/fetch-schedulers", "schedulers", &variables)
            .map_err(|e| format!("{e:#}"))
    });
    fetched.as_deref().unwrap_or_else(|e| panic!("{e}"))
}

fn sim(object: &str, more: &[&str]) -> Outcome {
    let object = cache().join(object).display().to_string();
    let load = "tests/third-party/workloads/saturated.json";
    rota([&["sim", &object, load], more].concat()).expect("rota starts")
}

/// Schedulers that need no loader, and those of which a loader would have to say more: what they
/// answer without one. None is refused: all of their maps, functions and variables are there.
const WITHOUT_LOADER: [(&str, Option<&str>); 15] = [
    ("scx_beerland", Some("per-node idle tracking is disabled")),
    ("scx_bpfland", Some("per-node idle tracking is disabled")),
    ("scx_cake", Some("loader CPU span 0 is narrower than nr_cpu_ids 4")),
    ("scx_chaos", Some("no cpu_ctx for cpu 4")),
    ("scx_cosmos", None),
    ("scx_flash", Some("per-node idle tracking is disabled")),
    ("scx_flow", None),
    ("scx_forge", Some("non-existent DSQ 0x0")),
    ("scx_lavd", Some("allocator not initialized")),
    ("scx_layered", Some("didn't match any layer")),
    ("scx_p2dq", Some("failed to create DSQ 64")),
    ("scx_pandemonium", None),
    ("scx_rustland_core", None),
    ("scx_rusty", Some("Did not find map entry")),
    ("scx_tickless", Some("Primary CPUs not initialized")),
];

/// A manifest that says nothing, in place of one that comes along.
const NO_LOADER: &str = "tests/third-party/none.toml";

fn check(schedulers: &[(&str, Option<&str>)]) {
    let mut failures = Vec::new();
    for (name, exit) in schedulers {
        let object = format!("{name}.bpf.o");
        let machine = ["--cpus", "4", "--duration", "200ms"];
        let outcome = sim(&object, &[&["--manifest", NO_LOADER][..], &machine].concat());
        let as_expected = match exit {
            None => outcome.code == Some(0),
            Some(reason) => outcome.code == Some(3) && outcome.stderr.contains(reason),
        };
        if !as_expected {
            failures.push(format!("{name}: {:?}: {}", outcome.code, outcome.stderr.trim()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn three_schedulers_load_and_start() {
    let three = WITHOUT_LOADER
        .iter()
        .filter(|(name, _)| ["scx_lavd", "scx_cosmos", "scx_flow"].contains(name));
    check(&three.copied().collect::<Vec<_>>());
}

#[test]
#[ignore = "make schedulers-test"]
fn every_scheduler_loads_and_starts() {
    check(&WITHOUT_LOADER);
}

/// Schedulers with a shipped manifest. scx_layered wants a file of layers, and scx_rustland_core has
/// its scheduler in user space.
const KNOWN: [&str; 12] = [
    "scx_beerland",
    "scx_bpfland",
    "scx_cake",
    "scx_chaos",
    "scx_cosmos",
    "scx_flash",
    "scx_flow",
    "scx_forge",
    "scx_lavd",
    "scx_p2dq",
    "scx_rusty",
    "scx_tickless",
];
/// CPUs and topologies; the last has four caches and two nodes.
const MACHINES: [(&str, &str); 4] =
    [("1", "smt=1"), ("4", "smt=1"), ("16", "smt=2,llc=8"), ("64", "smt=2,llc=16,node=32")];
/// No task of these workloads needs to wait longer.
const LONGEST_WAIT_NS: u64 = 1_500_000_000;

/// Runs an object as a user does, without a flag, and says what is not sane.
fn set_up(name: &str, (cpus, topology): (&str, &str), load: &str) -> Result<(), String> {
    let object = cache().join(format!("{name}.bpf.o")).display().to_string();
    let load = format!("tests/third-party/workloads/{load}.json");
    let outcome = rota(["sim", &object, &load, "--cpus", cpus, "--topology", topology, "--json"])
        .map_err(|e| e.to_string())?;
    let failed = |what: String| {
        Err(format!("rota sim {object} {load} --cpus {cpus} --topology {topology}: {what}"))
    };
    if outcome.code != Some(0) {
        return failed(format!("{:?}: {}", outcome.code, outcome.stderr.trim()));
    }
    if !outcome.stderr.contains("set up as the loader of") {
        return failed(format!("its manifest was not found: {}", outcome.stderr.trim()));
    }
    let run: serde_json::Value =
        serde_json::from_slice(&outcome.stdout).map_err(|e| e.to_string())?;
    let number = |value: &serde_json::Value| value.as_u64().unwrap_or(0);
    let unfilled: Vec<&str> = run["unfilled_reads"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|read| read["field"].as_str())
        .collect();
    if !unfilled.is_empty() {
        return failed(format!("reads fields that the machine does not fill: {unfilled:?}"));
    }
    let end_ns = number(&run["duration_ns"]);
    for task in run["tasks"].as_array().into_iter().flatten() {
        let (waited_ns, name) = (number(&task["wait_max_ns"]), &task["name"]);
        let is_new = number(&task["started_ns"]) + LONGEST_WAIT_NS > end_ns;
        if waited_ns > LONGEST_WAIT_NS || number(&task["cpu_ns"]) == 0 && !is_new {
            return failed(format!("{name} waited for {waited_ns} ns"));
        }
    }
    Ok(())
}

fn check_known(names: &[&str]) {
    let mut failures = Vec::new();
    for name in names {
        for machine in MACHINES {
            for load in ["saturated", "interactive", "churn"] {
                failures.extend(set_up(name, machine, load).err());
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn three_known_schedulers_run_without_a_flag() {
    check_known(&["scx_lavd", "scx_cosmos", "scx_flow"]);
}

#[test]
#[ignore = "make schedulers-test"]
fn every_known_scheduler_runs_without_a_flag() {
    check_known(&KNOWN);
}

/// The tests of a library end with 0, and its program says which failed.
fn passes(object: &str, manifest: &str, set: &[&str]) {
    let manifest = root().join("tests/third-party/libraries").join(manifest).display().to_string();
    let mut more = vec!["-v", "--duration", "1ms", "--manifest", &manifest];
    more.extend(set);
    let outcome = sim(&format!("selftests/{object}"), &more);
    assert_eq!(outcome.code, Some(0), "{object} {set:?}: {}", outcome.stderr);
    assert!(outcome.stderr.to_lowercase().contains("selftests successful"), "{}", outcome.stderr);
}

#[test]
fn the_libraries_of_sched_ext_pass_their_own_tests() {
    // enum scx_selftest_id of lib/selftests/selftest.h; each in an arena of its own
    for (test, id) in [("atq", 1), ("btree", 2), ("lvqueue", 3), ("minheap", 4), ("rbtree", 5)] {
        eprintln!("{test}");
        let set = format!("selftest_run_id={id}");
        // that of rbtree looks at the whole tree after each change
        let more = ["--set", &set, "--budget", "3000000000"];
        passes("libraries.bpf.o", "libraries.toml", &more);
    }
}

#[test]
fn the_allocators_of_sched_ext_pass_their_own_tests() {
    passes("alloc.bpf.o", "alloc.toml", &[]);
}
