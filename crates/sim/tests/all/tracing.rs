// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tracing programs of a scheduler run where the kernel runs them, in order with its callbacks, and
//! with the kernel's arguments. Each program prints a line; what is expected is worked out by hand
//! from `kernel/sched/core.c` and `kernel/fork.c`.

use crate::traced::{lines, plain, plain_lines, refused, run};
use rota_machine::config::{Config, Costs};
use rota_machine::topology::Topology;
use rota_sim::{Simulation, Watchers};
use std::sync::Arc;

/// Tracepoints of a task's life.
const LIFE: &str = r#"
SEC("tp_btf/task_newtask") int newtask(u64 *ctx)
{
	say("newtask", TASK(0)->pid, ctx[1] == 0x01200000, me());
	return 0;
}
SEC("tp_btf/sched_process_fork") int forked(u64 *ctx)
{
	say("fork", TASK(0)->pid, TASK(1)->pid, me());
	return 0;
}
SEC("tp_btf/sched_process_exit") int exited(u64 *ctx)
{
	say("exit", TASK(0)->pid, (bool)ctx[1], TASK(0)->flags & 4);
	return 0;
}
SEC("tp_btf/sched_waking") int waking(u64 *ctx)
{
	say("waking", TASK(0)->pid, TASK(0)->__state, me());
	return 0;
}
SEC("tp_btf/sched_wakeup") int wakeup(u64 *ctx)
{
	say("wakeup", TASK(0)->pid, TASK(0)->__state, TASK(0)->on_rq);
	return 0;
}
SEC("tp_btf/sched_wakeup_new") int wakeup_new(u64 *ctx)
{
	say("wakeup_new", TASK(0)->pid, TASK(0)->__state, TASK(0)->on_rq);
	return 0;
}
SEC("tp_btf/sched_switch") int switched(u64 *ctx)
{
	say("switch", TASK(1)->pid, TASK(2)->pid, ctx[3]);
	say("current", me(), ctx[0], bpf_get_current_task_btf() == TASK(1));
	return 0;
}
"#;

#[test]
fn tracepoints_of_a_life_come_where_the_kernel_has_them() {
    // One CPU, one task, whose pid is 1001: it runs 1 ms, sleeps 1 ms, runs 1 ms and exits.
    let load = r#"{"tasks": {"t": {"loop": 1, "run1": 1000, "sleep": 1000, "run2": 1000}}}"#;
    let Some(lines) = lines(LIFE, 1, load) else { return };
    // the process that starts the workload is 1000, and current until the task is awake
    let pid_of_loader = 1000;
    let expected = format!(
        "ops.init 0 0 0
ops.enable 1001 0 0
newtask 1001 1 {pid_of_loader}
fork {pid_of_loader} 1001 {pid_of_loader}
ops.enqueue 1001 {pid_of_loader} 0
wakeup_new 1001 0 1
ops.running 1001 0 0
switch 0 1001 0
current 0 0 1
ops.stopping 1001 1001 0
ops.quiescent 1001 1001 0
switch 1001 0 1
current 1001 0 1
waking 1001 1 0
ops.enqueue 1001 0 0
wakeup 1001 0 1
ops.running 1001 0 0
switch 0 1001 0
current 0 0 1
exit 1001 1 4
ops.stopping 1001 1001 0
ops.quiescent 1001 1001 0
switch 1001 0 128
current 1001 0 1
ops.disable 1001 0 0"
    );
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());
}

#[test]
fn programs_before_and_after_a_function_nest_as_in_the_kernel() {
    let programs = r#"
static long (*const bpf_probe_read_kernel)(void *dst, u32 size, const void *from) = (void *)113;
static long (*const bpf_get_func_arg)(void *ctx, u32 n, u64 *value) = (void *)183;
static long (*const bpf_get_func_ret)(void *ctx, u64 *value) = (void *)184;
static long (*const bpf_get_func_arg_cnt)(void *ctx) = (void *)185;
SEC("fexit/try_to_wake_up") int woken(u64 *ctx)
{
	u64 ret = 7, second = 0;

	bpf_get_func_ret(ctx, &ret);
	bpf_get_func_arg(ctx, 1, &second);
	say("fexit ttwu", ctx[3], ret, second);
	return 0;
}
SEC("fentry/try_to_wake_up") int wakes_first(u64 *ctx)
{
	u64 ret;

	say("fentry ttwu 1", ctx[1], bpf_get_func_arg_cnt(ctx), bpf_get_func_ret(ctx, &ret));
	return 0;
}
SEC("fentry/try_to_wake_up") int wakes_last(u64 *ctx)
{
	say("fentry ttwu 2", TASK(0)->pid, ctx[1], ctx[2]);
	return 0;
}
SEC("kprobe/try_to_wake_up") int probe(struct pt_regs *regs)
{
	const struct task_struct *p = (void *)regs->di;
	s32 pid = 0;

	bpf_probe_read_kernel(&pid, sizeof(pid), &p->pid);
	say("kprobe ttwu", pid, regs->si, regs->dx);
	return 0;
}
SEC("kretprobe/try_to_wake_up") int ret_probe(struct pt_regs *regs)
{
	say("kretprobe ttwu", regs->ax, 0, 0);
	return 0;
}
SEC("tp_btf/sched_waking") int waking(u64 *ctx)
{
	say("waking", TASK(0)->pid, 0, 0);
	return 0;
}
SEC("tp_btf/sched_wakeup") int wakeup(u64 *ctx)
{
	say("wakeup", TASK(0)->pid, 0, 0);
	return 0;
}
SEC("fentry/select_task_rq_scx") int selects(u64 *ctx)
{
	say("select", TASK(0)->pid, ctx[1], ctx[2]);
	return 0;
}
SEC("fexit/select_task_rq_scx") int selected(u64 *ctx)
{
	say("selected", ctx[3], 0, 0);
	return 0;
}
SEC("fentry/enqueue_task_scx") int enqueues(u64 *ctx)
{
	say("enqueue", ((struct rq *)ctx[0])->cpu, TASK(1)->pid, ctx[2] & 1);
	return 0;
}
SEC("fexit/enqueue_task_scx") int enqueued(u64 *ctx)
{
	say("enqueued", TASK(1)->scx.flags & 1, 0, 0);
	return 0;
}
"#;
    // Two CPUs, both idle when the task wakes after 2 ms: TASK_NORMAL is 3, WF_TTWU 8,
    // ENQUEUE_WAKEUP 1, SCX_TASK_QUEUED 1, EOPNOTSUPP 95. Of two fentry programs the one that is
    // attached last comes first, and kprobes come before both.
    let load = r#"{"tasks": {"t": {"loop": 1, "run1": 1000, "sleep": 1000, "run2": 1000}}}"#;
    let Some(lines) = plain_lines(programs, 2, load) else { return };
    let expected = "select 1001 0 4
selected 0 0 0
enqueue 0 1001 0
enqueued 1 0 0
kprobe ttwu 1001 3 0
fentry ttwu 2 1001 3 0
fentry ttwu 1 3 3 -95
waking 1001 0 0
select 1001 0 8
selected 0 0 0
enqueue 0 1001 1
enqueued 1 0 0
wakeup 1001 0 0
fexit ttwu 1 1 3
kretprobe ttwu 1 0 0";
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());
}

#[test]
fn a_running_task_that_must_move_leaves_for_the_stopper() {
    let programs = r#"
SEC("tp_btf/sched_switch") int switched(u64 *ctx)
{
	say("switch", TASK(1)->pid, TASK(2)->pid, ctx[3]);
	if (TASK(1)->flags & 0x04000000)
		say("kthread", TASK(1)->nr_cpus_allowed, TASK(1)->prio, me());
	return 0;
}
SEC("tp_btf/sched_migrate_task") int migrated(u64 *ctx)
{
	say("migrate", TASK(0)->pid, TASK(0)->thread_info.cpu, ctx[1]);
	say("by", me(), 0, 0);
	return 0;
}
"#;
    let load = r#"{"tasks": {"t": {"loop": 1, "phases": {
        "a": {"cpus": [0], "run": 1000}, "b": {"cpus": [1], "run": 1000}}}}}"#;
    let Some(lines) = plain_lines(programs, 2, load) else { return };
    // The stopper of CPU 0 has pid 16, and sleeps again (TASK_INTERRUPTIBLE, 1) when it has moved
    // the task. CPUs that pick at the same time do so in turn.
    let expected = "switch 0 1001 0
switch 1001 16 0
migrate 1001 0 1
by 16 0 0
switch 16 0 1
kthread 1 0 16
switch 0 1001 0
switch 1001 0 128";
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());
}

#[test]
fn a_task_that_changes_its_group_is_seen_on_its_way() {
    let programs = r#"
static long (*const bpf_probe_read_kernel_str)(void *dst, u32 size, const void *from) = (void *)115;
SEC("fentry/sched_move_task") int moves(u64 *ctx)
{
	say("sched_move_task", TASK(0)->pid, ctx[1], 0);
	return 0;
}
SEC("fentry/scx_cgroup_move_task") int moving(u64 *ctx)
{
	say("scx_cgroup_move_task", TASK(0)->pid, 0, 0);
	return 0;
}
SEC("fentry/dequeue_task_scx") int dequeues(u64 *ctx)
{
	say("dequeue", TASK(1)->pid, ctx[2] & 1, 0);
	return 0;
}
SEC("fentry/put_prev_task_scx") int puts(u64 *ctx)
{
	say("put_prev", TASK(1)->pid, ctx[2] ? TASK(2)->pid : -1, 0);
	return 0;
}
SEC("fentry/set_next_task_scx") int sets(u64 *ctx)
{
	say("set_next", TASK(1)->pid, ctx[2], 0);
	return 0;
}
SEC("raw_tp/cgroup_attach_task") int attached(u64 *ctx)
{
	char path[8] = {};

	bpf_probe_read_kernel_str(path, sizeof(path), (void *)ctx[1]);
	say("attach", path[0] == '/' ? path[1] : 0, ctx[3], ((struct cgroup *)ctx[0])->level);
	return 0;
}
"#;
    let load = r#"{"tasks": {"t": {"loop": 1, "phases": {
        "a": {"taskgroup": "/a", "run": 1000}, "b": {"taskgroup": "/b/c", "run": 1000}}}}}"#;
    let Some(lines) = plain_lines(programs, 1, load) else { return };
    // 98 is the letter b; /b/c is on level 2. DEQUEUE_SLEEP is 1. The group changes between
    // sched_change_begin() and sched_change_end(), and the task goes on with its slice.
    let expected = "set_next 1001 1 0
sched_move_task 1001 0 0
dequeue 1001 0 0
put_prev 1001 -1 0
scx_cgroup_move_task 1001 0 0
set_next 1001 0 0
attach 98 0 2
dequeue 1001 1 0
put_prev 1001 0 0";
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());
}

#[test]
fn groups_that_are_made_written_and_removed_from_outside_are_seen() {
    let programs = r#"
static long (*const bpf_probe_read_kernel_str)(void *dst, u32 size, const void *from) = (void *)115;
SEC("tp_btf/cgroup_mkdir") int made(u64 *ctx)
{
	say("mkdir", ((struct cgroup *)ctx[0])->level, ((struct cgroup *)ctx[0])->kn->id, 0);
	return 0;
}
SEC("tp_btf/cgroup_rmdir") int removed(u64 *ctx)
{
	say("rmdir", ((struct cgroup *)ctx[0])->kn->id, 0, 0);
	return 0;
}
SEC("fentry/cpuset_write_resmask") int writes(u64 *ctx)
{
	char text[8] = {};

	bpf_probe_read_kernel_str(text, sizeof(text), (void *)ctx[1]);
	say("write", text[0], ctx[2], ctx[3]);
	return 0;
}
SEC("fexit/cpuset_write_resmask") int written(u64 *ctx)
{
	say("written", ctx[4], 0, 0);
	return 0;
}
"#;
    let load = r#"{"tasks": {"t": {"loop": 1, "run": 10000}}, "events": [
        {"at": "1ms", "cgroup": "/a/b", "create": true},
        {"at": "2ms", "cgroup": "/a", "cpuset.cpus": [0]},
        {"at": "3ms", "cgroup": "/a/b", "destroy": true}]}"#;
    let Some(lines) = plain_lines(programs, 1, load) else { return };
    // The root has id 1, the others follow. 48 is the digit 0, one byte that is written whole.
    let expected = "mkdir 1 2 0
mkdir 2 3 0
write 48 1 0
written 1 0 0
rmdir 3 0 0";
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());
}

#[test]
fn a_record_has_what_the_kernel_writes_into_it() {
    let programs = r#"
SEC("tp/sched/sched_switch") int switched(struct trace_event_raw_sched_switch *record)
{
	say("switch", record->prev_pid, record->next_pid, record->prev_state);
	say("names", record->prev_comm[0], record->next_comm[0], record->ent.pid);
	say("prios", record->prev_prio, record->next_prio, 0);
	return 0;
}
SEC("tracepoint/sched/sched_waking") int waking(struct trace_event_raw_sched_wakeup_template *record)
{
	say("waking", record->pid, record->prio, record->target_cpu);
	return 0;
}
"#;
    let load = r#"{"tasks": {"t": {"loop": 1, "priority": 5, "cpus": [1], "run1": 1000,
        "sleep": 1000, "run2": 1000}}}"#;
    let Some(lines) = plain_lines(programs, 2, load) else { return };
    // "swapper" begins with s (115), "t-0" with t (116). Priority 125 is nice 5, idle's is 140 here.
    // The leader of a process that has exited is a zombie (32).
    let expected = "switch 0 1001 0
names 115 116 0
prios 140 125 0
switch 1001 0 1
names 116 115 1001
prios 125 140 0
waking 1001 125 1
switch 0 1001 0
names 115 116 0
prios 140 125 0
switch 1001 0 32
names 116 115 1001
prios 125 140 0";
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());
}

#[test]
fn registration_is_seen_before_ops_init() {
    let programs = r#"
SEC("fentry/bpf_scx_reg") int registers(void *ctx) { say("reg", 0, 0, 0); return 0; }
SEC("fexit/bpf_scx_reg") int registered(u64 *ctx) { say("registered", ctx[2], 0, 0); return 0; }
"#;
    let load = r#"{"tasks": {"t": {"loop": 1, "run": 1000}}}"#;
    let Some(lines) = lines(programs, 1, load) else { return };
    assert_eq!(lines[..3], ["reg 0 0 0", "registered 0 0 0", "ops.init 0 0 0"]);
}

#[test]
fn instructions_are_charged_where_they_run() {
    // Two instructions: a result, and the exit. With 1 us for each, the task that comes to the CPU
    // pays 2 us for the switch to it: 1 ms of work ends after 1002 us.
    let programs = r#"
SEC("tp_btf/sched_switch") int switched(void *ctx) { return 0; }
"#;
    let Some(policy) = plain(programs) else { return };
    let load = r#"{"tasks": {"t": {"loop": 1, "run": 1000}}}"#;
    let load = Arc::new(rota_workload::parse("load.json", load).expect("legal"));
    let config = Config::new(Topology::flat(1).expect("a CPU"), 1_000_000_000);
    let costs = Costs { insn_ps: 1_000_000, ..Costs::none() };
    let config = Config { costs, exact_slices: true, ..config };
    let measured = Simulation::new(&policy, &load, config).measure(Watchers::default());
    let measured = measured.expect("a run");
    assert_eq!(measured.numbers.tasks[0].finished_ns, Some(1_002_000));
    let counts: Vec<_> = measured.outcome.counters.places().collect();
    assert_eq!(counts.len(), 1);
    assert_eq!((counts[0].0.name(), counts[0].1.calls), ("sched_switch", 2));
    assert_eq!(counts[0].1.instructions, 4);
}

#[test]
fn storage_of_a_task_is_there_until_it_is_gone() {
    // Written at the fork, read at the exit.
    let programs = r#"
TASK_STORAGE(notes, u64);
SEC("tp_btf/sched_process_fork") int forked(u64 *ctx)
{
	u64 *note = bpf_task_storage_get(&notes, TASK(1), NULL, STORAGE_GET_CREATE);

	if (note)
		*note = 42;
	return 0;
}
SEC("tp_btf/sched_process_exit") int exited(u64 *ctx)
{
	u64 *note = bpf_task_storage_get(&notes, TASK(0), NULL, 0);

	say("note", note ? *note : 0, 0, 0);
	return 0;
}
"#;
    let load = r#"{"tasks": {"t": {"loop": 1, "run": 1000}}}"#;
    let Some(lines) = plain_lines(programs, 1, load) else { return };
    assert_eq!(lines, ["note 42 0 0"]);
}

#[test]
fn a_tracing_program_may_call_what_sched_ext_registers_for_it() {
    let kick = |section: &str| {
        format!("SEC(\"{section}\") int kicks(void *ctx) {{ scx_bpf_kick_cpu(0, 0); return 0; }}\n")
    };
    let load = r#"{"tasks": {"t": {"loop": 1, "run": 1000}}}"#;
    let Some(policy) = plain(&kick("tp_btf/sched_wakeup_new")) else { return };
    assert!(!run(&policy, 1, load).outcome.exit.to_string().contains("error"));
    let Some(why) = refused(&kick("kprobe/wake_up_new_task")) else { return };
    assert!(why.contains("a kprobe program may not call scx_bpf_kick_cpu()"), "{why}");
    let insert = "SEC(\"fentry/enqueue_task_scx\") int inserts(u64 *ctx)\n\
        { dsq_insert(TASK(1), 7, 1, 0); return 0; }\n";
    let Some(why) = refused(insert) else { return };
    assert!(why.contains("a tracing program may not call scx_bpf_dsq_insert()"), "{why}");
}
