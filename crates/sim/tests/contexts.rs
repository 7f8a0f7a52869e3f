// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel functions may be called from where the kernel's filter lets them, and their rows decide:
//! `scx_kfunc_context_filter()` of `kernel/sched/ext.c`, and the sets that it looks at.

use rota_machine::config::{Config, DEFAULT_HZ};
use rota_machine::topology::Topology;
use rota_object::btf::reference;
use rota_sim::{Policy, Simulation, Watchers};
use std::sync::Arc;

/// A scheduler that calls CALL, of a function that is declared as DECL, once in one callback.
const SOURCE: &str = r#"/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "rota.bpf.h"

const volatile u32 place;
DECL;

__kinline void call_in(u32 here, struct task_struct *p)
{
	u64 iter[8] = {};
	bool idle = false;

	if (place == here)
		CALL;
}

s32 BPF_STRUCT_OPS(select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	call_in(1, p);
	return prev_cpu;
}

void BPF_STRUCT_OPS(enqueue, struct task_struct *p, u64 enq_flags)
{
	call_in(2, p);
	dsq_insert(p, SCX_DSQ_GLOBAL, 1000000, 0);
}

void BPF_STRUCT_OPS(dispatch, s32 cpu, struct task_struct *prev)
{
	call_in(3, prev);
}

void BPF_STRUCT_OPS(running, struct task_struct *p)
{
	call_in(4, p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(init_task, struct task_struct *p, void *args)
{
	call_in(5, p);
	return 0;
}

SCX_OPS_DEFINE(places_ops) = {
	.select_cpu = (void *)select_cpu,
	.enqueue = (void *)enqueue,
	.dispatch = (void *)dispatch,
	.running = (void *)running,
	.init_task = (void *)init_task,
	.name = "places",
};
"#;

const PLACES: [&str; 5] = ["select_cpu", "enqueue", "dispatch", "running", "init_task"];

/// Function, declaration, call, and where that is allowed.
const CALLS: [(&str, &str, &str, &[&str]); 7] = [
    // scx_kfunc_ids_enqueue_dispatch, scx_kfunc_ids_select_cpu
    (
        "scx_bpf_dsq_insert",
        "",
        "dsq_insert(p, SCX_DSQ_LOCAL, 1000000, 0)",
        &["select_cpu", "enqueue", "dispatch"],
    ),
    // scx_kfunc_ids_dispatch
    (
        "scx_bpf_dispatch_nr_slots",
        "u32 scx_bpf_dispatch_nr_slots(void) __ksym",
        "scx_bpf_dispatch_nr_slots()",
        &["dispatch"],
    ),
    ("scx_bpf_dispatch_cancel", "", "scx_bpf_dispatch_cancel()", &["dispatch"]),
    // scx_kfunc_ids_unlocked, and from dispatch
    (
        "scx_bpf_dsq_move_set_slice",
        "void scx_bpf_dsq_move_set_slice(void *it, u64 slice) __ksym",
        "scx_bpf_dsq_move_set_slice(iter, 1000000)",
        &["dispatch", "init_task"],
    ),
    (
        "scx_bpf_dsq_move_set_vtime",
        "void scx_bpf_dsq_move_set_vtime(void *it, u64 vtime) __ksym",
        "scx_bpf_dsq_move_set_vtime(iter, 1)",
        &["dispatch", "init_task"],
    ),
    // scx_kfunc_ids_select_cpu: also where nothing is locked
    (
        "scx_bpf_select_cpu_dfl",
        "",
        "scx_bpf_select_cpu_dfl(p, 0, 0, &idle)",
        &["select_cpu", "enqueue", "init_task"],
    ),
    // scx_kfunc_ids_unlocked
    ("scx_bpf_create_dsq", "", "scx_bpf_create_dsq(7, -1)", &["init_task"]),
];

/// The policy, unless there is no compiler here.
fn compiled(decl: &str, call: &str) -> Option<Policy> {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("places.bpf.c");
    std::fs::write(&path, SOURCE.replace("DECL", decl).replace("CALL", call)).expect("written");
    let object = match rota_catalog::compile(&path, &[], &[]) {
        Ok(object) => object,
        Err(rota_catalog::CompileError::NoCompiler { reason, .. }) => {
            eprintln!("skipped: {reason}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    Some(Policy::link("places", &object, &reference(), DEFAULT_HZ).expect("links"))
}

#[test]
fn a_kernel_function_is_refused_where_its_row_does_not_allow_it() {
    let load = r#"{"tasks": {"t": {"instance": 3, "run": 1000, "sleep": 1000}}}"#;
    let load = Arc::new(rota_workload::parse("load.json", load).expect("legal"));
    for (name, decl, call, allowed) in CALLS {
        let Some(policy) = compiled(decl, call) else { return };
        for (at, place) in (1..).zip(PLACES) {
            let mut policy = policy.clone();
            policy.set("place", &format!("{at}")).expect("a variable");
            let config = Config::new(Topology::flat(2).expect("CPUs"), 100_000_000);
            let simulation = Simulation::new(&policy, &load, config);
            let exit = simulation.measure(Watchers::default()).expect("a run").outcome.exit;
            let refused = format!("{name}() may not be called from ops.{place}()");
            let is_refused = exit.to_string().contains(&refused);
            assert_eq!(is_refused, !allowed.contains(&place), "{name} from {place}: {exit}");
        }
    }
}
