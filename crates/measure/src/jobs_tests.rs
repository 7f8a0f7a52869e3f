// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs worked out by hand, and what holds of all.

use super::*;
use proptest::prelude::*;

const END: fn(i64) -> JobStep = |slack_ns| JobStep::End { response_ns: 0, slack_ns };
const BEGIN: fn(i64) -> JobStep = |slack_ns| JobStep::Begin { slack_ns, period_ns: 10 };

/// Period 10, from 0. Job 1 ends at 7: 3 of slack. Job 2 (10 to 20) ends at 26: 6 late. Job 3
/// (20 to 30) begins then and is not done at 45; job 4 (to 40) has come meanwhile, job 5 (to 50)
/// is not due. Tardiness 0, 6, 15, 5.
#[test]
fn jobs_of_an_absolute_timer_worked_out_by_hand() {
    let mut jobs = Jobs::default();
    for (now_ns, step) in [(0, BEGIN(10)), (7, END(3)), (7, BEGIN(13)), (26, END(-6))] {
        jobs.step(JobKind::Absolute, step, now_ns);
    }
    jobs.step(JobKind::Absolute, BEGIN(4), 26);
    jobs.close(45);
    let numbers = jobs.numbers();
    assert_eq!((numbers.jobs, numbers.met, numbers.misses), (4, 1, 3));
    assert_eq!(numbers.miss_rate, Some(0.75));
    let tardiness = numbers.tardiness_ns;
    assert_eq!((tardiness.p50, tardiness.max, tardiness.mean), (Some(5), Some(15), Some(6.5)));
    assert_eq!((tardiness.count, tardiness.waiting), (4, 2));
    assert_eq!(numbers.slack_ns, SlackNumbers { min: Some(-15), mean: Some(-1.5) });
}

#[test]
fn a_timer_that_begins_anew_is_late_once() {
    let mut jobs = Jobs::default();
    jobs.step(JobKind::Relative, BEGIN(10), 0);
    jobs.close(45);
    assert_eq!((jobs.numbers().jobs, jobs.numbers().tardiness_ns.max), (1, Some(35)));
}

#[test]
fn a_job_that_is_not_due_yet_does_not_count() {
    let mut jobs = Jobs::default();
    jobs.step(JobKind::Absolute, BEGIN(10), 0);
    jobs.close(10);
    assert_eq!(jobs.numbers().jobs, 0);
    assert_eq!(jobs.numbers().miss_rate, None);
}

proptest! {
    /// Every job was met or missed, and only the missed ones are tardy.
    #[test]
    fn jobs_are_met_or_missed(
        slacks in proptest::collection::vec(-50..50i64, 0..100), rest in 0..200u64
    ) {
        let mut jobs = Jobs::default();
        let mut now_ns = 0;
        for slack_ns in &slacks {
            jobs.step(JobKind::Absolute, BEGIN(10), now_ns);
            now_ns += 10;
            jobs.step(JobKind::Absolute, END(*slack_ns), now_ns);
        }
        jobs.step(JobKind::Absolute, BEGIN(10), now_ns);
        jobs.close(now_ns + rest);
        let numbers = jobs.numbers();
        let late = slacks.iter().filter(|slack_ns| **slack_ns < 0).count() as u64;
        // Due 10, 20 … after the last one, and over if the end is later.
        let overdue = rest.saturating_sub(1) / 10;
        prop_assert_eq!(numbers.jobs, numbers.met + numbers.misses);
        prop_assert_eq!(numbers.jobs, slacks.len() as u64 + overdue);
        prop_assert_eq!(numbers.misses, late + overdue);
        prop_assert_eq!(numbers.tardiness_ns.count, numbers.jobs);
        prop_assert_eq!(numbers.tardiness_ns.max.unwrap_or(0) > 0, numbers.misses > 0);
    }
}
