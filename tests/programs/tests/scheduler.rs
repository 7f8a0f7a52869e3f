// SPDX-License-Identifier: MIT OR Apache-2.0
//! A loader with libbpf-rs and the scheduler that it brings, in the simulated machine.

use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_program::{Launch, Program, Report};
use rota_sim::{Measured, Policy, Simulation, UserProgram, Watchers};
use rota_trace::CsvSink;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

/// First come, first served. It counts what it enqueues, apart from its loader, on each CPU. From
/// the loader's third look on slices have 1 ms.
const SCHEDULER: &str = r#"
#include "rota.bpf.h"
#define QUEUE 0

const volatile u32 loader_pid;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} turns SEC(".maps");

void BPF_STRUCT_OPS(counting_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 zero = 0, *looks = bpf_map_lookup_elem(&turns, &zero);
	u64 *count = bpf_map_lookup_elem(&counters, &zero);

	if (count && p->pid != loader_pid)
		*count += 1;
	dsq_insert(p, QUEUE, looks && *looks >= 3 ? 1000000 : 10000000, enq_flags);
}

void BPF_STRUCT_OPS(counting_dispatch, s32 cpu, struct task_struct *prev)
{
	dsq_move_to_local(QUEUE);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(counting_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(counting_ops) = {
	.enqueue = (void *)counting_enqueue,
	.dispatch = (void *)counting_dispatch,
	.init = (void *)counting_init,
	.name = "counting",
};
"#;

/// Two tasks that never sleep.
const HOGS: &str = r#"{"tasks": {"hog": {"instance": 2, "run": 100000}}}"#;

struct Ran {
    measured: Measured,
    csv: Vec<u8>,
    log: String,
    report: Report,
}

/// One CPU for a second, without overheads; `None` if there is no compiler here. After so many looks
/// the loader detaches its scheduler.
fn run(looks: u32) -> Option<Ran> {
    run_then(looks, &[])
}

/// After its looks the loader executes itself with other arguments, if there are any.
fn run_then(looks: u32, then: &[&str]) -> Option<Ran> {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, object) = (folder.path().join("counting.bpf.c"), folder.path().join("object"));
    fs::write(&source, SCHEDULER).expect("written");
    match rota_catalog::compile(&source, &[], &[]) {
        Ok(bytes) => fs::write(&object, bytes).expect("written"),
        Err(error @ rota_catalog::CompileError::NoCompiler { .. }) => {
            eprintln!("skipped: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    }
    let log = folder.path().join("log");
    let topology = Topology::flat(1).expect("a CPU");
    let mut program = Program::start(Launch {
        command: vec![
            env!("CARGO_BIN_EXE_rota-program-tests").into(),
            "schedule".into(),
            object.into(),
            looks.to_string().into(),
        ]
        .into_iter()
        .chain(then.iter().map(Into::into))
        .collect(),
        topology: topology.clone(),
        hardware: None,
        kernel: Kernel::default(),
        groups: Vec::new(),
        call_ns: 1000,
        seed: 1,
        log: Some(log.clone()),
        timeout: Duration::from_secs(60),
    })
    .expect("starts");
    let report = program.report();
    let image = program.set_up().unwrap_or_else(|error| panic!("{error}"));
    let policy = Policy::of_image(image, &Kernel::default());
    let load = Arc::new(rota_workload::parse("load.json", HOGS).expect("legal"));
    let mut config = Config::new(topology, 1_000_000_000);
    (config.costs, config.exact_slices) = (rota_machine::config::Costs::none(), true);
    let mut csv = Vec::new();
    let mut sink = CsvSink::new(&mut csv);
    let watchers = Watchers { sinks: vec![&mut sink], figures: None };
    let program = UserProgram { name: "loader".into(), half: Box::new(program) };
    let measured = Simulation::new(&policy, &load, config).measure_by(program, watchers);
    let measured = measured.unwrap_or_else(|error| panic!("{error}"));
    drop(sink);
    let log = fs::read_to_string(log).expect("a log");
    Some(Ran { measured, csv, log, report })
}

#[test]
fn the_loader_and_its_scheduler_see_each_other_at_the_same_instants() {
    let Some(ran) = run(1000) else { return };

    let lines: Vec<&str> = ran.log.lines().collect();
    assert_eq!(lines[0], "attached");
    let counts: Vec<u64> = lines[1..]
        .iter()
        .map(|line| line.split(' ').nth(2).and_then(|n| n.parse().ok()).expect("a count"))
        .collect();
    // One look each 100 ms, late by its wait for the CPU: at most two slices of 10 ms.
    assert!((8..=10).contains(&counts.len()), "{}", ran.log);
    let each: Vec<u64> = counts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // Slices of 10 ms: 10 in 100 ms, up to 12 in 120 ms.
    assert!(each[..2].iter().all(|count| (9..=13).contains(count)), "{each:?}");
    // Of 1 ms from the third look on: 100, as waits are short then.
    assert!(each[4..].iter().all(|count| (99..=104).contains(count)), "{each:?}");
    let program = &ran.measured.numbers.tasks[0];
    assert!(program.is_program, "{program:?}");
    // Each of its calls takes 1 us of its CPU, and nothing else does. The last may not be over.
    assert!(program.cpu_ns.abs_diff(ran.report.calls() * 1000) <= 1000, "{program:?}");
    assert!(ran.report.take_failure().is_none());
}

#[test]
fn the_same_run_has_the_same_bytes() {
    let (Some(first), Some(second)) = (run(1000), run(1000)) else { return };
    assert!(first.csv == second.csv);
    assert_eq!(first.log, second.log);
}

#[test]
fn a_loader_that_detaches_ends_the_run() {
    let Some(ran) = run(2) else { return };
    let outcome = &ran.measured.outcome;
    assert_eq!(outcome.exit.kind, rota_machine::exit::ExitKind::Unreg);
    let ended = outcome.program.expect("it has ended");
    // two looks, each after 100 ms and a wait of up to two slices of 10 ms
    assert!((200_000_000..250_000_000).contains(&outcome.end_ns), "{outcome:?}");
    // then it frees what it has, and says so, in some calls of 1 us
    let later_ns = ended.at_ns - outcome.end_ns;
    assert!((1_000..100_000).contains(&later_ns), "{later_ns}");
    assert_eq!(ended.status, 0);
    assert!(ran.log.ends_with("detached\n"), "{}", ran.log);
}

#[test]
fn a_loader_that_executes_another_program_detaches_its_scheduler() {
    let Some(ran) = run_then(2, &["fail"]) else { return };
    let outcome = &ran.measured.outcome;
    // The link's descriptor is closed by that (close-on-exec), so bpf_link_free() detaches.
    assert_eq!(outcome.exit.kind, rota_machine::exit::ExitKind::Unreg);
    assert!((200_000_000..250_000_000).contains(&outcome.end_ns), "{outcome:?}");
    // The other program goes on in its place.
    assert!(ran.log.ends_with("cannot go on\n"), "{}", ran.log);
    assert_eq!(outcome.program.expect("it has ended").status, 3);
}
