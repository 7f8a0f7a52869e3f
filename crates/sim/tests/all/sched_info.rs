// SPDX-License-Identifier: MIT OR Apache-2.0
//! `task_struct.sched_info` as `kernel/sched/stats.h` keeps it: what tasks waited, in milliseconds,
//! is worked out by hand from when they run.

use crate::traced::{lines, plain, plain_lines, run};

/// What a task has waited when it exits.
const AT_EXIT: &str = r#"
#define MS(ns) ((u32)((ns) / 1000000))
SEC("tp_btf/sched_process_exit") int exited(u64 *ctx)
{
	struct task_struct *p = TASK(0);
	say("waited", p->pid, p->sched_info.pcount, MS(p->sched_info.run_delay));
	say("most, least, since", MS(p->sched_info.max_run_delay), MS(p->sched_info.min_run_delay),
	    MS(p->sched_info.last_arrival - p->start_time));
	return 0;
}
"#;

fn about(lines: Vec<String>, what: &[&str]) -> Vec<String> {
    lines.into_iter().filter(|line| what.iter().any(|word| line.starts_with(word))).collect()
}

#[test]
fn waits_after_sleeps_add_up() {
    // One CPU, in turn, until they sleep. a: 0 to 3, sleeps to 5, waits for b, 8 to 11. b: waits
    // for a, 3 to 8, sleeps to 9, waits for a, 11 to 16. A wait of nothing is not the least.
    let load = r#"{"tasks": {
        "a": {"loop": 1, "run1": 3000, "sleep": 2000, "run2": 3000},
        "b": {"loop": 1, "run1": 5000, "sleep": 1000, "run2": 5000}}}"#;
    let Some(lines) = lines(AT_EXIT, 1, load) else { return };
    let expected = [
        "waited 1001 2 3",
        "most, least, since 3 3 8",
        "waited 1002 2 5",
        "most, least, since 3 2 11",
    ];
    assert_eq!(about(lines, &["waited", "most"]), expected);
}

#[test]
fn a_task_whose_slice_ends_waits_from_then_on() {
    // Slices of 20 ms. a: 0 to 20, 40 to 50. b: waits 20, 20 to 40, waits 10, 50 to 60.
    let load = r#"{"tasks": {"a": {"loop": 1, "run": 30000}, "b": {"loop": 1, "run": 30000}}}"#;
    let Some(lines) = plain_lines(AT_EXIT, 1, load) else { return };
    let expected = [
        "waited 1001 2 20",
        "most, least, since 20 20 40",
        "waited 1002 2 30",
        "most, least, since 20 10 50",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn tasks_of_other_classes_wait_too() {
    // a: 0 to 5, makes way for r, 7 to 11; r: 5 to 7 at once.
    let load = r#"{"tasks": {
        "a": {"loop": 1, "run": 9000},
        "r": {"policy": "SCHED_FIFO", "priority": 1, "loop": 1, "delay": 5000, "run": 2000}}}"#;
    let Some(lines) = plain_lines(AT_EXIT, 1, load) else { return };
    let expected = [
        "waited 1002 1 0",
        "most, least, since 0 0 0",
        "waited 1001 2 2",
        "most, least, since 2 2 7",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_wait_begins_after_the_enqueue_and_ends_after_the_switch() {
    let programs = r#"
#define QUEUED(p) ((p)->sched_info.last_queued ? \
	(u32)(((p)->sched_info.last_queued - (p)->start_time) / 1000000) : 999)
SEC("tp_btf/sched_waking") int waking(u64 *ctx)
{
	say("waking", TASK(0)->pid, QUEUED(TASK(0)), TASK(0)->sched_info.pcount);
	return 0;
}
SEC("tp_btf/sched_wakeup") int wakeup(u64 *ctx)
{
	say("woken", TASK(0)->pid, QUEUED(TASK(0)), TASK(0)->sched_info.pcount);
	return 0;
}
SEC("tp_btf/sched_switch") int switched(u64 *ctx)
{
	say("switch", TASK(2)->pid, QUEUED(TASK(2)), TASK(2)->sched_info.pcount);
	return 0;
}
SEC("tp_btf/sched_process_exit") int exited(u64 *ctx)
{
	say("exit", TASK(0)->pid, QUEUED(TASK(0)), TASK(0)->sched_info.pcount);
	return 0;
}
"#;
    // it runs 0 to 1, sleeps to 3, runs to 4; 999: it does not wait
    let load = r#"{"tasks": {"t": {"loop": 1, "run1": 1000, "sleep": 2000, "run2": 1000}}}"#;
    let Some(lines) = plain_lines(programs, 1, load) else { return };
    let expected = [
        "switch 1001 0 0",
        "switch 0 999 0",
        "waking 1001 999 1",
        "woken 1001 3 1",
        "switch 1001 3 1",
        "exit 1001 999 2",
        "switch 0 999 0",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn what_is_not_kept_is_told() {
    // the time of day of the longest wait; the rest is filled
    let program = r#"
SEC("tp_btf/sched_process_exit") int exited(u64 *ctx)
{
	say("when", TASK(0)->sched_info.max_run_delay_ts.tv_sec, TASK(0)->sched_info.pcount, 0);
	return 0;
}
"#;
    let Some(policy) = plain(program) else { return };
    let measured = run(&policy, 1, r#"{"tasks": {"t": {"loop": 1, "run": 1000}}}"#);
    let kernel = &policy.image().kernel_btf;
    let info = kernel.member_at("task_struct", "sched_info.max_run_delay_ts").expect("a field");
    let unfilled = &measured.outcome.unfilled_reads;
    assert_eq!(unfilled, &[("task_struct".to_owned(), info.offset(), 1)]);
}
