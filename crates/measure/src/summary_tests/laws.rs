// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds for any events.

use super::*;
use proptest::prelude::*;

/// Any event about a few tasks and CPUs, in its place or not.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let kind = (0..8usize, 0..5u32).prop_map(|(what, pid)| match what {
        0 => EventKind::Task { pid, name: "t".into(), weight: pid, instance_of: None },
        1 => EventKind::Fork { pid, parent: 0 },
        2 => EventKind::Wakeup { pid, waker: 0 },
        3 | 4 => EventKind::SwitchIn { pid },
        5 => EventKind::SwitchOut { pid, why: OffCpu::Runnable },
        6 => EventKind::SwitchOut { pid, why: OffCpu::Sleep },
        _ => EventKind::Exit { pid },
    });
    proptest::collection::vec((0..1000u64, 0..3u32, kind), 0..200).prop_map(|steps| {
        let mut now = 0;
        let mut event = |(gap, cpu, kind)| {
            now += gap;
            at(now, cpu, kind)
        };
        steps.into_iter().map(&mut event).collect()
    })
}

proptest! {
    /// Nobody is further behind than it waited, or further ahead than it ran.
    #[test]
    fn lag_is_within_what_was_waited_and_run(events in events(), rest in 0..1000u64) {
        let end_ns = events.last().map_or(0, |e| e.time_ns) + rest;
        for task in numbers(3, &events, end_ns).tasks {
            let Some(lag) = task.lag_ns else { continue };
            prop_assert!(lag.max <= task.run_delay_ns as i64, "{:?} {}", lag, task.run_delay_ns);
            prop_assert!(-lag.min <= task.cpu_ns as i64, "{:?} {}", lag, task.cpu_ns);
            prop_assert!(lag.mean_abs <= lag.max.max(-lag.min) as f64 + 0.5);
        }
    }

    /// CPU time is conserved, whatever the stream: every CPU either runs a task or idles.
    #[test]
    fn cpu_time_and_idle_time_are_all_the_time(events in events(), rest in 0..1000u64) {
        let end_ns = events.last().map_or(0, |e| e.time_ns) + rest;
        let numbers = numbers(3, &events, end_ns);
        let busy: u64 = numbers.tasks.iter().map(|t| t.cpu_ns).sum();
        prop_assert_eq!(busy + numbers.totals.idle_ns, 3 * end_ns);
        for task in &numbers.tasks {
            let lived = task.cpu_ns + task.run_delay_ns;
            prop_assert!(lived <= end_ns, "a task has one state at a time");
        }
        let switches: u64 = numbers.tasks.iter().map(|t| t.switches).sum();
        prop_assert_eq!(switches, numbers.totals.context_switches);
    }
}
