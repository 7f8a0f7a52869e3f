// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each kernel has its own functions, types and rules.

use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_object::error::LoadError;
use rota_sim::{Measured, Policy, Simulation, Watchers};
use std::sync::Arc;

const MS: u64 = 1_000_000;

fn kernel(release: &str) -> Kernel {
    Kernel::bundled(release).expect("bundled")
}

/// A scheduler of one queue whose `ops.init()` refuses to go on if SEEN holds; DECL comes before.
const ASKS: &str = r#"/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "rota.bpf.h"

DECL;

s32 BPF_STRUCT_OPS_SLEEPABLE(asks_init)
{
	if (SEEN)
		policy_error("seen %lld", 1);
	return 0;
}

SCX_OPS_DEFINE(asks_ops) = {
	.init = (void *)asks_init,
	.name = "asks",
};
"#;

/// The object, unless there is no compiler here.
fn compiled(source: &str) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("asks.bpf.c");
    std::fs::write(&path, source).expect("written");
    match rota_catalog::compile(&path, &[], &[]) {
        Ok(object) => Some(object.to_vec()),
        Err(rota_catalog::CompileError::NoCompiler { reason, .. }) => {
            eprintln!("skipped: {reason}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn measured(policy: &Policy, text: &str, config: Config) -> Measured {
    let workload = Arc::new(rota_workload::parse("load.json", text).expect("legal"));
    Simulation::new(policy, &workload, config).measure(Watchers::default()).expect("a run")
}

fn machine(cpus: u32, duration_ns: u64) -> Config {
    Config::new(Topology::flat(cpus).expect("CPUs"), duration_ns)
}

/// Whether the object's question is answered with yes.
fn sees(object: &[u8], kernel: &Kernel) -> Result<bool, LoadError> {
    let policy = Policy::link("asks", object, kernel)?;
    let load = r#"{"tasks": {"t": {"run": 1000}}}"#;
    let exit = measured(&policy, load, machine(1, 10 * MS)).outcome.exit;
    assert!(!exit.kind.is_error() || exit.message == "seen 1", "{exit}");
    Ok(exit.kind.is_error())
}

#[test]
fn every_shipped_policy_runs_on_every_kernel() {
    let load = r#"{"tasks": {"hog": {"instance": 3, "run": 100000},
                             "wakes": {"instance": 3, "run": 300, "sleep": 2000}}}"#;
    for release in Kernel::releases() {
        for shipped in rota_catalog::policies() {
            let policy = Policy::link(shipped.name, shipped.object, &kernel(release));
            let policy = policy.unwrap_or_else(|e| panic!("{release}: {e}"));
            let found = measured(&policy, load, machine(2, 60 * MS));
            let exit = &found.outcome.exit;
            assert!(!exit.kind.is_error(), "{} on {release}: {exit}", shipped.name);
            let unfilled = &found.outcome.unfilled_reads;
            assert!(unfilled.is_empty(), "{} on {release}: {unfilled:?}", shipped.name);
        }
    }
}

#[test]
fn what_a_program_asks_for_is_there_on_the_kernels_that_have_it() {
    // From the kernels' own BTF, `bpftool btf dump`, and from LINUX_VERSION of their packages.
    let questions: [(&str, &str, &[&str]); 6] = [
        (
            "struct task_struct *scx_bpf_dsq_peek(u64 dsq_id) __ksym __weak",
            "kernel_has_func(scx_bpf_dsq_peek)",
            &["6.19", "7.0", "7.2", "7.3"],
        ),
        (
            "struct rq *scx_bpf_cpu_rq(s32 cpu) __ksym __weak",
            "kernel_has_func(scx_bpf_cpu_rq)",
            &["6.12", "6.16", "6.19", "7.0", "7.2"],
        ),
        (
            "bool scx_bpf_consume(u64 dsq_id) __ksym __weak",
            "kernel_has_func(scx_bpf_consume)",
            &["6.12", "6.16"],
        ),
        (
            "",
            "__builtin_preserve_enum_value(*(enum scx_enq_flags *)SCX_ENQ_IMMED, 0)",
            &["7.2", "7.3"],
        ),
        (
            "",
            "__builtin_preserve_field_info(((struct rq *)0)->ext_server, 2)",
            &["7.0", "7.2", "7.3"],
        ),
        (
            "extern u32 LINUX_KERNEL_VERSION __attribute__((section(\".kconfig\")))",
            "LINUX_KERNEL_VERSION >= (6 << 16 | 19 << 8 | 14)",
            &["6.19", "7.0", "7.2", "7.3"],
        ),
    ];
    for (decl, question, expected) in questions {
        let Some(object) = compiled(&ASKS.replace("DECL", decl).replace("SEEN", question)) else {
            return;
        };
        let yes: Vec<_> = Kernel::releases()
            .into_iter()
            .filter(|release| sees(&object, &kernel(release)).expect("links"))
            .collect();
        assert_eq!(yes, expected, "{question}");
    }
}

#[test]
fn a_function_under_a_name_that_the_kernel_lacks_is_refused_with_the_one_that_it_has() {
    let of = |decl: &str, call: &str| compiled(&ASKS.replace("DECL", decl).replace("SEEN", call));
    let Some(old) = of("u32 scx_bpf_dispatch(u64 dsq_id) __ksym", "scx_bpf_dispatch(1)") else {
        return;
    };
    let refused = |object: &[u8], release: &str| match sees(object, &kernel(release)) {
        Err(error) => error.problem.to_string(),
        Ok(seen) => panic!("{release} takes it: {seen}"),
    };
    assert_eq!(
        refused(&old, "7.2"),
        "asks_init instruction 2: Linux 7.2 has no kernel function 'scx_bpf_dispatch' \
         (that is of 6.12, 6.16), but \
         scx_bpf_dsq_insert in its place, and the object needs it (it is not weak)"
    );
    let new = of("bool scx_bpf_dsq_move_to_local(u64 id) __ksym", "scx_bpf_dsq_move_to_local(1)");
    let new = new.expect("a compiler");
    let what = refused(&new, "6.12");
    assert!(what.contains("but scx_bpf_consume in its place"), "{what}");
    let gone = of("struct rq *scx_bpf_cpu_rq(s32 cpu) __ksym", "scx_bpf_cpu_rq(0) == (void *)1");
    let gone = gone.expect("a compiler");
    let what = refused(&gone, "7.3");
    assert!(what.contains("but scx_bpf_cpu_curr and scx_bpf_locked_rq in its place"), "{what}");
    assert_eq!(sees(&gone, &kernel("7.2")).ok(), Some(false));
    let later = of("u32 scx_bpf_nr_cids(void) __ksym", "!scx_bpf_nr_cids()").expect("a compiler");
    let what = refused(&later, "7.0");
    assert!(what.contains("'scx_bpf_nr_cids', which 7.2, 7.3 have"), "{what}");
}

// A FIFO task that never sleeps; the server's 50 ms of each second: the first at the end of its
// second and 50 more at once, as the next second has begun, then at 2 s.
#[test]
fn sched_ext_starves_behind_real_time_tasks_where_no_server_helps_it() {
    let load = r#"{"tasks": {"hog": {"policy": "SCHED_FIFO", "run": 5000000},
                             "ext": {"run": 5000000}}}"#;
    for (release, expected_ms) in
        [("6.12", 0), ("6.16", 0), ("6.19", 0), ("7.0", 150), ("7.2", 150), ("7.3", 150)]
    {
        let object = rota_catalog::find("rr").expect("ships").object;
        let policy = Policy::link("rr", object, &kernel(release)).expect("links");
        let found = measured(&policy, load, machine(1, 3000 * MS).ideal());
        let ext = found.numbers.tasks.iter().find(|task| task.name.starts_with("ext"));
        assert_eq!(ext.map(|task| task.cpu_ns / MS), Some(expected_ms), "{release}");
    }
}

#[test]
fn flags_that_the_kernel_does_not_know_are_refused() {
    // SCX_OPS_ALWAYS_ENQ_IMMED, of 7.1
    let source = ASKS.replace("DECL", "").replace("SEEN", "0");
    let Some(object) = compiled(&source.replace(".name =", ".flags = 0x80,\n\t.name =")) else {
        return;
    };
    for (release, refused) in [("6.12", true), ("7.0", true), ("7.2", false), ("7.3", false)] {
        let policy = Policy::link("asks", &object, &kernel(release)).expect("links");
        let load = r#"{"tasks": {"t": {"run": 1000}}}"#;
        let exit = measured(&policy, load, machine(1, 10 * MS)).outcome.exit;
        assert_eq!(exit.message.contains("does not know"), refused, "{release}: {exit}");
    }
}

#[test]
fn a_scheduler_of_cids_is_refused_where_the_kernel_has_none() {
    let source = ASKS.replace("DECL", "").replace("SEEN", "0");
    let source = source.replace(
        "SCX_OPS_DEFINE(asks_ops)",
        "SEC(\".struct_ops.link\") struct sched_ext_ops_cid asks_ops",
    );
    let Some(object) = compiled(&source) else { return };
    for (release, refused) in [("6.12", true), ("7.0", true), ("7.2", false)] {
        let linked = Policy::link("asks", &object, &kernel(release));
        assert_eq!(linked.is_err(), refused, "{release}");
    }
}
