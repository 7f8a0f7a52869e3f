// SPDX-License-Identifier: MIT OR Apache-2.0
//! Turnaround, completion and lag worked out by hand, and what a warm-up leaves out.

use super::*;
use crate::numbers::{LagNumbers, RatioNumbers, SpanNumbers};

#[test]
fn turnaround_is_from_waking_up_to_sleeping() {
    let numbers = numbers(2, &timeline(), 100);
    // b: 0-95, of which it ran 35. c: 10-20 and 50-65, of which it ran 10 each; from 97 open.
    // a never slept, and never ended.
    let [a, b, c] = &numbers.tasks[..] else {
        panic!("three tasks");
    };
    assert_eq!(a.turnaround_ns, SpanNumbers::default());
    assert_eq!(b.turnaround_ns, SpanNumbers { count: 1, mean: Some(95.0), max: Some(95) });
    assert_eq!(c.turnaround_ns, SpanNumbers { count: 2, mean: Some(12.5), max: Some(15) });
    let all = numbers.totals.turnaround_ns;
    assert_eq!((all.count, all.p50, all.max, all.waiting), (4, Some(10), Some(95), 1));
    assert_eq!(numbers.totals.bursts_per_s, Some(3.0 / 100e-9));
}

/// The timeline with so many nanoseconds in place of one.
fn slower(by: u64) -> Vec<Event> {
    let mut events = timeline();
    events.iter_mut().for_each(|event| event.time_ns *= by);
    events
}

#[test]
fn slowdown_is_turnaround_by_cpu_time() {
    // as above, in us
    let numbers = numbers(2, &slower(1_000), 100_000);
    let c = &numbers.tasks[2];
    assert_eq!(c.slowdown, RatioNumbers { count: 2, mean: Some(1.25), max: Some(1.5) });
    let slowdown = numbers.totals.slowdown;
    // 95 / 35 = 2.714, rounded to thousandths.
    assert_eq!((slowdown.count, slowdown.p50, slowdown.max), (3, Some(1.5), Some(2.714)));
}

#[test]
fn what_only_wakes_up_and_waits_again_has_no_slowdown() {
    // b ran for 35 * 499 ns, c twice for 10 * 499, which is less than 5 us
    let numbers = numbers(2, &slower(499), 49_900);
    let slowdown = numbers.totals.slowdown;
    assert_eq!((slowdown.count, slowdown.max), (1, Some(2.714)));
    assert_eq!(numbers.tasks[2].slowdown.count, 0);
    assert_eq!(numbers.tasks[2].turnaround_ns.count, 2);
}

#[test]
fn nonvoluntary_switches_are_those_of_tasks_that_could_go_on() {
    // a loses CPU 0 at 30 and b at 60. c sleeps at 20 and 65, b exits at 95; the slice that a
    // begins at 90 is no switch.
    let whole = numbers(2, &timeline(), 100);
    assert_eq!(whole.totals.nonvoluntary_per_s, Some(2.0 / 100e-9));
    // From 40 on, 60 ns have one of them.
    let mut summary = Summary::new(2).with_warmup(40);
    timeline().iter().for_each(|event| summary.event(event));
    assert_eq!(summary.finish(100).totals.nonvoluntary_per_s, Some(1.0 / 60e-9));
    assert_eq!(numbers(2, &[], 0).totals.nonvoluntary_per_s, None);
}

#[test]
fn completion_is_from_creation_to_exit() {
    use OffCpu::Exit;
    let mut events = timeline();
    let all = numbers(2, &events, 100).totals;
    assert_eq!((all.completion_ns.count, all.completion_ns.mean), (1, Some(95.0)));
    assert_eq!(all.makespan_ns, None, "two tasks are still there");
    for (time_ns, pid) in [(98, 1), (99, 3)] {
        events.push(at(time_ns, 0, EventKind::Exit { pid }));
        events.push(leave(time_ns, 0, pid, Exit));
    }
    let all = numbers(2, &events, 100).totals;
    // 98 - 0, 95 - 0 and 99 - 10.
    assert_eq!((all.completion_ns.mean, all.makespan_ns), (Some(94.0), Some(99)));
}

#[test]
fn lags_worked_out_by_hand() {
    // One CPU, weights 3 and 1: a runs 0-60, b 60-80, a 80-100. Ideal: 0.75 and 0.25.
    // a: 45-60 = -15 at 60, then 15 more of lag, 0 at 80, 15-20 = -5 at 100.
    // b: 15 at 60, 20-20 = 0 at 80, 5 at 100.
    let events = [
        task(1, "a-0", 300),
        task(2, "b-1", 100),
        wake(0, 1),
        wake(0, 2),
        enter(0, 0, 1),
        enter(60, 0, 2),
        enter(80, 0, 1),
    ];
    let numbers = numbers(1, &events, 100);
    // Means of triangles: (15/2 · 60 + 15/2 · 20 + 5/2 · 20) / 100.
    let a = LagNumbers { max: 0, min: -15, mean_abs: 6.5 };
    assert_eq!(numbers.tasks[0].lag_ns, Some(a));
    assert_eq!(numbers.tasks[1].lag_ns, Some(LagNumbers { max: 15, min: 0, mean_abs: 6.5 }));
    assert_eq!(numbers.totals.lag_ns, Some(LagNumbers { max: 15, min: -15, mean_abs: 6.5 }));
}

#[test]
fn every_quantum_ends_with_a_look_at_the_lag() {
    // a runs two slices in a row, 0-10 and 10-20, b none; ideal is a half each.
    let events = [
        task(1, "a-0", 100),
        task(2, "b-1", 100),
        wake(0, 1),
        wake(0, 2),
        enter(0, 0, 1),
        at(0, 0, EventKind::Pick { pid: 1, slice_ns: 10 }),
        at(10, 0, EventKind::Pick { pid: 1, slice_ns: 10 }),
        leave(20, 0, 1, OffCpu::Sleep),
        wake(25, 1),
    ];
    let mut summary = Summary::new(1);
    let mut looks = Vec::new();
    for event in &events {
        summary.event(event);
        looks.push(summary.tasks[0].lag.measured().numbers().map(|lag| lag.min));
    }
    assert_eq!(looks[5..], [Some(0), Some(-5), Some(-10), Some(-10)]);
}

#[test]
fn warm_up_is_left_out_of_every_number() {
    // From 50 on, of the timeline: a runs 60-100, waits 50-60; b runs 50-60 and 90-95, waits
    // 60-90; c wakes at 50, waits 5, runs 55-65, wakes at 97.
    let mut summary = Summary::new(2).with_warmup(50);
    timeline().iter().for_each(|event| summary.event(event));
    let numbers = summary.finish(100);
    let times: Vec<_> =
        numbers.tasks.iter().map(|t| (t.cpu_ns, t.run_delay_ns, t.switches)).collect();
    assert_eq!(times, [(40, 10, 1), (15, 30, 1), (10, 8, 1)]);
    assert_eq!(numbers.tasks[0].share, 0.4);
    let totals = &numbers.totals;
    assert_eq!((totals.measured_ns, totals.decisions, totals.context_switches), (50, 4, 3));
    // CPU 0 is never idle; CPU 1 is 50-55, 65-90 and 95-100.
    assert_eq!(totals.idle_ns, 35);
    assert_eq!((totals.wakeup_latency_ns.count, totals.wakeup_latency_ns.max), (2, Some(5)));
    // The turnaround that ends after the warm-up counts with all of its length.
    assert_eq!((totals.turnaround_ns.count, totals.turnaround_ns.max), (3, Some(95)));
    // Lags are 0 at 50. What b leaves behind at 95, as CPU 1 idled while it waited, is more than
    // a could use: its lag ends at the 10 that it waited.
    assert_eq!(numbers.tasks[0].lag_ns.map(|lag| lag.max), Some(10));
}

#[test]
fn run_that_ends_in_its_warm_up_has_no_numbers() {
    let mut summary = Summary::new(2).with_warmup(200);
    timeline().iter().for_each(|event| summary.event(event));
    let numbers = summary.finish(100);
    assert!(numbers.tasks.iter().all(|t| t.cpu_ns == 0 && t.run_delay_ns == 0));
    assert_eq!((numbers.totals.measured_ns, numbers.totals.idle_ns), (0, 0));
    assert_eq!(numbers.totals.bursts_per_s, None);
}
