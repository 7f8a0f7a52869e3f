// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time blocked on locks, and jobs of periodic tasks, of whole runs worked out by hand.

use crate::common::{ideal, plan, run, shared_fifo, Tape};
use proptest::prelude::*;
use rota_measure::{JobNumbers, Numbers, Summary, TaskNumbers};
use rota_trace::{EventKind, Sink};

const MS: u64 = 1_000_000;

fn numbers(load: &str, cpus: u32, duration_ns: u64) -> Numbers {
    let (outcome, tape) = run(ideal(cpus, duration_ns), load, &mut shared_fifo());
    measured(&tape, cpus, outcome.end_ns)
}

fn measured(tape: &Tape, cpus: u32, end_ns: u64) -> Numbers {
    let mut summary = Summary::new(cpus);
    tape.0.iter().for_each(|event| summary.event(event));
    summary.finish(end_ns)
}

fn task<'a>(numbers: &'a Numbers, name: &str) -> &'a TaskNumbers {
    numbers.tasks.iter().find(|task| task.name == name).expect("a task")
}

fn jobs(numbers: &Numbers, name: &str) -> JobNumbers {
    task(numbers, name).jobs.expect("jobs")
}

/// A low task holds a lock that a high one wants; one in the middle wants the CPU only.
fn inversion(global: &str) -> String {
    format!(
        r#"{{ {global} "tasks": {{
        "low": {{"policy": "SCHED_FIFO", "priority": 5, "lock": "m", "run": 5000, "unlock": "m",
                 "sleep": 5000}},
        "mid": {{"policy": "SCHED_FIFO", "priority": 10, "delay": 1000, "run": 20000,
                 "sleep": 10000}},
        "high": {{"policy": "SCHED_FIFO", "priority": 20, "delay": 2000, "loop": 100, "lock": "m",
                  "run": 500, "unlock": "m", "sleep": 9000}} }} }}"#
    )
}

/// ```text
/// low 0-1 (has m) | mid 1-2 | high wants m at 2 | mid 2-21 | low 21-25, unlocks | high 25-25.5
/// ```
/// high is blocked for 23 ms, of which low, which holds m, waits for the CPU from 2 to 21.
#[test]
fn without_inheritance_the_holder_waits_for_a_task_in_the_middle() {
    let found = numbers(&inversion(""), 1, 30 * MS);
    let [m] = &found.locks[..] else { panic!("one lock: {:?}", found.locks) };
    assert_eq!((m.kind, m.name.as_str(), m.wait_ns.count), ("mutex", "m", 1));
    assert_eq!((m.wait_ns.max, m.holder_delay_ns), (Some(23 * MS), 19 * MS));
    let [pair] = &m.pairs[..] else { panic!("one pair: {:?}", m.pairs) };
    assert_eq!((pair.waiter.as_str(), pair.holder.as_deref()), ("high-2", Some("low-0")));
    assert_eq!((pair.blocked_ns, pair.holder_delay_ns), (23 * MS, 19 * MS));
    assert_eq!(task(&found, "high-2").lock_blocked_ns, Some(23 * MS));
    // The wait is in no other number: high runs as soon as it wakes.
    assert_eq!(task(&found, "high-2").run_delay_ns, 0);
}

/// ```text
/// low 0-1 (has m) | mid 1-2 | high wants m at 2 | low 2-6, unlocks | high 6-6.5 | mid 6.5-…
/// ```
/// high is blocked for the 4 ms that low still needs, and low never waits meanwhile.
#[test]
fn with_inheritance_the_holder_goes_on_at_once() {
    let found = numbers(&inversion(r#""global": {"pi_enabled": true},"#), 1, 30 * MS);
    let totals = found.totals.locks.expect("a mutex");
    assert_eq!((totals.wait_ns.count, totals.wait_ns.max), (1, Some(4 * MS)));
    assert_eq!((totals.blocked_ns, totals.holder_delay_ns), (4 * MS, 0));
    assert_eq!(found.locks[0].pairs[0].holder.as_deref(), Some("low-0"));
}

#[test]
fn conditions_and_barriers_are_waited_at_and_a_run_without_locks_says_nothing() {
    // a comes to the barrier at 1 ms, b at 3 ms: a waits 2 ms. c waits for the condition from 0
    // until d signals it at 4 ms.
    let load = r#"{"tasks": {
        "a": {"loop": 1, "run": 1000, "barrier": "b"}, "b": {"loop": 1, "run": 3000, "barrier": "b"},
        "c": {"loop": 1, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "unlock": "m"},
        "d": {"loop": 1, "run": 4000, "signal": "c"}}}"#;
    let found = numbers(load, 4, 10 * MS);
    let waits: Vec<_> =
        found.locks.iter().map(|l| (l.kind, l.name.as_str(), l.wait_ns.max)).collect();
    assert_eq!(waits, [("condition", "c", Some(4 * MS)), ("barrier", "b", Some(2 * MS))]);
    assert_eq!(found.totals.locks, None);
    let (_, tape) = run(
        ideal(1, 10 * MS),
        r#"{"tasks": {"a": {"lock": "m", "run": 100, "unlock": "m", "sleep": 50}}}"#,
        &mut shared_fifo(),
    );
    assert!(tape.0.iter().all(|event| !matches!(event.kind, EventKind::Lock(_))));
}

/// Two CPUs, earliest deadline first. Each light task needs 2 of 10 ms, the heavy one 9.9 of 10.5:
///
/// ```text
/// 0: both light ones have the earlier deadline. heavy: 2-11.9, due 10.5: 1.4 late.
/// Its next jobs are there already: to 21.8, due 21: 0.8 late; to 31.7, due 31.5: 0.2 late;
/// to 41.6, due 42. From then on it sleeps before each period, and when it wakes one CPU is free.
/// ```
/// After 210 ms, 20 periods of heavy and 21 of the light ones, all begins anew.
#[test]
fn late_jobs_of_a_timer_are_counted_one_by_one() {
    let load = r#"{ "tasks": {
        "light": { "instance": 2, "policy": "SCHED_DEADLINE", "dl-runtime": 2200,
            "dl-period": 10000, "run": 2000,
            "timer": { "ref": "unique", "period": 10000, "mode": "absolute" } },
        "heavy": { "policy": "SCHED_DEADLINE", "dl-runtime": 10000, "dl-period": 10500,
            "run": 9900, "timer": { "ref": "unique", "period": 10500, "mode": "absolute" } } } }"#;
    let found = numbers(load, 2, 210 * MS);
    let heavy = jobs(&found, "heavy-2");
    assert_eq!((heavy.jobs, heavy.met, heavy.misses), (20, 17, 3));
    assert_eq!(heavy.tardiness_ns.max, Some(1_400_000));
    assert_eq!(heavy.slack_ns.min, Some(-1_400_000));
    // (1.4 + 0.8 + 0.2) ms / 20.
    assert_eq!(heavy.tardiness_ns.mean, Some(120_000.0));
    for light in ["light-0", "light-1"] {
        assert_eq!((jobs(&found, light).jobs, jobs(&found, light).misses), (21, 0));
    }
    let all = found.totals.jobs.expect("jobs");
    assert_eq!((all.jobs, all.misses), (62, 3));
    // Each job has a turnaround of its own: the first one of 11.9 ms, in which 9.9 ms are its own.
    let turnaround = task(&found, "heavy-2").turnaround_ns;
    assert_eq!((turnaround.count, turnaround.max), (20, Some(11_900_000)));
    let slowdown = task(&found, "heavy-2").slowdown.max.expect("a slowdown");
    assert!((slowdown - 11.9 / 9.9).abs() < 1e-9, "{slowdown}");
}

/// A task that needs 2 ms more than its period and never sleeps. Job k ends at 12 k, due 10 k: 2 k
/// late. At 100 ms 8 have ended (at 96); job 9, due at 90, has not: 10 ms so far.
#[test]
fn a_task_that_never_sleeps_and_misses_its_period_does_not_look_perfect() {
    let load = r#"{"tasks": {"t": {"run": 12000, "timer": {"ref": "unique", "period": 10000,
        "mode": "absolute"}}}}"#;
    let found = numbers(load, 1, 100 * MS);
    let late = jobs(&found, "t-0");
    assert_eq!((late.jobs, late.met, late.tardiness_ns.waiting), (9, 0, 1));
    assert_eq!(late.tardiness_ns.max, Some(16 * MS));
    // From release to end: 12, 14, … 26 ms; open: 20 ms since 80.
    assert_eq!(task(&found, "t-0").turnaround_ns.max, Some(26 * MS));
    assert_eq!((found.totals.turnaround_ns.count, found.totals.turnaround_ns.waiting), (9, 1));
    assert!((task(&found, "t-0").slowdown.max.unwrap() - 26.0 / 12.0).abs() < 1e-9);
}

/// Uses up its 2 ms at the start of each period of 10: 8 of slack, ten times in 100 ms.
#[test]
fn periods_of_a_reservation_are_jobs() {
    let load = r#"{"tasks": {"dl": {"policy": "SCHED_DEADLINE", "dl-runtime": 2000,
        "dl-period": 10000, "run": 1000000}}}"#;
    let dl = jobs(&numbers(load, 1, 100 * MS), "dl-0");
    assert_eq!((dl.jobs, dl.misses, dl.slack_ns.mean), (10, 0, Some(8_000_000.0)));
}

proptest! {
    #![proptest_config(plan::cases(48))]
    /// However many tasks, periods and CPUs there are: a job was met or missed, its turnaround is
    /// counted, and nothing that a lock delays is lost.
    #[test]
    fn jobs_and_waits_add_up(
        cpus in 1..4u32,
        tasks in proptest::collection::vec(
            (1..3u32, 1..6_000u32, 2_000..9_000u32, any::<bool>(), any::<bool>()), 1..5)
    ) {
        let task = |(at, (count, run, period, absolute, locks)): (usize, &(_, _, _, _, _))| {
            let mode = if *absolute { "absolute" } else { "relative" };
            let lock = if *locks { r#""lock": "m","# } else { "" };
            let unlock = if *locks { r#""unlock": "m","# } else { "" };
            format!(
                r#""t{at}": {{"instance": {count}, {lock} "run": {run}, {unlock} "timer":
                    {{"ref": "unique", "period": {period}, "mode": "{mode}"}}}}"#,
                count = count as &u32, run = run as &u32, period = period as &u32,
            )
        };
        let tasks: Vec<String> = tasks.iter().enumerate().map(task).collect();
        let load = format!("{{\"tasks\": {{{}}}}}", tasks.join(", "));
        let (outcome, tape) = run(ideal(cpus, 100 * MS), &load, &mut shared_fifo());
        let found = measured(&tape, cpus, outcome.end_ns);
        for task in &found.tasks {
            let jobs = task.jobs.expect("a timer");
            prop_assert_eq!(jobs.jobs, jobs.met + jobs.misses);
            prop_assert_eq!(jobs.jobs, jobs.tardiness_ns.count);
            // Every job that ended has a turnaround. Without a lock at which the task sleeps in
            // the middle of a job, nothing else has one.
            let ended = jobs.jobs - jobs.tardiness_ns.waiting;
            prop_assert!(task.turnaround_ns.count >= ended);
            prop_assert!(task.turnaround_ns.count == ended || task.lock_blocked_ns.is_some());
        }
        for lock in &found.locks {
            let sum = lock.wait_ns.mean.unwrap_or(0.0) * lock.wait_ns.count as f64;
            prop_assert!((sum - lock.blocked_ns as f64).abs() < 1.0);
            prop_assert!(lock.holder_delay_ns <= lock.blocked_ns);
        }
    }
}
