// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sleeps until times and for lengths of time, and tasks that do not sleep but ask.

use super::*;

/// A task that works for so long, then sleeps in a call until these times.
fn ticks(call: &str, absolute: bool, works_us: &[u64], times_us: &[u64]) -> Replay {
    let mut events = vec![named(1, "a"), on(0, 0, 1)];
    let mut now_us = 0;
    for (work_us, time_us) in works_us.iter().zip(times_us) {
        let cause = Cause::Block { pid: 1, call: call.into(), uninterruptible: false, absolute };
        now_us += work_us;
        events.extend([
            (now_us, 0, EventKind::Cause(cause)),
            off(now_us, 0, 1, OffCpu::Sleep),
            source(*time_us, 1, WakeSource::Timer),
            wakeup(*time_us, 1, 0),
            on(*time_us, 0, 1),
        ]);
        now_us = *time_us;
    }
    events.push(off(now_us + 10, 0, 1, OffCpu::Exit));
    replay(&events, &Facts::default())
}

#[test]
fn a_sleep_until_a_time_is_a_timer_and_one_for_a_time_a_sleep() {
    let times = [1000, 2100];
    let until = ticks("clock_nanosleep", true, &[100, 100], &times);
    let timer = |number, period_us| {
        format!(
            "\"timer{number}\" : {{ \"ref\" : \"unique clock_nanosleep\", \"period\" : {period_us}, \
             \"mode\" : \"absolute\" }}"
        )
    };
    let lines = task(&until, "a-1");
    assert_eq!(lines[1], format!("\"run1\" : 100, {}", timer(2, 1000)));
    assert_eq!(lines[2], format!("\"run3\" : 100, {}", timer(4, 1100)));
    assert_eq!(until.waits, Waits { timers: 2, ticks: 2, ..Waits::default() });
    let length = ticks("clock_nanosleep", false, &[100, 100], &times);
    assert_eq!(task(&length, "a-1")[1], "\"run1\" : 100, \"sleep2\" : 900");
    assert_eq!(length.waits, Waits { timers: 2, ..Waits::default() });
}

#[test]
fn a_loop_that_keeps_its_period_whatever_it_works_sleeps_until_times() {
    let works: Vec<u64> = (0..10).map(|round| 100 + 50 * (round % 4)).collect();
    let periodic: Vec<u64> = (1..=10).map(|round| 1000 * round).collect();
    assert_eq!(ticks("poll", false, &works, &periodic).waits.ticks, 10);
    // Sleeps of 900 us after the work, whatever that was: the times drift.
    let mut now_us = 0;
    let after = |work: &u64| {
        now_us += work + 900;
        now_us
    };
    let drifting: Vec<u64> = works.iter().map(after).collect();
    assert_eq!(ticks("poll", false, &works, &drifting).waits.ticks, 0);
    // The same work each time: nothing tells which it is, but a read has no time limit to run out.
    let same = [100; 10];
    assert_eq!(ticks("poll", false, &same, &periodic).waits.ticks, 0);
    assert_eq!(ticks("read", false, &same, &periodic).waits.ticks, 10);
}

/// A task that leaves its CPU so many times in a call, and so many times in none.
fn leaves(call: &str, in_call: u64, in_none: u64) -> Replay {
    let mut events = vec![named(1, "a")];
    for turn in 0..in_call + in_none {
        events.push(on(turn * 100, 0, 1));
        if turn < in_call {
            let spin = Cause::Spin { pid: 1, call: call.into() };
            events.push((turn * 100 + 50, 0, EventKind::Cause(spin)));
        }
        events.push(off(turn * 100 + 50, 0, 1, OffCpu::Runnable));
    }
    replay(&events, &Facts::default())
}

#[test]
fn yields_are_kept_and_a_task_that_mostly_spins_is_a_doubt() {
    let polls = |work_us: u64| [Doubt::Polls { name: "a".into(), work_ns: work_us * 1000 }];
    let few = leaves("sched_yield", 2, 0);
    assert_eq!(task(&few, "a-1")[1], "\"run1\" : 50, \"yield2\" : \"\"");
    assert_eq!(few.doubts, []);
    assert_eq!(leaves("sched_yield", 10, 10).doubts, polls(1000));
    assert_eq!(leaves("poll", 10, 0).doubts, polls(500));
    assert_eq!(leaves("poll", 10, 11).doubts, []);
    assert!(!leaves("poll", 10, 0).text.contains("yield"));
}

#[test]
fn a_task_that_takes_naps_polls() {
    // Sleeps of 60 us after 40 us of work, as usleep(10) gives with a slack of 50 us.
    let naps = |count: u64| {
        let works = vec![40; count as usize];
        let times: Vec<u64> = (1..=count).map(|round| 100 * round).collect();
        ticks("clock_nanosleep", false, &works, &times).doubts
    };
    assert_eq!(naps(99), []);
    assert_eq!(naps(100), [Doubt::Polls { name: "a".into(), work_ns: 4_010_000 }]);
}
