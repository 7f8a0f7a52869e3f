// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads through arguments that the kernel marks nullable: `prev` of `ops.dispatch()`, `to` of
//! `ops.yield()`. Where nothing compares the argument, the object is refused when it is loaded, as
//! the kernel's verifier does. Where something does, a load through NULL ends the run.

use crate::common::{compiled, run, scheduler};

/// `ops.dispatch()` with a body, of a scheduler with some functions more. Tasks wait in a queue of
/// its own, so a CPU that was idle asks for one: no task ran there before.
fn dispatch(functions: &str, body: &str) -> String {
    let functions = format!(
        "volatile u64 sum;\n{functions}\n\
         s32 BPF_STRUCT_OPS(select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)\n\
         {{\n\tscx_bpf_kick_cpu(prev_cpu, SCX_KICK_IDLE);\n\treturn prev_cpu;\n}}\n\
         void BPF_STRUCT_OPS(enqueue, struct task_struct *p, u64 enq_flags)\n\
         {{\n\tdsq_insert(p, 7, 1000000, enq_flags);\n}}\n\
         void BPF_STRUCT_OPS(dispatch, s32 cpu, struct task_struct *prev)\n\
         {{\n{body}\n\tdsq_move_to_local(7);\n}}\n\
         s32 BPF_STRUCT_OPS_SLEEPABLE(init)\n{{\n\treturn scx_bpf_create_dsq(7, -1);\n}}\n"
    );
    let members = ".select_cpu = (void *)select_cpu, .enqueue = (void *)enqueue, \
                   .dispatch = (void *)dispatch, .init = (void *)init,";
    scheduler("sched_ext_ops", &functions, members)
}

const REASON: &str = "no kernel loads this program, as 'prev' may be NULL and is read without a \
                      check";

/// Why an object is not loaded.
fn refused(source: &str) -> Option<String> {
    let policy = compiled(source)?;
    Some(run(&policy).expect_err("no verifier accepts it").to_string())
}

#[test]
fn a_load_through_prev_without_a_check_is_refused() {
    let Some(error) = refused(&dispatch("", "\tsum += prev->pid;")) else { return };
    assert!(error.contains("ops.dispatch() reads through 'prev' in dispatch()"), "{error}");
    assert!(error.contains(REASON) && error.contains("sum += prev->pid;"), "{error}");
}

/// The verifier follows the way on which `prev` is NULL; here a run does.
#[test]
fn a_load_after_a_check_that_does_not_prevent_it_ends_the_run() {
    let body =
        "\tif (!prev)\n\t\tsum += 2;\n\tasm volatile(\"\" ::: \"memory\");\n\tsum += prev->pid;";
    let Some(policy) = compiled(&dispatch("", body)) else { return };
    let exit = run(&policy).expect("a run");
    assert!(exit.contains("ops.dispatch(): reads through 'prev', which is NULL here"), "{exit}");
    assert!(exit.contains(REASON) && exit.contains("sum += prev->pid;"), "{exit}");
}

/// What a function that gets the task finds out is not followed: it may have compared it.
#[test]
fn a_load_after_a_function_that_compares_is_not_refused() {
    let functions = "__attribute__((noinline)) u64 there(struct task_struct *p)\n{\n\
                     \treturn p != NULL;\n}\n";
    let body = "\tif (there(prev))\n\t\tsum += prev->pid;";
    let Some(policy) = compiled(&dispatch(functions, body)) else { return };
    let exit = run(&policy).expect("a run");
    assert!(!exit.contains("NULL"), "{exit}");
}

#[test]
fn a_load_behind_a_check_does_not() {
    let Some(policy) = compiled(&dispatch("", "\tif (prev)\n\t\tsum += prev->pid;")) else {
        return;
    };
    let exit = run(&policy).expect("a run");
    assert!(!exit.contains("NULL"), "{exit}");
}

#[test]
fn a_member_of_a_member_is_a_load_through_it_too() {
    let body = "\tstruct sched_ext_entity *e = &prev->scx;\n\tsum += e->slice;";
    let Some(error) = refused(&dispatch("", body)) else { return };
    assert!(error.contains(REASON), "{error}");
}

#[test]
fn a_function_that_gets_it_is_looked_at() {
    let functions = "__attribute__((noinline)) u64 pid_of(struct task_struct *p)\n{\n\
                     \treturn p->pid;\n}\n";
    let Some(error) = refused(&dispatch(functions, "\tsum += pid_of(prev);")) else { return };
    assert!(error.contains(REASON) && error.contains("in pid_of()"), "{error}");
}

#[test]
fn a_load_through_another_pointer_that_is_null_reads_zero() {
    // As in the kernel, whose exception table has it: a kernel thread has no mm.
    let body = "\tstruct mm_struct *mm = prev ? prev->mm : NULL;\n\tsum += (u64)mm->owner;";
    let Some(policy) = compiled(&dispatch("", body)) else { return };
    let exit = run(&policy).expect("a run");
    assert!(!exit.contains("NULL"), "{exit}");
}

#[test]
fn a_load_through_the_task_that_is_yielded_to_is_refused() {
    let functions = "volatile u64 sum;\nbool BPF_STRUCT_OPS(yield, struct task_struct *from, \
                     struct task_struct *to)\n{\n\tsum += to->pid;\n\treturn false;\n}\n";
    let source = scheduler("sched_ext_ops", functions, ".yield = (void *)yield,");
    let Some(error) = refused(&source) else { return };
    assert!(error.contains("ops.yield() reads through 'to' in yield()"), "{error}");
}
