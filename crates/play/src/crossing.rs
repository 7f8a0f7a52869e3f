// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a wakeup takes from one CPU to another.

use rota_trace::{Event, EventKind};
use std::collections::HashMap;

/// The mean time from a wakeup until an idle CPU, not the waker's, runs the task; without any such
/// wakeup, nothing. Of the tasks that `is_subject` names.
pub(crate) fn mean_ns(events: &[Event], is_subject: impl Fn(u32) -> bool) -> Option<u64> {
    let mut cpus: HashMap<u32, Cpu> = HashMap::new();
    let mut woken: HashMap<u32, (u64, u32)> = HashMap::new();
    let (mut sum_ns, mut count) = (0, 0);
    for event in events {
        let Some(cpu) = event.cpu else { continue };
        match event.kind {
            EventKind::Wakeup { pid, .. } if is_subject(pid) => {
                woken.insert(pid, (event.time_ns, cpu));
            }
            EventKind::SwitchIn { pid } => {
                let was = cpus.insert(cpu, Cpu::Busy);
                let Some((woken_ns, wakers)) = woken.remove(&pid) else { continue };
                match was {
                    Some(Cpu::IdleSince(ns)) if ns < woken_ns && wakers != cpu => {
                        sum_ns += event.time_ns - woken_ns;
                        count += 1;
                    }
                    _ => {}
                }
            }
            EventKind::SwitchOut { .. } => {
                cpus.insert(cpu, Cpu::IdleSince(event.time_ns));
            }
            _ => {}
        }
    }
    u64::checked_div(sum_ns, count)
}

/// What a CPU does.
enum Cpu {
    Busy,
    IdleSince(u64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_trace::OffCpu;

    const TASK: u32 = 101;

    fn on(cpu: u32, time_ns: u64, kind: EventKind) -> Event {
        Event { time_ns, cpu: Some(cpu), kind }
    }

    fn out(pid: u32) -> EventKind {
        EventKind::SwitchOut { pid, why: OffCpu::Sleep }
    }

    fn woken() -> EventKind {
        EventKind::Wakeup { pid: TASK, waker: 0 }
    }

    fn enter() -> EventKind {
        EventKind::SwitchIn { pid: TASK }
    }

    #[test]
    fn counted_are_wakeups_that_end_an_idle_time_elsewhere() {
        // CPU 1 sleeps from 10 on, and is woken by CPU 0 three times: after 30, 50 and 25 ns.
        let mut events = vec![on(1, 10, out(7))];
        for (at_ns, after_ns) in [(100, 30), (200, 50), (300, 25)] {
            events.push(on(0, at_ns, woken()));
            events.push(on(1, at_ns + after_ns, enter()));
            events.push(on(1, at_ns + after_ns + 5, out(TASK)));
        }
        assert_eq!(mean_ns(&events, |pid| pid == TASK), Some((30 + 50 + 25) / 3));
        assert_eq!(mean_ns(&events, |_| false), None);
    }

    #[test]
    fn wakeups_of_the_own_cpu_and_of_busy_ones_are_not() {
        let own = [on(0, 10, out(7)), on(0, 100, woken()), on(0, 130, enter())];
        assert_eq!(mean_ns(&own, |_| true), None);
        // CPU 1 was busy until 120, so what came after is its switch.
        let busy = [on(0, 100, woken()), on(1, 120, out(7)), on(1, 130, enter())];
        assert_eq!(mean_ns(&busy, |_| true), None);
    }
}
