// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run whose choices are replayed is the run that was recorded.

use rota_choice::{ChoiceError, Recording};
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_sim::{Policy, SimError, Simulation, Watchers};
use rota_trace::CsvSink;
use rota_workload::Workload;
use std::sync::Arc;

/// Random starts, work and customers; several CPUs and tasks that do things at one instant.
const MIXED: &str = r#"{
    "sockets": {"web": "tcp"},
    "customers": {
        "open": {"to": "web", "rate": 200, "demand": {"dist": "exp", "mean": 700}},
        "closed": {"to": "web", "users": 3, "think": {"dist": "uniform", "min": 0, "max": 20000},
                   "demand": 300}},
    "tasks": {
        "server": {"instance": 3, "recv": "web", "run": {"request": 1}, "reply": "web"},
        "late": {"instance": 4, "delay": {"dist": "uniform", "max": 50000}, "run": 3000,
                 "sleep": 1000},
        "parent": {"loop": 8, "fork": "child", "run": {"dist": "pareto", "shape": 1.5, "mean": 900},
                   "sleep": 9000},
        "child": {"instance": 0, "loop": 3, "run": {"dist": "exp", "mean": 2000}, "sleep": 1000},
        "hog": {"instance": 3, "run": 100000}}}"#;

fn workload(text: &str) -> Arc<Workload> {
    Arc::new(rota_workload::parse("load.json", text).expect("legal"))
}

fn config(cpus: u32, seed: u64) -> Config {
    let duration_ns = 300_000_000;
    Config { seed, ..Config::new(Topology::flat(cpus).expect("CPUs"), duration_ns) }
}

/// Slices of a random length.
const DICE: &str = r#"/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "rota.bpf.h"

static u32 (*const bpf_get_prandom_u32)(void) = (void *)7;

void BPF_STRUCT_OPS(enqueue, struct task_struct *p, u64 enq_flags)
{
	dsq_insert(p, SCX_DSQ_GLOBAL, (1 + bpf_get_prandom_u32() % 8) * 4000000, 0);
}

SCX_OPS_DEFINE(dice_ops) = {
	.enqueue = (void *)enqueue,
	.name = "dice",
};
"#;

/// That policy, unless there is no compiler here.
fn dice() -> Option<Policy> {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("dice.bpf.c");
    std::fs::write(&path, DICE).expect("written");
    match rota_catalog::compile(&path, &[], &[]) {
        Ok(object) => Some(Policy::link("dice", &object, &Kernel::default()).expect("links")),
        Err(rota_catalog::CompileError::NoCompiler { reason, .. }) => {
            eprintln!("skipped: {reason}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn simulation(policy: &str, workload: &Arc<Workload>, config: Config) -> Simulation {
    let object = rota_catalog::find(policy).expect("ships").object;
    let policy = Policy::link(policy, object, &Kernel::default()).expect("links");
    Simulation::new(&policy, workload, config)
}

/// The trace of a run, and its choices if they are recorded.
fn trace(simulation: Simulation) -> Result<(Vec<u8>, Option<Recording>), SimError> {
    let mut csv = CsvSink::new(Vec::new());
    let watchers = Watchers { sinks: vec![&mut csv], figures: None };
    let measured = simulation.measure(watchers)?;
    Ok((csv.finish().expect("in memory"), measured.choices))
}

/// As a file would keep it.
fn through_text(recording: &Recording) -> Arc<Recording> {
    Recording::parse(recording.to_string().as_bytes()).expect("is right").into()
}

fn recorded(policy: &str, workload: &Arc<Workload>, config: Config) -> (Vec<u8>, Arc<Recording>) {
    let run = simulation(policy, workload, config).recording_choices();
    let (trace, recording) = trace(run).expect("a run");
    (trace, through_text(&recording.expect("was asked for")))
}

fn refused(simulation: Simulation) -> ChoiceError {
    let error = trace(simulation).expect_err("does not fit");
    error.of_choices().expect("its choices do not").clone()
}

#[test]
fn a_replay_is_the_recorded_run_whatever_the_seed() {
    let load = workload(MIXED);
    for policy in ["lottery", "eevdf", "rr", "mlfq", "pfs", "vtrr"] {
        for (ideal, shuffle_ties) in [(false, false), (false, true), (true, false), (true, true)] {
            let with = |seed| {
                let plain = config(3, seed);
                let config = if ideal { plain.ideal() } else { plain };
                Config { shuffle_ties, ..config }
            };
            let case = format!("{policy}, ideal {ideal}, shuffled {shuffle_ties}");
            let expected = trace(simulation(policy, &load, with(5))).expect("a run").0;
            let (told, recording) = recorded(policy, &load, with(5));
            assert!(told == expected, "{case}: recorded");
            // Neither the seed nor how ties were broken is needed any more.
            let other = Config { shuffle_ties: false, ..with(99) };
            assert!(trace(simulation(policy, &load, other.clone())).expect("a run").0 != expected);
            let again = simulation(policy, &load, other).with_choices(recording.clone());
            let (replayed, second) = trace(again.recording_choices()).expect("a run");
            assert!(replayed == expected, "{case}: replayed");
            assert_eq!(second.as_ref(), Some(&*recording), "{case}");
        }
    }
}

#[test]
fn a_policys_random_numbers_are_recorded_and_replayed() {
    let Some(policy) = dice() else { return };
    let load = workload(r#"{"tasks": {"hog": {"instance": 3, "run": 100000}}}"#);
    let run = || Simulation::new(&policy, &load, config(1, 1));
    let (expected, recording) = trace(run().recording_choices()).expect("a run");
    let recording = through_text(&recording.expect("was asked for"));
    let text = recording.to_string();
    let lines: Vec<&str> = text.lines().collect();
    // Each slice is 32 ms at most, so there are nine or more in 300 ms.
    assert!(lines.iter().filter(|line| line.starts_with("policy 0x")).count() > 8, "{text}");
    let (replayed, _) = trace(run().with_choices(recording)).expect("a run");
    assert!(replayed == expected);

    // With slices of 32 ms only, the run asks for fewer numbers.
    let sevens = lines.iter().map(|line| match line.starts_with("policy") {
        true => "policy 0x00000007\n".to_owned(),
        false => format!("{line}\n"),
    });
    let sevens = Recording::parse(sevens.collect::<String>().as_bytes()).expect("is right");
    let error = refused(run().with_choices(sevens.into()));
    assert!(error.what.contains("but the run chooses nothing more"), "{error}");
}

#[test]
fn documented_ties_are_recorded_as_such_and_can_be_changed() {
    // Two hogs come at one instant, then every tick is one of both CPUs.
    let load = workload(r#"{"tasks": {"hog": {"instance": 2, "run": 100000}}}"#);
    let (documented, recording) = recorded("rr", &load, config(2, 1));
    let text = recording.to_string();
    let first = text.lines().nth(1);
    assert_eq!(first, Some("event 0 of 2"), "which of the tasks comes first");
    let swapped = text.replacen("event 0 of 2", "event 1 of 2", 1);
    let swapped = Arc::new(Recording::parse(swapped.as_bytes()).expect("is right"));
    let replay = simulation("rr", &load, config(2, 1)).with_choices(swapped);
    let (other, _) = trace(replay).expect("the same is asked afterwards");
    // Pids go by who comes first.
    let first_pid = |trace: &[u8]| {
        let text = String::from_utf8_lossy(trace).into_owned();
        text.lines().find(|row| row.contains("hog-1")).map(|row| row.contains("1001"))
    };
    assert_eq!((first_pid(&documented), first_pid(&other)), (Some(false), Some(true)));
}

#[test]
fn choices_of_another_run_are_refused_with_the_line() {
    let load = workload(MIXED);
    let (_, recording) = recorded("rr", &load, config(3, 5));

    let other = workload(r#"{"tasks": {"hog": {"instance": 5, "run": 100000}}}"#);
    let error = refused(simulation("rr", &other, config(3, 5)).with_choices(recording.clone()));
    assert_eq!(error.line, 2);
    assert!(error.what.starts_with("start "), "{error}");
    assert!(error.what.contains(": but the run chooses event of 5: "), "{error}");

    let error = refused(simulation("rr", &load, config(2, 5)).with_choices(recording.clone()));
    assert!(error.line > 2 && error.what.contains(": but the run chooses "), "{error}");

    let shorter = Config { duration_ns: 200_000_000, ..config(3, 5) };
    let error = refused(simulation("rr", &load, shorter).with_choices(recording.clone()));
    assert!(error.what.contains(": but the run chooses nothing more: "), "{error}");

    let longer = Config { duration_ns: 400_000_000, ..config(3, 5) };
    let error = refused(simulation("rr", &load, longer).with_choices(recording.clone()));
    assert!(error.what.starts_with("end: but the run chooses "), "{error}");
    assert_eq!(error.line as usize, recording.to_string().lines().count());
}

#[test]
fn a_run_without_choices_has_an_empty_recording() {
    let load = workload(r#"{"tasks": {"hog": {"run": 100000}}}"#);
    let (_, recording) = recorded("rr", &load, config(1, 1).ideal());
    assert_eq!(recording.to_string(), "rota.choices/1\nend\n");
    let plain = trace(simulation("rr", &load, config(1, 1))).expect("a run");
    assert_eq!(plain.1, None, "nothing is recorded unasked");
}
