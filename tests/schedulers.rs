// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects of the sched_ext project's crates and the BPF tests of its libraries, unmodified.
//! `third-party/fetch-schedulers` brings and builds them. Three objects run with every `cargo test`,
//! all with `make schedulers-test`.

use rota_e2e::command::{built, root, rota, Outcome};
use rota_e2e::fetch::fetch_with;
use rota_e2e::promise::{Case, Idle, Machine, Promise, Wait, ENGINES, WORKLOADS};
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

/// A thousandth of a second.
const MS: u64 = 1_000_000;

/// A scheduler with a shipped manifest.
struct Known {
    name: &'static str,
    /// What it promises of idle CPUs on machines with one last-level cache, several, two nodes:
    /// docs/third-party.md has the source lines.
    idle: [Idle; 3],
    /// It runs without overheads, too. scx_p2dq and scx_chaos give tasks that never sleep slices of
    /// 1 ns (`p2dq_init_task()` multiplies by `p->scx.weight`, which is still 0), which end at the
    /// next tick where there are ticks.
    ideal: bool,
}

const fn known(name: &'static str, idle: [Idle; 3]) -> Known {
    Known { name, idle, ideal: true }
}

const KNOWN: [Known; 14] = [
    known("scx_beerland", [Idle::Within(3 * MS); 3]),
    known("scx_bpfland", [Idle::Within(MS), Idle::Within(MS), Idle::ByDesign]),
    known("scx_cake", [Idle::Within(MS), Idle::Within(MS), Idle::Within(MS)]),
    Known { ideal: false, ..known("scx_chaos", [Idle::Within(MS); 3]) },
    known("scx_cosmos", [Idle::Conserving; 3]),
    known("scx_flash", [Idle::Conserving, Idle::Conserving, Idle::ByDesign]),
    known("scx_flow", [Idle::ByDesign; 3]),
    known("scx_forge", [Idle::Conserving; 3]),
    known("scx_lavd", [Idle::Conserving, Idle::Within(20 * MS), Idle::Within(20 * MS)]),
    known("scx_layered", [Idle::Conserving, Idle::Within(MS), Idle::Within(MS)]),
    Known { ideal: false, ..known("scx_p2dq", [Idle::Within(MS); 3]) },
    known("scx_pandemonium", [Idle::Within(MS); 3]),
    known("scx_rusty", [Idle::Conserving, Idle::Within(MS), Idle::Within(MS)]),
    known("scx_tickless", [Idle::Within(4 * MS); 3]),
];
/// Where a scheduler also runs compiled: it must do what it does interpreted.
const BY_BOTH_ENGINES: Machine = (4, "smt=1");
/// CPUs and topologies: one cache, one, two, four of two nodes.
const MACHINES: [(Machine, usize); 4] = [
    ((1, "smt=1"), 0),
    (BY_BOTH_ENGINES, 0),
    ((16, "smt=2,llc=8"), 1),
    ((64, "smt=2,llc=16,node=32"), 2),
];

/// Each machine and workload without a flag, with overheads and without; all failures are told
/// together.
fn check_known(names: &[&str]) {
    let mut failures = Vec::new();
    for known in KNOWN.iter().filter(|known| names.contains(&known.name)) {
        let object = cache().join(format!("{}.bpf.o", known.name));
        let outcome = sim(&format!("{}.bpf.o", known.name), &["--cpus", "4", "--duration", "1ms"]);
        if !outcome.stderr.contains("set up as the loader of") {
            failures.push(format!("{}: no manifest: {}", known.name, outcome.stderr.trim()));
        }
        for (machine, place) in MACHINES {
            for workload in WORKLOADS {
                for more in [&[][..], &["--ideal"]].into_iter().take(1 + usize::from(known.ideal)) {
                    let case = Case { object: &object, machine, workload, more };
                    let promise = Promise { idle: known.idle[place], wait: Wait::Bounded };
                    let checked = match machine == BY_BOTH_ENGINES {
                        true => case.check(promise),
                        false => case.check_once(promise),
                    };
                    if let Err(e) = checked {
                        failures.push(format!("{e:#}\n    {}", case.command()));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn three_known_schedulers_run_without_a_flag() {
    check_known(&["scx_lavd", "scx_cosmos", "scx_flow"]);
}

/// A recording has all that a comparison needs: `docs/worked-examples.md`.
#[test]
fn a_recorded_web_server_is_compared_with_two_of_them_without_a_flag() {
    let object = |name: &str| cache().join(format!("{name}.bpf.o")).display().to_string();
    let objects = [object("scx_bpfland"), object("scx_flash")];
    let load = "workloads/recorded-site.json";

    let outcome = rota(["compare", load, &objects[0], &objects[1], "--policies", "eevdf,cfs,wfq"]);

    let Outcome { code, stdout, stderr, .. } = outcome.expect("rota starts");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("on its own machine, 2 CPUs, 250 Hz, preempt none"), "{stderr}");
    assert_eq!(stderr.matches("set up as the loader of").count(), 2, "{stderr}");
    let stdout = String::from_utf8(stdout).expect("UTF-8");
    for policy in ["eevdf", "cfs", "wfq", "scx_bpfland", "scx_flash"] {
        // Nothing is left out, as of a policy that was ejected.
        let row = stdout.lines().find(|line| line.split_whitespace().next() == Some(policy));
        let cells = row.map_or(0, |row| row.split_whitespace().count());
        assert_eq!(cells, 7, "{policy}: {stdout}");
    }
}

#[test]
#[ignore = "make schedulers-test"]
fn every_known_scheduler_runs_without_a_flag() {
    check_known(&KNOWN.map(|known| known.name));
}

#[test]
fn a_scheduler_that_is_in_a_program_is_refused_with_the_reason() {
    let outcome = sim("scx_rustland_core.bpf.o", &["--cpus", "4"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    let reason = "scx_rustland_core schedules in a program of its user";
    assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
}

/// The tests of a library end with 0, and its program says which failed; the same by both engines.
fn passes(object: &str, manifest: &str, set: &[&str]) {
    let manifest = root().join("tests/third-party/libraries").join(manifest).display().to_string();
    let mut more = vec!["-v", "--duration", "1ms", "--manifest", &manifest];
    more.extend(set);
    let [first, second] = ENGINES.map(|engine| {
        let more = [&more[..], &["--json", "--engine", engine]].concat();
        let outcome = sim(&format!("selftests/{object}"), &more);
        let Outcome { code, stderr, .. } = &outcome;
        assert_eq!(*code, Some(0), "{object} {set:?}, {engine}: {stderr}");
        assert!(stderr.to_lowercase().contains("selftests successful"), "{stderr}");
        outcome
    });
    assert_eq!(first.stderr, second.stderr, "{object} {set:?}");
    assert!(first.stdout == second.stdout, "{object} {set:?}: summaries differ");
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

// The test of bitmaps is none: each of its functions returns -EOPNOTSUPP (st_bitmap.bpf.c:9), and no
// program calls it.
#[test]
fn the_tree_of_the_machine_passes_its_own_test() {
    let machines =
        [("1", "smt=1"), ("4", "smt=1"), ("16", "smt=2,llc=8"), ("64", "smt=2,llc=16,node=32")];
    for (cpus, topology) in machines {
        let more = ["--set", "selftest_run_id=6", "--cpus", cpus, "--topology", topology];
        passes("libraries.bpf.o", "topology.toml", &more);
    }
}

#[test]
fn the_allocators_of_sched_ext_pass_their_own_tests() {
    passes("alloc.bpf.o", "alloc.toml", &[]);
}
