// SPDX-License-Identifier: MIT OR Apache-2.0
//! What shipped policies say that they heed, compared with what they do. Of two runs that differ in
//! one thing only, a policy that ignores it makes the same decisions to the nanosecond.

use crate::common::{ideal, Tape};
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_machine::hardware::parts::CoreType;
use rota_machine::hardware::Hardware;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_sim::{heeded, Feature, Loaded, Policy, Simulation};
use rota_trace::EventKind;
use rota_workload::WorkClass;
use std::sync::Arc;

const MS: u64 = 1_000_000;

fn linked(name: &str) -> Policy {
    let object = rota_catalog::find(name).unwrap().object;
    Policy::link(name, object, &Kernel::default()).unwrap()
}

fn run(policy: &Policy, config: Config, load: &str) -> Tape {
    let load = Arc::new(rota_workload::parse("test.json", load).unwrap());
    let Loaded { mut machine, mut ops, .. } =
        Simulation::new(policy, &load, config).load().unwrap();
    let mut tape = Tape::default();
    let outcome = machine.run(&mut ops, &mut tape).unwrap();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    tape
}

/// Which task came onto which CPU when.
fn decisions(tape: &Tape) -> Vec<(u64, Option<u32>, u32)> {
    let switch = |e: &rota_trace::Event| match e.kind {
        EventKind::SwitchIn { pid } => Some((e.time_ns, e.cpu, pid)),
        _ => None,
    };
    tape.0.iter().filter_map(switch).collect()
}

/// A workload with the thing and without it, and a machine with it and without it.
struct Pair {
    loads: [String; 2],
    machines: [Config; 2],
}

fn config(cpus: u32, topology: &str) -> Config {
    let mut config = ideal(cpus, 1000 * MS);
    if !topology.is_empty() {
        config.topology = Topology::parse(cpus, topology).unwrap();
    }
    config
}

/// Hogs and tasks that sleep; one of each has a setting.
fn tasks(setting: &str) -> String {
    format!(
        r#"{{"tasks": {{
        "a": {{{setting}"run": 10000000}}, "b": {{"instance": 3, "run": 10000000}},
        "c": {{{setting}"run": 1500, "sleep": 17000}}, "d": {{"run": 1500, "sleep": 13000}}}}}}"#
    )
}

/// Two tasks that wake up while the CPUs near the one where they ran are busy. So that first come,
/// first served shows it, too, all tasks sleep.
fn wakers() -> String {
    let (cpus, busy) = (8, [6, 7]);
    let hogs: Vec<String> = busy
        .iter()
        .map(|cpu| format!(r#""busy{cpu}": {{"cpus": [{cpu}], "run": 31000, "sleep": 9000}}"#))
        .collect();
    let all: Vec<String> = (0..cpus).map(|cpu| cpu.to_string()).collect();
    let waker = |name: &str, cpu: u32, sleep: u32| {
        format!(
            r#""{name}": {{"loop": 1, "phases": {{
            "there": {{"cpus": [{cpu}], "run": 1}},
            "free": {{"cpus": [{}], "loop": 40, "sleep": {sleep}, "run": 700}}}}}}"#,
            all.join(", ")
        )
    };
    let (first, last) = (waker("t", busy[0], 10_700), waker("u", busy[1], 11_300));
    format!(r#"{{"tasks": {{{}, {first}, {last}}}}}"#, hogs.join(", "))
}

/// A task that uses next to nothing of the first of two CPUs, and then of any.
fn light(setting: &str) -> String {
    format!(
        r#"{{"tasks": {{"t": {{{setting} "loop": 1, "phases": {{
            "there": {{"cpus": [0], "run": 1}},
            "free": {{"cpus": [0, 1], "loop": 20, "sleep": 9000, "run": 100}}}}}}}}}}"#
    )
}

/// A CPU that can do a quarter of what the other one can.
fn small_and_big() -> Config {
    let core = |capacity: u32| CoreType {
        name: format!("c{capacity}"),
        speed: capacity,
        capacity,
        rank: 0,
        l2_kib: 1024,
        smt: None,
        clock: None,
        idle: Vec::new(),
        poll_ns: 0,
    };
    let hardware = Hardware {
        core_types: vec![core(256), core(1024)],
        type_of_cpu: vec![0, 1],
        cache: None,
        ipi: None,
        work: (WorkClass::Mixed, 0),
        timer_slack_ns: 0,
    };
    Config { hardware: Some(Arc::new(hardware)), ..config(2, "") }
}

fn pair(feature: Feature) -> Pair {
    let setting = |setting: &str| Pair {
        loads: [tasks(setting), tasks("")],
        machines: [config(1, ""), config(1, "")],
    };
    let group = |with: &str, without: &str| Pair {
        loads: [with, without]
            .map(|file| tasks(&format!(r#""taskgroup": {{"path": "/g"{file}}},"#))),
        machines: [config(1, ""), config(1, "")],
    };
    let machine = |with: &str, without: &str, load: String| Pair {
        loads: [load.clone(), load],
        machines: [config(8, with), config(8, without)],
    };
    match feature {
        Feature::Nice => setting(r#""priority": 5,"#),
        Feature::Share => setting(r#""share": 30,"#),
        Feature::Slice => setting(r#""dl-runtime": 300,"#),
        // Beside long slices, or the protection of the running task is over in any case.
        Feature::Batch => Pair {
            loads: [r#""policy": "SCHED_BATCH","#, ""].map(|setting| {
                tasks(setting)
                    .replace(r#""run": 10000000"#, r#""dl-runtime": 20000, "run": 10000000"#)
            }),
            machines: [config(1, ""), config(1, "")],
        },
        Feature::Idle => setting(r#""policy": "SCHED_IDLE","#),
        Feature::CpuWeight => group(r#", "cpu.weight": 1000"#, r#", "cpu.weight": 100"#),
        Feature::CpuMax => group(r#", "cpu.max": "20000 100000""#, ""),
        Feature::CpuIdle => group(r#", "cpu.idle": 1"#, ""),
        Feature::Autogroup => setting(r#""session": 7,"#),
        Feature::Uclamp => Pair {
            loads: [r#""util_min": 1024,"#, ""].map(light),
            machines: [small_and_big(), small_and_big()],
        },
        Feature::Smt => machine(
            "smt=2,llc=8",
            "",
            r#"{"tasks": {"t": {"instance": 4, "run": 5000, "sleep": 3000}}}"#.into(),
        ),
        Feature::Llc => machine("llc=4", "", wakers()),
        Feature::Numa => machine("llc=2,node=4", "llc=2", wakers()),
    }
}

fn makes_a_difference(policy: &Policy, feature: Feature) -> bool {
    let Pair { loads: [with, without], machines: [there, missing] } = pair(feature);
    decisions(&run(policy, there, &with)) != decisions(&run(policy, missing, &without))
}

fn check(policy: &Policy, name: &str) {
    let heeded = heeded(policy.image()).unwrap_or_else(|| panic!("{name} says nothing"));
    for feature in Feature::ALL {
        assert_eq!(
            makes_a_difference(policy, feature),
            heeded.contains(&feature),
            "{name}: does {feature} make a difference? It says that it heeds {heeded:?}"
        );
    }
}

#[test]
fn every_policy_heeds_what_it_says_and_nothing_else() {
    for policy in rota_catalog::policies() {
        let mut linked = linked(policy.name);
        check(&linked, policy.name);
        for (tunable, value) in [("cgroups", "true"), ("work_conserving", "true")] {
            if linked.image().variable_text(tunable).is_ok() {
                linked.set(tunable, value).unwrap();
                check(&linked, &format!("{} with {tunable}", policy.name));
            }
        }
    }
}

#[test]
fn every_tag_is_a_known_name() {
    for policy in rota_catalog::policies() {
        let linked = linked(policy.name);
        let tags = linked.image().struct_ops.iter().flat_map(|ops| &ops.tags);
        for tag in tags.filter_map(|tag| tag.strip_prefix("heeds:")) {
            for entry in tag.split(',').map(str::trim) {
                let name = entry.split([' ']).next().unwrap();
                assert!(Feature::ALL.iter().any(|f| f.name() == name), "{}: {name}", policy.name);
            }
        }
    }
}

#[test]
fn groups_that_count_share_by_their_weight() {
    // 1000 to 100: of 12 s on one CPU, 10 / 11 and 1 / 11. The longest
    // turn is a second, under wrr.
    let load = r#"{"tasks": {
        "a": {"taskgroup": {"path": "/a", "cpu.weight": 1000}, "instance": 2, "run": 10000000},
        "b": {"taskgroup": {"path": "/b", "cpu.weight": 100}, "instance": 2, "run": 10000000}}}"#;
    for policy in rota_catalog::policies().iter().filter(|p| p.name != "fifo") {
        let mut linked = linked(policy.name);
        for with_groups in [false, true] {
            if with_groups && linked.set("cgroups", "true").is_err() {
                continue;
            }
            let mut config = ideal(1, 12_000 * MS);
            config.topology = Topology::flat(1).unwrap();
            let tape = run(&linked, config, load);
            let had = |name: &str| tape.cpu_ns(tape.pid(name), 12_000 * MS) as f64 / 1e9;
            let ratio = (had("a-0") + had("a-1")) / (had("b-2") + had("b-3"));
            let heeds = heeded(linked.image()).unwrap().contains(&Feature::CpuWeight);
            let right = if heeds { 9.5..10.5 } else { 0.7..1.4 };
            assert!(right.contains(&ratio), "{}: {ratio}, heeds: {heeds}", policy.name);
        }
    }
}
