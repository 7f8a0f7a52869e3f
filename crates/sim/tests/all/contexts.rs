// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel functions may be called from where the kernel's filter lets them, and their rows decide:
//! `scx_kfunc_context_filter()` of `kernel/sched/ext/ext.c`, and the sets that it looks at, before
//! any of its code runs; so with what else a kernel refuses to register.

use crate::common::{compiled, run, scheduler};

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

#[test]
fn a_kernel_function_is_refused_where_its_row_does_not_allow_it() {
    for (name, decl, call, allowed) in CALLS {
        let source = SOURCE.replace("DECL", decl).replace("CALL", call);
        let Some(policy) = compiled(&source) else { return };
        for (at, place) in (1..).zip(PLACES) {
            let mut policy = policy.clone();
            // What is decided by data that nobody writes is dropped before it is looked at.
            policy.set("place", &format!("{at}")).expect("a variable");
            let said = run(&policy).unwrap_or_else(|error| error.to_string());
            let refused =
                format!("places: ops.{place}() may not call {name}(), and does in {place}");
            let is_refused = said.starts_with(&refused);
            assert_eq!(is_refused, !allowed.contains(&place), "{name} from {place}: {said}");
        }
    }
}

#[test]
fn a_refusal_names_the_function_and_line_of_the_call_and_who_may_make_it() {
    let functions =
        "__attribute__((noinline)) void deeper(void)\n{\n\tscx_bpf_dispatch_cancel();\n}\n\
                     void BPF_STRUCT_OPS(tick, struct task_struct *p)\n{\n\tdeeper();\n}\n";
    let source = scheduler("sched_ext_ops", functions, ".tick = (void *)tick,");
    let Some(policy) = compiled(&source) else { return };
    let error = run(&policy).expect_err("no kernel loads it").to_string();
    let start =
        "places: ops.tick() may not call scx_bpf_dispatch_cancel(), and does in deeper() at";
    assert!(error.starts_with(start), "{error}");
    assert!(error.contains("places.bpf.c:4: scx_bpf_dispatch_cancel();"), "{error}");
    assert!(error.ends_with("expected a call from ops.dispatch()"), "{error}");
}

#[test]
fn a_callback_of_a_helper_is_looked_at_with_its_program() {
    let functions = "static long (*const bpf_loop)(u32, void *, void *, u64) = (void *)181;\n\
                     static long each(u64 at, void *ctx)\n{\n\
                     \tscx_bpf_dispatch_cancel();\n\treturn 0;\n}\n\
                     void BPF_STRUCT_OPS(tick, struct task_struct *p)\n{\n\
                     \tbpf_loop(2, each, NULL, 0);\n}\n";
    let source = scheduler("sched_ext_ops", functions, ".tick = (void *)tick,");
    let Some(policy) = compiled(&source) else { return };
    let error = run(&policy).expect_err("no kernel loads it").to_string();
    assert!(error.contains("ops.tick() may not call scx_bpf_dispatch_cancel()"), "{error}");
    assert!(error.contains("in each() at instruction"), "{error}");
}

#[test]
fn a_scheduler_in_cid_form_may_not_call_functions_for_cpus() {
    // scx_kfunc_ids_cpu_only; the other way round is allowed.
    let functions = "void BPF_STRUCT_OPS(tick, struct task_struct *p)\n{\n\
                     \tscx_bpf_kick_cpu(0, 0);\n}\n";
    let cid = scheduler("sched_ext_ops_cid", functions, ".tick = (void *)tick,");
    let cpu = scheduler("sched_ext_ops", functions, ".tick = (void *)tick,");
    let (Some(cid), Some(cpu)) = (compiled(&cid), compiled(&cpu)) else { return };
    let error = run(&cid).expect_err("no kernel loads it").to_string();
    assert!(error.contains("ops.tick() may not call scx_bpf_kick_cpu()"), "{error}");
    assert!(error.ends_with("as the scheduler is in cid form"), "{error}");
    run(&cpu).expect("a run");
}

#[test]
fn a_program_that_may_sleep_is_refused_where_the_kernel_may_not() {
    let functions = "void BPF_STRUCT_OPS_SLEEPABLE(tick, struct task_struct *p)\n{\n}\n";
    let source = scheduler("sched_ext_ops", functions, ".tick = (void *)tick,");
    let Some(policy) = compiled(&source) else { return };
    let error = run(&policy).expect_err("no kernel registers it").to_string();
    assert!(error.starts_with("places: ops.tick() is tick(), a program that may sleep"), "{error}");
    assert!(error.ends_with("expected struct_ops/tick"), "{error}");
}

#[test]
fn a_program_that_may_not_sleep_may_not_make_a_queue() {
    let functions = "s32 BPF_STRUCT_OPS(init)\n{\n\treturn scx_bpf_create_dsq(7, -1);\n}\n";
    let source = scheduler("sched_ext_ops", functions, ".init = (void *)init,");
    let Some(policy) = compiled(&source) else { return };
    let error = run(&policy).expect_err("no kernel loads it").to_string();
    assert!(error.contains("ops.init() may not call scx_bpf_create_dsq()"), "{error}");
    assert!(
        error.ends_with("expected a program that may sleep (section struct_ops.s/…)"),
        "{error}"
    );
}

#[test]
fn sub_schedulers_need_the_cid_form() {
    // validate_ops() says so once the scheduler is registered: it is ejected.
    let functions = "s32 BPF_STRUCT_OPS_SLEEPABLE(sub_attach, void *args)\n{\n\treturn 0;\n}\n";
    let member = ".sub_attach = (void *)sub_attach,";
    let cpu = scheduler("sched_ext_ops", functions, member);
    let cid = scheduler("sched_ext_ops_cid", functions, member);
    let (Some(cpu), Some(cid)) = (compiled(&cpu), compiled(&cid)) else { return };
    let exit = run(&cpu).expect("it is registered");
    assert!(exit.contains("sub_attach/sub_detach requires cid-form struct_ops"), "{exit}");
    let exit = run(&cid).expect("it is registered");
    assert!(!exit.contains("cid-form"), "{exit}");
}
