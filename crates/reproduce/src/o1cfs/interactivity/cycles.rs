// SPDX-License-Identifier: MIT OR Apache-2.0
//! What X goes through: from each wakeup to the CPU, and until it sleeps again.

use super::workload::STEPS;
use rota_trace::{Event, EventKind, OffCpu, Sink};

/// From one wakeup of X to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cycle {
    woken_ns: u64,
    /// On the CPU for the first time since then.
    began_ns: Option<u64>,
    /// Asleep again.
    ended_ns: Option<u64>,
}

/// Average and maximum of a run's latencies, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Latency {
    pub(super) average: f64,
    pub(super) maximum: f64,
}

/// Both ways to count the latencies of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Latencies {
    /// From the wakeup to the CPU [O1CFS §4.2].
    pub(super) scheduling: Latency,
    /// As Interbench counts X's.
    pub(super) interbench: Latency,
}

/// Keeps all cycles of the task that comes first in the file.
#[derive(Debug, Default)]
pub(super) struct Cycles {
    x: Option<u32>,
    all: Vec<Cycle>,
}

impl Sink for Cycles {
    fn event(&mut self, event: &Event) {
        let now = event.time_ns;
        match event.kind {
            EventKind::Task { pid, ref name, .. } if name == "x-0" => self.x = Some(pid),
            EventKind::Wakeup { pid, .. } if self.x == Some(pid) => {
                self.all.push(Cycle { woken_ns: now, began_ns: None, ended_ns: None });
            }
            EventKind::SwitchIn { pid } if self.x == Some(pid) => {
                if let Some(cycle) = self.all.last_mut() {
                    cycle.began_ns.get_or_insert(now);
                }
            }
            EventKind::SwitchOut { pid, why: OffCpu::Sleep } if self.x == Some(pid) => {
                if let Some(cycle) = self.all.last_mut() {
                    cycle.ended_ns = Some(now);
                }
            }
            _ => {}
        }
    }
}

impl Cycles {
    /// Of a run that ended at `end_ns`, with steps of that length. `None`: X never woke up.
    pub(super) fn latencies(&self, step_ns: u64, end_ns: u64) -> Option<Latencies> {
        let scheduling = self.all.iter().map(|cycle| cycle.scheduling_ns(end_ns));
        let interbench = (0..).zip(&self.all);
        let interbench = interbench.map(|(at, cycle)| cycle.interbench_ns(at, step_ns, end_ns));
        Some(Latencies {
            scheduling: Latency::of(scheduling)?,
            interbench: Latency::of(interbench)?,
        })
    }
}

impl Cycle {
    /// One that never came onto the CPU waited until the end.
    fn scheduling_ns(&self, end_ns: u64) -> u64 {
        self.began_ns.unwrap_or(end_ns) - self.woken_ns
    }

    /// Interbench wakes X as early as it has to work, so that it is late only if it begins after
    /// all of that time; and it adds X's rest of that step as often as it has passed since the
    /// step was to end, if X is not done by then.
    fn interbench_ns(&self, at: u64, step_ns: u64, end_ns: u64) -> u64 {
        let run_ns = step_ns * percent(at) / 100;
        let rest_ns = step_ns - run_ns;
        let late_ns = self.scheduling_ns(end_ns).saturating_sub(run_ns);
        let over = self.ended_ns.unwrap_or(end_ns).checked_sub(self.woken_ns + step_ns);
        let missed = match (over, rest_ns) {
            // Step 100 has no end to be late for.
            (None | Some(0), _) | (_, 0) => 0,
            (Some(over_ns), rest_ns) => over_ns / rest_ns + 1,
        };
        late_ns + missed * rest_ns
    }
}

/// What X wants in its `at`-th cycle. It has no rest after 100 %, so that 0 % is no cycle of its
/// own but the first time.
fn percent(at: u64) -> u64 {
    match at {
        0 => 0,
        at => (at - 1) % (STEPS - 1) + 1,
    }
}

impl Latency {
    fn of(all_ns: impl Iterator<Item = u64>) -> Option<Self> {
        let (mut count, mut sum, mut maximum) = (0u64, 0u64, 0);
        for ns in all_ns {
            (count, sum, maximum) = (count + 1, sum + ns, maximum.max(ns));
        }
        let ms = |ns: f64| ns / 1e6;
        let average = ms(sum as f64 / count as f64);
        (count > 0).then_some(Self { average, maximum: ms(maximum as f64) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn cycle(woken: u64, began: u64, ended: u64) -> Cycle {
        let at = |ms| Some(ms * MS);
        Cycle { woken_ns: woken * MS, began_ns: at(began), ended_ns: at(ended) }
    }

    #[test]
    fn only_the_first_time_is_a_cycle_of_nothing() {
        let wants: Vec<u64> = (0..103).map(percent).collect();
        assert_eq!((wants[0], wants[1], wants[99], wants[100]), (0, 1, 99, 100));
        assert_eq!((wants[101], wants[102]), (1, 2));
    }

    #[test]
    fn interbench_forgives_as_much_as_x_works() {
        // Step 30 of 100 ms: woken at 0, due at 30, to be done at 100.
        let late = |cycle: Cycle| cycle.interbench_ns(30, 100 * MS, 0) / MS;
        assert_eq!(late(cycle(0, 30, 100)), 0);
        assert_eq!(late(cycle(0, 45, 90)), 15);
        // Done 10 ms after its end: one rest of 70 ms is missed; 80 after it: two.
        assert_eq!(late(cycle(0, 45, 110)), 15 + 70);
        assert_eq!(late(cycle(0, 45, 180)), 15 + 2 * 70);
        // Step 100 has no rest that could be missed.
        assert_eq!(cycle(0, 120, 400).interbench_ns(100, 100 * MS, 0) / MS, 20);
    }

    #[test]
    fn who_never_came_onto_the_cpu_waited_until_the_end() {
        let open = Cycle { woken_ns: 10, began_ns: None, ended_ns: None };
        assert_eq!(open.scheduling_ns(50), 40);
        let cycles = Cycles { x: None, all: vec![cycle(0, 4, 5), cycle(6, 8, 9)] };
        let found = cycles.latencies(100 * MS, 0).expect("two");
        assert_eq!(found.scheduling, Latency { average: 3.0, maximum: 4.0 });
        assert_eq!(Cycles::default().latencies(MS, 0), None);
    }
}
