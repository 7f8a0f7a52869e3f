// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other people's schedulers with their own programs, unmodified, as a user runs them: both halves
//! take part, and the same run has the same bytes. `third-party/fetch-programs` builds them.

use anyhow::{ensure, Context, Result};
use rota_e2e::command::{root, rota};
use rota_e2e::fetch::fetch;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// CPUs and how they are arranged.
const MACHINES: [(&str, &str); 3] =
    [("4", "smt=1"), ("16", "smt=2,llc=8"), ("64", "smt=2,llc=16,node=32")];
const LOADS: [&str; 4] = ["desktop", "hogs", "web", "build"];

fn programs() -> &'static Path {
    static PROGRAMS: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let fetch = || fetch("tests/third-party/fetch-programs", "programs");
    let programs = PROGRAMS.get_or_init(|| fetch().map_err(|e| format!("{e:#}")));
    programs.as_deref().unwrap_or_else(|e| panic!("{e}"))
}

/// What a run leaves.
#[derive(PartialEq)]
struct Ran {
    json: serde_json::Value,
    trace: Vec<u8>,
    log: String,
}

fn run(program: &Path, arguments: &[&str], load: &Path, machine: (&str, &str)) -> Result<Ran> {
    run_with(&["--duration", "2s"], program, arguments, load, machine)
}

fn run_with(
    options: &[&str],
    program: &Path,
    arguments: &[&str],
    load: &Path,
    machine: (&str, &str),
) -> Result<Ran> {
    let folder = tempfile::tempdir()?;
    let (trace, log) = (folder.path().join("trace.csv"), folder.path().join("log"));
    let path = |path: &Path| path.to_str().context("text").map(str::to_owned);
    let (trace_text, log_text) = (path(&trace)?, path(&log)?);
    let (load, program) = (path(load)?, path(program)?);
    let mut words = vec!["sim", &load, "--json", "--cpus", machine.0];
    words.extend(options);
    words.extend(["--topology", machine.1, "--trace", &trace_text, "--program-log", &log_text]);
    words.extend(["--", &program]);
    words.extend(arguments);
    let outcome = rota(&words)?;
    ensure!(outcome.code == Some(0), "{}", outcome.stderr);
    Ok(Ran {
        json: serde_json::from_slice(&outcome.stdout)?,
        trace: std::fs::read(trace)?,
        log: std::fs::read_to_string(log)?,
    })
}

/// Twice the same, and the program took part: it made system calls in simulated time.
fn check(program: &Path, arguments: &[&str], load: &str, machine: (&str, &str)) -> Result<Ran> {
    let file = root().join("workloads").join(format!("{load}.json"));
    let first = run(program, arguments, &file, machine)?;
    let second = run(program, arguments, &file, machine)?;
    ensure!(first.trace == second.trace, "the traces of two runs differ");
    ensure!(first.log == second.log, "its output differs: {}\n{}", first.log, second.log);
    ensure!(first.json == second.json, "the results of two runs differ");
    let version = first.json.pointer("/program/version").and_then(serde_json::Value::as_str);
    let is_c = program.parent() == Some(programs());
    ensure!(version.is_none() == is_c, "C programs know no --version: {version:?}");
    let used = first.json.pointer("/program/cpu_ns").and_then(serde_json::Value::as_u64);
    ensure!(used.is_some_and(|ns| ns > 0), "the program did nothing: {used:?}");
    Ok(first)
}

/// Each program on each machine; all failures are told together.
fn check_all(programs: &[(PathBuf, Vec<&str>)], loads: &[&str]) {
    let mut failures = Vec::new();
    for (program, arguments) in programs {
        for machine in MACHINES {
            for load in loads {
                if let Err(error) = check(program, arguments, load, machine) {
                    failures.push(format!("{} {load} {machine:?}: {error:#}", program.display()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_kernels_examples_run_with_both_halves() {
    const EXAMPLES: [&str; 8] = [
        "scx_simple",
        "scx_central",
        "scx_qmap",
        "scx_cpu0",
        "scx_pair",
        "scx_flatcg",
        "scx_sdt",
        "scx_userland",
    ];
    let all: Vec<_> = EXAMPLES.iter().map(|name| (programs().join(name), Vec::new())).collect();
    check_all(&all, &["desktop"]);
}

#[test]
fn a_scheduler_in_user_space_decides_for_all_tasks() {
    let ran = check(&programs().join("scx_userland"), &[], "desktop", MACHINES[0]).unwrap();

    // Of each second it prints how many tasks it was given and gave back.
    let last = |what: &str| {
        let mut lines = ran.log.lines().filter(|line| line.contains(what));
        let number = lines.next_back().and_then(|line| line.split_whitespace().nth(2));
        number
            .and_then(|number| number.parse::<u64>().ok())
            .unwrap_or_else(|| panic!("{}", ran.log))
    };
    let (given, back) = (last("enq:"), last("disp:"));
    assert!(given >= 20, "{given}");
    // Those that it has now are fewer than the tasks of the load.
    assert!(given - back < 20, "{given} {back}");
}

#[test]
fn counters_of_the_kernel_half_reach_the_program_each_second() {
    let ran = check(&programs().join("scx_simple"), &[], "hogs", MACHINES[0]).unwrap();

    let global = |line: &str| line.split("global=").nth(1).and_then(|n| n.parse::<u64>().ok());
    let counts: Vec<u64> = ran.log.lines().filter_map(global).collect();
    assert_eq!(counts.len(), 2, "at the start and after a second: {}", ran.log);
    assert!(counts[0] < counts[1], "{counts:?}");
}

/// A CPU goes after 1.3 s and is back after 2.7 s.
const PLUGGED: &str = r#"{
    "tasks": {"busy": {"instance": 5, "loop": -1, "run": 3000, "sleep": 4000}},
    "events": [
        {"at": "1.3s", "cpu": 3, "online": false},
        {"at": "2.7s", "cpu": 3, "online": true}
    ]
}"#;

/// The program is loaded and attached again after both, and sees the CPUs that there are.
fn check_restarts(program: &Path) -> Ran {
    let load = load_file(PLUGGED);
    let options = ["--duration", "4s"];
    let run = || run_with(&options, program, &[], load.path(), ("4", "smt=1")).unwrap();
    let (first, second) = (run(), run());
    assert!(first == second, "two runs differ");
    // SCX_ECODE_RSN_HOTPLUG and SCX_ECODE_ACT_RESTART of the kernel's user_exit_info, twice; then
    // the end of the run
    let exits = first.json["exits"].as_array().unwrap();
    let codes: Vec<_> = exits.iter().map(|gone| gone["code"].as_u64().unwrap()).collect();
    assert_eq!(codes, [1 << 32 | 1 << 48, 1 << 32 | 1 << 48, 0], "{}", first.log);
    let times: Vec<_> = exits.iter().map(|gone| gone["at_ns"].as_u64().unwrap()).collect();
    assert_eq!(times, [1_300_000_000, 2_700_000_000, 4_000_000_000]);
    first
}

#[test]
fn programs_load_their_schedulers_again_when_a_cpu_goes_or_comes_back() {
    for name in ["scx_simple", "scx_qmap"] {
        let ran = check_restarts(&programs().join(name));
        for what in ["offline", "online"] {
            let told = format!("cpu 3 going {what}, exiting scheduler");
            assert!(ran.log.contains(&told), "{name}: {}", ran.log);
        }
    }
}

#[test]
fn one_program_follows_another_at_a_time() {
    let qmap = programs().join("scx_qmap");
    let then = format!("1.5s {} -s 10000", qmap.display());
    let options = ["--duration", "4s", "--then", &then];
    let (program, load) = (programs().join("scx_simple"), root().join("workloads/desktop.json"));
    let run = || run_with(&options, &program, &[], &load, MACHINES[1]).unwrap();
    let (first, second) = (run(), run());
    assert!(first == second, "two runs differ");

    // it handles SIGINT, and detaches; scx_qmap prints each second from then on
    let ended = first.json.pointer("/program/ends/0").unwrap();
    assert_eq!(ended["status"], 0);
    let at_ns = ended["at_ns"].as_u64().unwrap();
    assert!((1_500_000_000..1_600_000_000).contains(&at_ns), "{at_ns}");
    assert_eq!(first.json.pointer("/program/then/0/name").unwrap(), "scx_qmap");
    let (before, after) = first.log.split_once("EXIT: unregistered from user space").unwrap();
    assert!(before.contains("local=") && !before.contains("enq="), "{}", first.log);
    assert_eq!(after.matches("stats  : enq=").count(), 3, "{}", first.log);
    assert_eq!(first.json["exits"].as_array().unwrap().len(), 2);
}

/// What a program sets up, as a file, and the run of that: its trace.
fn run_bundle(program: &Path, arguments: &[&str], load: &str) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (bundle, trace) = (path("bundle.rota"), path("trace.csv"));
    let (cpus, topology) = MACHINES[1];
    let machine = ["--cpus", cpus, "--topology", topology];
    let mut words = vec!["bundle", "-o", &bundle];
    words.extend(machine);
    let program = program.display().to_string();
    words.extend(["--", &program]);
    words.extend(arguments);
    let written = rota(&words)?;
    ensure!(written.code == Some(0), "{}", written.stderr);
    let load = root().join("workloads").join(format!("{load}.json")).display().to_string();
    let mut words = vec!["sim", &bundle, &load, "--duration", "2s", "--trace", &trace, "--json"];
    words.extend(machine);
    let outcome = rota(&words)?;
    ensure!(outcome.code == Some(0), "{}", outcome.stderr);
    let json: serde_json::Value = serde_json::from_slice(&outcome.stdout)?;
    let (file, origin) = (Path::new(&program).file_name(), &json["policy"]["set_up_by"]);
    ensure!(origin["program"].as_str() == file.and_then(|file| file.to_str()), "{origin}");
    ensure!(origin["arguments"] == serde_json::json!(arguments), "{origin}");
    Ok(std::fs::read(trace)?)
}

fn check_bundles(programs: &[(PathBuf, Vec<&str>)]) {
    for (program, arguments) in programs {
        let runs = || run_bundle(program, arguments, "desktop");
        let both = runs().and_then(|first| Ok((first, runs()?)));
        let (first, second) = both.unwrap_or_else(|e| panic!("{}: {e:#}", program.display()));
        assert!(first == second, "{}", program.display());
    }
}

#[test]
fn what_the_kernels_examples_set_up_runs_without_them() {
    let names = ["scx_simple", "scx_central", "scx_qmap", "scx_flatcg", "scx_sdt"];
    check_bundles(&names.map(|name| (programs().join(name), Vec::new())));
}

/// CPU time of the tasks whose name begins so, on each CPU that they were on in a time, in ns.
fn cpus_of(trace: &[u8], name: &str, from_ns: u64, to_ns: u64) -> Result<BTreeMap<u32, u64>> {
    let mut on: BTreeMap<u32, (u64, bool)> = BTreeMap::new();
    let mut used = BTreeMap::new();
    for row in std::str::from_utf8(trace)?.lines() {
        let fields: Vec<&str> = row.split(',').collect();
        let &[time, cpu, kind, _, task, ..] = &fields[..] else { continue };
        let (Ok(time), Ok(cpu)) = (time.parse::<u64>(), cpu.parse::<u32>()) else { continue };
        match kind {
            "switch_in" => drop(on.insert(cpu, (time, task.starts_with(name)))),
            "switch_out" => {
                let Some((since, true)) = on.remove(&cpu) else { continue };
                let ns = time.min(to_ns).saturating_sub(since.max(from_ns));
                if ns > 0 {
                    *used.entry(cpu).or_insert(0) += ns;
                }
            }
            _ => {}
        }
    }
    Ok(used)
}

/// Four tasks that run half of the time, and some that hardly sleep.
fn load_of(batch: u32) -> tempfile::NamedTempFile {
    load_file(&format!(
        r#"{{"tasks": {{
            "editor": {{"instance": 4, "loop": -1, "run": 3000, "sleep": 3000}},
            "batch": {{"instance": {batch}, "loop": -1, "run": 7000, "sleep": 1000}}
        }}}}"#
    ))
}

fn crate_program(name: &str) -> PathBuf {
    let status =
        Command::new(root().join("tests/third-party/fetch-programs")).arg("crates").status();
    assert!(status.unwrap().success());
    programs().join("crates").join(name)
}

fn load_file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

#[test]
#[ignore = "builds programs for a quarter of an hour: make schedulers-test"]
fn scx_layered_grows_a_layer_and_keeps_it_apart() {
    let layers = format!("f:{}", root().join("tests/third-party/layers.json").display());
    // 5.3 CPUs for these, and two for the others: 16 have room for both layers.
    let load = load_of(6);
    let ran = run(&crate_program("scx_layered"), &[&layers], load.path(), ("16", "smt=1")).unwrap();

    let second = |task, n: u64| {
        cpus_of(&ran.trace, task, n * 1_000_000_000, (n + 1) * 1_000_000_000).unwrap()
    };
    // They need two CPUs; the layer is to be used by 20 to 60 %, so it has four at least.
    let (editor, batch) = (second("editor", 1), second("batch", 1));
    assert!(editor.len() >= 4, "{editor:?}");
    let needs = editor.values().sum::<u64>();
    assert!((1_900_000_000..=2_100_000_000).contains(&needs), "{needs}");
    let shared: Vec<_> = editor.keys().filter(|cpu| batch.contains_key(cpu)).collect();
    assert!(shared.is_empty(), "{editor:?} {batch:?}");
}

#[test]
#[ignore = "builds programs for a quarter of an hour: make schedulers-test"]
fn crates_programs_load_their_schedulers_again_when_a_cpu_goes_or_comes_back() {
    check_restarts(&crate_program("scx_bpfland"));
    let ran = check_restarts(&crate_program("scx_rusty"));
    // its domain of four CPUs has three while one is gone
    let domains = ran.log.lines().filter_map(|line| line.split("DOM[00] mask=").nth(1));
    assert_eq!(domains.map(str::trim).collect::<Vec<_>>(), ["f", "7", "f"], "{}", ran.log);
}

#[test]
#[ignore = "builds programs for a quarter of an hour: make schedulers-test"]
fn scx_rusty_shares_two_caches_out_evenly() {
    let load = load_file(r#"{"tasks": {"hog": {"instance": 16, "run": 100000}}}"#);
    let ran = run(&crate_program("scx_rusty"), &[], load.path(), ("8", "smt=1,llc=4")).unwrap();

    // 16 tasks, 8 CPUs, 2 s: 1 s each; slices of 20 ms
    let tasks = ran.json.pointer("/tasks").and_then(serde_json::Value::as_array).unwrap();
    for task in tasks.iter().filter(|task| task["name"].as_str().unwrap().starts_with("hog")) {
        let cpu_ns = task["cpu_ns"].as_u64().unwrap();
        assert!(cpu_ns.abs_diff(1_000_000_000) <= 60_000_000, "{task}");
    }
}

/// No crate of a registry: built from its project's repository.
fn mitosis() -> PathBuf {
    static MITOSIS: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let fetch = || fetch("tests/third-party/fetch-mitosis", "mitosis");
    let folder = MITOSIS.get_or_init(|| fetch().map_err(|e| format!("{e:#}")));
    folder.as_ref().unwrap_or_else(|e| panic!("{e}")).join("scx_mitosis")
}

/// Tasks of two cgroups, one of which may use two CPUs only; a third one comes after a second, and
/// gets CPUs 0 and 1 after two.
const CELLS: &str = r#"{
    "tasks": {
        "free": {"instance": 8, "loop": -1, "run": 7000, "sleep": 1000, "taskgroup": "/pods/free"},
        "bound": {"instance": 4, "loop": -1, "run": 7000, "sleep": 1000,
            "taskgroup": {"path": "/pods/bound", "cpuset.cpus": [6, 7]}},
        "late": {"instance": 4, "loop": -1, "run": 7000, "sleep": 1000}
    },
    "events": [
        {"at": "1.25s", "cgroup": "/pods/late", "create": true},
        {"at": "1.25s", "task": "late", "move": "/pods/late"},
        {"at": "2.25s", "cgroup": "/pods/late", "cpuset.cpus": [0, 1]}
    ]
}"#;

#[test]
#[ignore = "builds a program for some minutes: make schedulers-test"]
fn scx_mitosis_gives_each_cgroup_cpus_of_its_own() {
    let load = load_file(CELLS);
    let arguments = ["--cell-parent-cgroup", "/pods"];
    let options = ["--duration", "5s"];
    let machine = ("8", "smt=1");
    let run = || run_with(&options, &mitosis(), &arguments, load.path(), machine).unwrap();
    let (ran, again) = (run(), run());
    assert!(ran == again, "two runs differ");

    let cpus = |task, from_ms: u64, to_ms: u64| {
        let used = cpus_of(&ran.trace, task, from_ms * 1_000_000, to_ms * 1_000_000).unwrap();
        used.into_keys().collect::<BTreeSet<u32>>()
    };
    let apart = |from_ms, to_ms| {
        let all = ["free", "bound", "late"].map(|task| cpus(task, from_ms, to_ms));
        let count: usize = all.iter().map(BTreeSet::len).sum();
        assert_eq!(count, all.iter().flatten().collect::<BTreeSet<_>>().len(), "{all:?}");
        all
    };
    let two = |first: u32| BTreeSet::from([first, first + 1]);
    // the root's cell and that of free share the six CPUs that nobody claims
    assert_eq!(apart(500, 1250)[1], two(6));
    // it hears of the new group at once (inotify), and not only when it looks each second
    let told = ran.log.lines().find(|line| line.contains("Created cell") && line.contains("late"));
    assert!(told.is_some_and(|line| line.contains("00:00:01.2")), "{}", ran.log);
    assert_eq!(apart(1500, 2250)[1], two(6));
    // it looks for changed CPUs each second
    let [free, bound, late] = apart(3500, 5000);
    assert_eq!((bound, late), (two(6), two(0)));
    assert!(!free.is_empty());
}

#[test]
#[ignore = "builds a program for some minutes: make schedulers-test"]
fn scx_mitosis_runs_with_both_halves() {
    let all = [(mitosis(), vec!["--cell-parent-cgroup", "/"])];
    check_all(&all, &LOADS);
    check_bundles(&all);
}

#[test]
#[ignore = "builds programs for a quarter of an hour: make schedulers-test"]
fn scx_rustland_serves_every_task() {
    let load = load_of(16);
    let ran = run(&crate_program("scx_rustland"), &[], load.path(), ("8", "smt=1")).unwrap();

    // 16 CPUs wanted, 8 there: a task that runs 3 ms of 6 is served before its next turn is due.
    let tasks = ran.json.pointer("/tasks").and_then(serde_json::Value::as_array).unwrap();
    for task in tasks {
        let longest = task.pointer("/wakeup_latency_ns/max").and_then(serde_json::Value::as_u64);
        assert!(longest.is_some_and(|ns| ns < 200_000_000), "{task}");
    }
}

#[test]
#[ignore = "builds programs for a quarter of an hour: make schedulers-test"]
fn scx_chaos_delays_tasks_as_it_is_told() {
    let load =
        load_file(r#"{"tasks": {"t": {"instance": 2, "loop": -1, "run": 1000, "sleep": 10000}}}"#);
    let longest = |arguments: &[&str]| {
        let ran = run(&crate_program("scx_chaos"), arguments, load.path(), ("8", "smt=1")).unwrap();
        let tasks = ran.json.pointer("/tasks").and_then(serde_json::Value::as_array).unwrap();
        let of = |task: &serde_json::Value| {
            task.pointer("/wakeup_latency_ns/max").and_then(serde_json::Value::as_u64).unwrap()
        };
        tasks.iter().filter(|task| task["name"] != "scx_chaos").map(of).max().unwrap()
    };
    let delays = ["--random-delay-frequency", "1", "--random-delay-min-us", "3000"];
    let delays = [&delays[..], &["--random-delay-max-us", "5000"]].concat();

    // CPUs are idle: no task waits but for its delay, and then for a CPU that looks for it, one
    // tick of 4 ms at most.
    assert!(longest(&[]) < 1_000_000, "{}", longest(&[]));
    let delayed = longest(&delays);
    assert!((3_000_000..=9_000_000).contains(&delayed), "{delayed}");
}

#[test]
#[ignore = "builds programs for a quarter of an hour: make schedulers-test"]
fn scx_lavd_sees_that_cores_differ() {
    let load = load_file(r#"{"tasks": {"hog": {"run": 100000}}}"#);
    let (load, lavd) = (load.path().display().to_string(), crate_program("scx_lavd"));
    let run = |mode: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (log, trace, lavd) = (path("log"), path("trace.csv"), lavd.display().to_string());
        let machine = ["--duration", "2s", "--machine", "hybrid"];
        let words = ["--trace", &trace, "--program-log", &log, "--", &lavd, mode];
        let words = [&["sim", &load][..], &machine, &words].concat();
        let outcome = rota(&words).unwrap();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        // scx_utils ranks CPUs by acpi_cppc/highest_perf, and warns where nothing tells them apart
        let log = std::fs::read_to_string(log).unwrap();
        assert!(!log.contains("CPU capacity information is not available"), "{log}");
        cpus_of(&std::fs::read(trace).unwrap(), "hog", 1_000_000_000, 2_000_000_000).unwrap()
    };

    // CPUs 0 to 11 are those of P cores
    let fast = run("--performance");
    assert!(fast.keys().all(|cpu| *cpu < 12), "{fast:?}");
    let frugal = run("--powersave");
    assert!(frugal.keys().all(|cpu| *cpu >= 12), "{frugal:?}");
}

/// Those of the sched_ext project's crates: their halves watch statistics, give CPUs to layers,
/// balance domains, or decide everything.
#[test]
#[ignore = "builds programs for a quarter of an hour: make schedulers-test"]
fn the_crates_programs_run_with_both_halves() {
    let status =
        Command::new(root().join("tests/third-party/fetch-programs")).arg("crates").status();
    assert!(status.unwrap().success());
    let layers = root().join("tests/third-party/layers.json");
    let layers = format!("f:{}", layers.display());
    let program = crate_program;
    const NAMES: [&str; 8] = [
        "scx_bpfland",
        "scx_rustland",
        "scx_lavd",
        "scx_rusty",
        "scx_cosmos",
        "scx_flash",
        "scx_p2dq",
        "scx_chaos",
    ];
    let mut all: Vec<_> = NAMES.iter().map(|name| (program(name), Vec::new())).collect();
    all.push((program("scx_layered"), vec![layers.as_str()]));
    check_all(&all, &LOADS);
    check_bundles(&all);
}

/// Over the slice of scx_qmap, an argument of its program, next to one without arguments.
#[test]
fn a_sweep_runs_over_arguments_of_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (load, simple) = (root().join("workloads/desktop.json"), programs().join("scx_simple"));
    let text = format!(
        "workloads = [\"{}\"]\npolicies = [\"{}\", \"qmap={} -s {{us}}\"]\nseeds = 2\n\
         baseline = \"scx_simple\"\n\
         [run]\nduration = \"500ms\"\ncpus = 2\n[set.qmap]\nus = [2000, 20000]\n",
        load.display(),
        simple.display(),
        programs().join("scx_qmap").display()
    );
    std::fs::write(path("s.toml"), text).unwrap();
    let sweep = |out: &str, more: &[&str]| {
        let (file, out) = (path("s.toml"), path(out));
        let words = [&["sweep", &file, "-o", &out], more].concat();
        let run = rota(&words).unwrap();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        serde_json::from_slice::<serde_json::Value>(&run.stdout).unwrap()
    };
    let asked = ["--json", "--minimise", "wakeup_p99"];
    let json = sweep("one.parquet", &[&asked[..], &["-j", "1"]].concat());
    sweep("two.parquet", &[&asked[..], &["-j", "2"]].concat());
    let bytes = |name: &str| std::fs::read(path(name)).unwrap();
    assert_eq!(bytes("one.parquet"), bytes("two.parquet"));
    assert_eq!((&json["runs"], &json["new_runs"]), (&6.into(), &6.into()));
    // A slice ten times as long has others wait longer.
    let settings = json["verdict"]["settings"].as_array().unwrap();
    let p99 = |us: u64| {
        let setting = settings.iter().find(|of| of["set"]["us"] == us).unwrap();
        setting["metrics"]["wakeup_p99"]["mean"].as_f64().unwrap()
    };
    assert!(p99(2_000) < p99(20_000), "{settings:?}");
    // As `rota compare` has it of the same program.
    let (load, command) = (load.to_str().unwrap(), simple.to_str().unwrap());
    let words =
        ["--seeds", "2", "--duration", "500ms", "--cpus", "2", "--baseline", "none", "--json"];
    let run = rota([&["compare", load, command], &words[..]].concat()).unwrap();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let compared: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let policy = &compared["comparisons"][0]["policies"][0];
    let simple = settings.iter().find(|of| of["policy"] == "scx_simple").unwrap();
    let (own, theirs) =
        (&simple["metrics"]["wakeup_p99"]["mean"], &policy["measures"]["wakeup_p99"]["mean"]);
    assert_eq!(own, theirs, "{compared}");
    assert!(own.is_number(), "{settings:?}");
}
