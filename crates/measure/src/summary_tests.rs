// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the summary against timelines worked out by hand.

#[path = "summary_tests/laws.rs"]
mod laws;
#[path = "summary_tests/spans.rs"]
mod spans;

use super::*;
use crate::numbers::{LatencyNumbers, WorkNumbers};

fn at(time_ns: u64, cpu: u32, kind: EventKind) -> Event {
    Event { time_ns, cpu: Some(cpu), kind }
}

fn task(pid: u32, name: &str, weight: u32) -> Event {
    at(0, 0, EventKind::Task { pid, name: name.into(), weight, instance_of: None })
}

fn fork(time_ns: u64, pid: u32) -> Event {
    at(time_ns, 0, EventKind::Fork { pid, parent: 0 })
}

fn wake(time_ns: u64, pid: u32) -> Event {
    at(time_ns, 0, EventKind::Wakeup { pid, waker: 0 })
}

fn enter(time_ns: u64, cpu: u32, pid: u32) -> Event {
    at(time_ns, cpu, EventKind::SwitchIn { pid })
}

fn leave(time_ns: u64, cpu: u32, pid: u32, why: OffCpu) -> Event {
    at(time_ns, cpu, EventKind::SwitchOut { pid, why })
}

fn numbers(cpus: u32, events: &[Event], end_ns: u64) -> Numbers {
    let mut summary = Summary::new(cpus);
    for event in events {
        summary.event(event);
    }
    summary.finish(end_ns)
}

/// ```text
/// CPU 0: pid 1 0-100
/// CPU 1: pid 2 0-20 | forced from 10, idle 20-50 | pid 2 50-60 | idle 60-100, forced until 70
/// ```
#[test]
fn forced_idle_time_is_idle_time_that_is_not_wasted() {
    let forced = |time_ns, forced| at(time_ns, 1, EventKind::ForcedIdle { forced });
    let events = [
        [task(1, "a", 100), fork(0, 1), wake(0, 1), enter(0, 0, 1)],
        [task(2, "b", 100), fork(0, 2), wake(0, 2), enter(0, 1, 2)],
        [forced(10, true), leave(20, 1, 2, OffCpu::Runnable), forced(50, false), enter(50, 1, 2)],
        [forced(55, true), leave(60, 1, 2, OffCpu::Runnable), forced(70, false), wake(80, 1)],
    ]
    .concat();
    let found = numbers(2, &events, 100);
    let of_cpu = |cpu: usize| {
        let cpu = found.cpus[cpu];
        (cpu.idle_ns, cpu.forced_idle_ns, cpu.wasted_idle_ns)
    };
    // idle 20-50 and 60-100, forced 20-50 and 60-70; b waits from 70 on for nothing
    assert_eq!((of_cpu(0), of_cpu(1)), ((0, Some(0), 0), (70, Some(40), 30)));
    assert_eq!(found.totals.forced_idle_ns, Some(40));
    assert_eq!(numbers(2, &events[..8], 100).totals.forced_idle_ns, None);
}

/// ```text
/// CPU 0: a 0-60 | program (woken at 50) 60-80 | a 80-100
/// ```
#[test]
fn the_program_of_the_scheduler_takes_capacity_and_is_no_part_of_the_load() {
    let program = at(0, 0, EventKind::Program { pid: 9 });
    let events = [
        vec![task(9, "scx_odd", 100), program, fork(0, 9), task(1, "a", 100), fork(0, 1)],
        vec![wake(0, 1), enter(0, 0, 1), wake(50, 9), leave(60, 0, 1, OffCpu::Runnable)],
        vec![enter(60, 0, 9), leave(80, 0, 9, OffCpu::Sleep), enter(80, 0, 1)],
        vec![leave(100, 0, 1, OffCpu::Exit), at(100, 0, EventKind::Exit { pid: 1 })],
    ]
    .concat();
    let mut summary = Summary::new(1);
    events.iter().for_each(|event| summary.event(event));
    let Results { numbers, groups, .. } = summary.finish_all(100);

    let [program, load] = &numbers.tasks[..] else { panic!("{:?}", numbers.tasks) };
    assert!(program.is_program && !load.is_program);
    assert_eq!((program.cpu_ns, program.switches, load.cpu_ns), (20, 1, 80));
    // its own wakeup is told, and is none of the load's, which has one that was answered at once
    assert_eq!(program.wakeup_latency_ns.max, Some(10));
    assert_eq!(numbers.totals.wakeup_latency_ns.max, Some(0));
    assert_eq!((program.lag_ns, numbers.totals.turnaround_ns.count), (None, 1));
    // one CPU less what the program took is the load's ideal: from 0 to 100 all of it, to a
    let lag = numbers.totals.lag_ns.expect("it wanted to run");
    assert_eq!((lag.min, lag.max), (0, 0));
    assert_eq!(numbers.totals.makespan_ns, Some(100));
    assert_eq!(groups.iter().map(|group| &*group.name).collect::<Vec<_>>(), ["a"]);
}

/// ```text
/// pid 7: "sh" 0-10, exits | forked at 20, runs 30-35, exits | forked at 40 as "ls", runs 41-44
/// ```
#[test]
fn a_pid_that_is_used_again_is_another_task() {
    let exits =
        |time_ns| [at(time_ns, 0, EventKind::Exit { pid: 7 }), leave(time_ns, 0, 7, OffCpu::Exit)];
    let first = [task(7, "sh", 200), fork(0, 7), enter(0, 0, 7)];
    let second = [fork(20, 7), wake(20, 7), enter(30, 0, 7)];
    let name = EventKind::Task { pid: 7, name: "ls".into(), weight: 100, instance_of: None };
    let third = [at(40, 0, name), fork(40, 7), wake(40, 7), enter(41, 0, 7)];
    let lives = [&first[..], &exits(10), &second, &exits(35), &third, &exits(44)].concat();
    let numbers = numbers(1, &lives, 50);
    let rows: Vec<_> =
        numbers.tasks.iter().map(|t| (&*t.name, t.pid, t.weight, t.cpu_ns)).collect();
    assert_eq!(rows, [("sh", 7, 200, 10), ("sh", 7, 200, 5), ("ls", 7, 100, 3)]);
    let lifes: Vec<_> = numbers.tasks.iter().map(|t| (t.started_ns, t.finished_ns)).collect();
    assert_eq!(lifes, [(0, Some(10)), (20, Some(35)), (40, Some(44))]);
    let delays: Vec<u64> = numbers.tasks.iter().map(|t| t.run_delay_ns).collect();
    assert_eq!(delays, [0, 10, 1]);
}

/// Two CPUs, 100 ns:
///
/// ```text
/// CPU 0: a 0-30 | b 30-60 | a 60-100 (still running)
/// CPU 1: idle 0-10 | c 10-20 | idle 20-50 | c 55-65 after waking at 50 | idle 65-100
/// b: runnable 0-30 and 60-90 (ends its wait by moving to CPU 1), runs 90-95 there, exits
/// c: wakes at 97 and still waits at the end
/// ```
fn timeline() -> Vec<Event> {
    use OffCpu::{Exit, Runnable, Sleep};
    vec![
        task(1, "a-0", 100),
        task(2, "b-1", 200),
        task(3, "c-2", 100),
        fork(0, 1),
        fork(0, 2),
        wake(0, 1),
        wake(0, 2),
        enter(0, 0, 1),
        at(0, 0, EventKind::Pick { pid: 1, slice_ns: 30 }),
        fork(10, 3),
        wake(10, 3),
        enter(10, 1, 3),
        at(10, 1, EventKind::Pick { pid: 3, slice_ns: 30 }),
        leave(20, 1, 3, Sleep),
        leave(30, 0, 1, Runnable),
        enter(30, 0, 2),
        at(30, 0, EventKind::Pick { pid: 2, slice_ns: 30 }),
        wake(50, 3),
        enter(55, 1, 3),
        at(55, 1, EventKind::Pick { pid: 3, slice_ns: 30 }),
        leave(60, 0, 2, Runnable),
        enter(60, 0, 1),
        at(60, 0, EventKind::Pick { pid: 1, slice_ns: 30 }),
        leave(65, 1, 3, Sleep),
        at(90, 0, EventKind::Pick { pid: 1, slice_ns: 30 }),
        at(90, 1, EventKind::Migrate { pid: 2, from: 0, to: 1 }),
        enter(90, 1, 2),
        at(90, 1, EventKind::Pick { pid: 2, slice_ns: 30 }),
        leave(95, 1, 2, Exit),
        at(95, 1, EventKind::Exit { pid: 2 }),
        wake(97, 3),
    ]
}

#[test]
fn a_timeline_worked_out_by_hand() {
    let numbers = numbers(2, &timeline(), 100);
    let [a, b, c] = &numbers.tasks[..] else {
        panic!("three tasks");
    };
    // a: runs 0-30 and 60-100, waits 30-60.
    assert_eq!((a.cpu_ns, a.run_delay_ns, a.switches, a.migrations), (70, 30, 2, 0));
    assert_eq!((a.started_ns, a.finished_ns), (0, None));
    // b: runs 30-60 and 90-95, waits 0-30 and 60-90; one wakeup, answered after 30.
    assert_eq!((b.cpu_ns, b.run_delay_ns, b.switches, b.migrations), (35, 60, 2, 1));
    assert_eq!(b.wakeup_latency_ns.max, Some(30));
    assert_eq!((b.weight, b.finished_ns), (200, Some(95)));
    // c: runs 10-20 and 55-65, waits 50-55 and 97-100; latencies 0, 5 and, open, 3.
    assert_eq!((c.cpu_ns, c.run_delay_ns, c.started_ns), (20, 8, 10));
    assert_eq!(
        c.wakeup_latency_ns,
        LatencyNumbers {
            count: 3,
            mean: Some(8.0 / 3.0),
            p50: Some(3),
            p95: Some(5),
            p99: Some(5),
            max: Some(5),
            waiting: 1,
            p999: Some(5),
        }
    );
    // Shares are parts of 2 CPUs for 100 ns.
    assert_eq!((a.share, b.share, c.share), (0.35, 0.175, 0.1));
    let totals = &numbers.totals;
    assert_eq!((totals.decisions, totals.context_switches), (7, 6));
    // CPU 0 never idles; CPU 1 does 0-10, 20-55, 65-90 and 95-100.
    assert_eq!(totals.idle_ns, 75);
    // Never slept: a and b. Normalized service per time alive: 0.70/100 and 0.35/95*100/200.
    let (x, y) = (70.0 / 100.0 / 100.0, 35.0 / 200.0 / 95.0);
    let expected = (x + y) * (x + y) / (2.0 * (x * x + y * y));
    assert!((totals.jain.unwrap() - expected).abs() < 1e-12);
}

#[test]
fn work_and_energy_add_up_and_what_was_before_the_warm_ups_end_is_left_out() {
    let work = |time_ns, pid, done_ns: u64, energy_nj| {
        at(time_ns, 0, EventKind::Work { pid, done: done_ns * 1024, energy_nj })
    };
    let events = [
        task(1, "a", 100),
        enter(0, 0, 1),
        // 10 ns of 20 before the end of the warm-up, 30 of 40 after it, in two parts
        work(20, 1, 10, Some(5)),
        work(40, 1, 12, Some(7)),
        leave(40, 0, 1, OffCpu::Runnable),
        enter(40, 0, 1),
        work(60, 1, 18, None),
        leave(60, 0, 1, OffCpu::Sleep),
    ];
    let mut summary = Summary::new(1).with_warmup(20);
    events.iter().for_each(|event| summary.event(event));
    let Results { numbers, groups, .. } = summary.finish_all(100);
    let expected = WorkNumbers { full_speed_ns: 30, rate: Some(0.75), energy_nj: Some(7) };
    assert_eq!(numbers.tasks[0].work, Some(expected));
    assert_eq!((numbers.totals.work, groups[0].work), (Some(expected), Some(expected)));
}

#[test]
fn tasks_of_a_group_add_up() {
    let mut summary = Summary::new(2);
    for mut event in timeline() {
        if let EventKind::Task { name, instance_of, .. } = &mut event.kind {
            // What the name looks like does not matter.
            *instance_of = Some(if name == "c-2" { "late" } else { "early" }.into());
        }
        summary.event(&event);
    }
    let Results { numbers, groups, .. } = summary.clone().finish_all(100);
    assert_eq!(numbers, summary.finish(100));
    let [early, late] = &groups[..] else {
        panic!("two groups");
    };
    // a and b of the timeline together: 70 + 35 ns on a CPU, 30 + 60 ns of waiting.
    assert_eq!((&early.name[..], early.tasks, early.weight), ("early", 2, None));
    assert_eq!((early.cpu_ns, early.share, early.run_delay_ns), (105, 0.525, 90));
    assert_eq!((early.switches, early.migrations), (4, 1));
    let wakeups = &early.wakeup_latency_ns;
    assert_eq!((wakeups.count, wakeups.p50, wakeups.max), (2, Some(0), Some(30)));
    assert_eq!((&late.name[..], late.tasks, late.weight), ("late", 1, Some(100)));
    assert_eq!(late.wakeup_latency_ns, numbers.tasks[2].wakeup_latency_ns);
}

#[test]
fn tasks_of_no_workload_are_together_with_those_of_their_name_only() {
    let mut summary = Summary::new(2);
    [task(1, "x-0", 100), task(2, "x-1", 100), task(3, "x-0", 100)]
        .iter()
        .for_each(|event| summary.event(event));
    let groups = summary.finish_all(100).groups;
    let names: Vec<(&str, u64)> = groups.iter().map(|g| (g.name.as_str(), g.tasks)).collect();
    assert_eq!(names, [("x-0", 2), ("x-1", 1)]);
}

#[test]
fn a_change_of_weight_counts_from_then_on() {
    // One CPU; 1 has weight 100 until 60 and 200 then, 2 weight 100; both alive for 100 ns:
    // 1 gets 30/100 + 40/200 = 0.5 and 2 gets 30/100 = 0.3. Jain: 0.64 / (2 * 0.34).
    let events = [
        task(1, "x-0", 100),
        task(2, "y-1", 100),
        wake(0, 1),
        wake(0, 2),
        enter(0, 0, 1),
        leave(30, 0, 1, OffCpu::Runnable),
        enter(30, 0, 2),
        leave(60, 0, 2, OffCpu::Runnable),
        enter(60, 0, 1),
        Event { time_ns: 60, ..task(1, "x-0", 200) },
    ];
    let numbers = numbers(1, &events, 100);
    assert_eq!(numbers.tasks[0].weight, 200);
    assert!((numbers.totals.jain.unwrap() - 0.64 / 0.68).abs() < 1e-12);
}

#[test]
fn a_change_of_weight_in_the_middle_of_a_slice_splits_it() {
    // 1 runs 0-100, half of it at weight 100 and half at 50: 0.5 + 1.0; 2 runs on a CPU of its
    // own at weight 100: 1.0. Jain: 6.25 / (2 * 3.25).
    let events = [
        task(1, "x-0", 100),
        task(2, "y-1", 100),
        enter(0, 0, 1),
        enter(0, 1, 2),
        Event { time_ns: 50, ..task(1, "x-0", 50) },
    ];
    let numbers = numbers(2, &events, 100);
    assert_eq!(numbers.tasks[0].cpu_ns, 100);
    assert!((numbers.totals.jain.unwrap() - 6.25 / 6.5).abs() < 1e-12);
}

#[test]
fn a_share_counts_instead_of_the_weight() {
    // 75 ns and 25 ns of CPU time for shares 3 and 1 at the same weight: as it should be.
    let share = |pid, share| at(0, 0, EventKind::Share { pid, share });
    let events = [
        task(1, "x-0", 100),
        task(2, "y-1", 100),
        share(1, 3),
        share(2, 1),
        wake(0, 1),
        wake(0, 2),
        enter(0, 0, 1),
        leave(75, 0, 1, OffCpu::Runnable),
        enter(75, 0, 2),
    ];
    assert!((numbers(1, &events, 100).totals.jain.unwrap() - 1.0).abs() < 1e-12);
    // Without shares: (75 + 25)^2 / (2 * (75^2 + 25^2)) = 0.8.
    let weights: Vec<Event> =
        events.into_iter().filter(|e| !matches!(e.kind, EventKind::Share { .. })).collect();
    assert!((numbers(1, &weights, 100).totals.jain.unwrap() - 0.8).abs() < 1e-12);
}

#[test]
fn sleepers_are_no_part_of_the_jain_index() {
    let events = [
        task(1, "hog-0", 100),
        task(2, "sleeper-1", 100),
        enter(0, 0, 2),
        leave(10, 0, 2, OffCpu::Sleep),
        enter(10, 0, 1),
    ];
    assert_eq!(numbers(1, &events, 100).totals.jain, None);
}

#[test]
fn a_task_without_a_wakeup_waited_from_its_creation() {
    let events = [task(1, "t-0", 100), fork(5, 1), enter(25, 0, 1)];
    let numbers = numbers(1, &events, 30);
    let task = &numbers.tasks[0];
    assert_eq!((task.run_delay_ns, task.wakeup_latency_ns.max), (20, Some(20)));
    assert_eq!((task.started_ns, task.cpu_ns), (5, 5));
}

#[test]
fn a_machine_that_never_ran_is_all_idle() {
    let numbers = numbers(4, &[], 1_000);
    assert_eq!(numbers.totals.idle_ns, 4_000);
    assert_eq!((numbers.tasks.len(), numbers.totals.jain), (0, None));
}

#[test]
fn the_json_has_the_names_of_the_schema() {
    let mut summary = Summary::new(2);
    summary
        .set_instructions_per_decision(InstructionsPerDecision { mean: Some(40.5), max: Some(99) });
    for event in timeline() {
        summary.event(&event);
    }
    let json = serde_json::to_string(&summary.finish(100)).unwrap();
    assert!(
        json.starts_with(
            "{\"tasks\":[{\"name\":\"a-0\",\"pid\":1,\"weight\":100,\"cpu_ns\":70,\"share\":0.35,\
             \"run_delay_ns\":30,\"wakeup_latency_ns\":{\"count\":1,\"mean\":0.0,\"p50\":0,\
             \"p95\":0,\"p99\":0,\"max\":0,\"waiting\":0,\"p999\":0},\"switches\":2,\"migrations\":0,\
             \"started_ns\":0,\"finished_ns\":null,\"lag_ns\":{\"max\":"
        ),
        "{json}"
    );
    assert!(
        json.contains(
            "\"totals\":{\"decisions\":7,\"context_switches\":6,\"idle_ns\":75,\"jain\":"
        ) && json.contains(
            "\"instructions_per_decision\":{\"mean\":40.5,\"max\":99},\
             \"wakeup_latency_ns\":{\"count\":5,\"mean\":7.6,\"p50\":3,\
             \"p95\":30,\"p99\":30,\"max\":30,\"waiting\":1,\"p999\":30},\
             \"measured_ns\":100,\"migrations\":1,\"lag_ns\":{\"max\":"
        ),
        "{json}"
    );
}
