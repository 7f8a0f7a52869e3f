// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use crate::snapshot::Row;
use crate::{Numbers, State};
use proptest::prelude::*;
use rota_trace::{Event, EventKind, OffCpu, Sink};
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn about(pid: u32, name: &'static str, group: &'static str) -> Option<About<'static>> {
    Some(About { pid, name, group })
}

fn counts(run_ms: u64, delay_ms: u64, switches: u64, latencies: &[(u64, u64)]) -> Counts<'_> {
    Counts { run_ns: run_ms * MS, delay_ns: delay_ms * MS, switches, latencies }
}

fn news<'a>(about: Option<About<'a>>, counts: Counts<'a>) -> TaskNews<'a> {
    TaskNews { about, counts, ..TaskNews::default() }
}

fn row(snapshot: &Snapshot, name: &str) -> Row {
    let found = snapshot.tasks.iter().chain(&snapshot.groups).find(|row| &*row.name == name);
    found.unwrap_or_else(|| panic!("{name}: {snapshot:?}")).clone()
}

fn step(top: u32, top_ms: u64, busy_ms: u64, wasted_ms: u64) -> Step {
    let [top_ns, busy_ns, wasted_ns] = [top_ms, busy_ms, wasted_ms].map(|ms| ms * MS);
    Step { top, top_ns, busy_ns, wasted_ns }
}

#[test]
fn a_task_has_what_was_counted_of_it() {
    let mut tally = Tally::new(1, 0);
    let first = counts(8, 7, 2, &[(3 * MS, 1)]);
    tally.task(4, &news(about(7, "web", "/"), first));
    tally.pass(50 * MS);
    tally.task(4, &news(None, counts(1, 0, 3, &[(MS, 2), (5 * MS, 1)])));
    tally.pass(100 * MS);
    let snapshot = tally.snapshot();
    let numbers = row(&snapshot, "web").numbers;
    assert_eq!((numbers.run_ns, numbers.delay_ns, numbers.switches), (9 * MS, 7 * MS, 5));
    // Of 4 latencies, 1, 1, 3 and 5 ms, the 99th percentile is the last.
    assert_eq!((numbers.wakeups, numbers.p99_ns, numbers.max_ns), (4, Some(5 * MS), Some(5 * MS)));
    assert_eq!(snapshot.all, numbers);
    assert_eq!((snapshot.now_ns, snapshot.window_ns, snapshot.waiting), (100 * MS, 100 * MS, 0));
    assert_eq!(row(&snapshot, "web").pid, Some(7));
}

#[test]
fn a_task_that_waits_does_so_until_it_is_said_otherwise() {
    let mut tally = Tally::new(1, 0);
    let waits = TaskNews {
        about: about(7, "late", "/"),
        waits_since_ns: Some(20 * MS),
        ..TaskNews::default()
    };
    tally.task(0, &waits);
    tally.pass(50 * MS);
    let snapshot = tally.snapshot();
    assert_eq!((snapshot.waiting, row(&snapshot, "late").waits_ns), (1, Some(30 * MS)));
    tally.task(0, &news(None, counts(1, 40, 1, &[])));
    tally.pass(100 * MS);
    assert_eq!(tally.snapshot().waiting, 0);
}

#[test]
fn the_window_begins_with_the_first_counts_of_the_half_before() {
    let mut tally = Tally::new(1, 0);
    // Looks at 3.1, 6.2, 9.3, … s: a task that runs all the time has 100 % at each of them.
    let looks = (1..=8).map(|look| look * 3_100);
    for ms in looks {
        let about = if ms == 3_100 { about(7, "runs", "/") } else { None };
        tally.task(0, &news(about, counts(3_100, 0, 0, &[])));
        tally.pass(ms * MS);
        let snapshot = tally.snapshot();
        let run_ns = row(&snapshot, "runs").numbers.run_ns;
        assert_eq!(run_ns, snapshot.window_ns, "at {ms} ms");
        assert!(run_ns <= 3 * HALF_NS, "at {ms} ms");
    }
}

#[test]
fn a_cgroup_has_what_its_tasks_got_while_they_were_in_it() {
    let mut tally = Tally::new(1, 0);
    let of_3_ms = news(about(7, "a", "/web"), counts(3, 0, 1, &[]));
    tally.task(0, &TaskNews { ended: true, ..of_3_ms });
    tally.task(1, &news(about(8, "b", "/web"), counts(2, 0, 1, &[])));
    tally.pass(5 * MS);
    tally.task(1, &news(about(8, "b", "/build"), counts(1, 0, 0, &[])));
    tally.pass(6 * MS);
    tally.task(1, &news(None, counts(3, 0, 0, &[])));
    tally.pass(9 * MS);
    let snapshot = tally.snapshot();
    // Of the one that moved it is known in the end where it went, and what it had got by then.
    assert_eq!(row(&snapshot, "/web").numbers.run_ns, 6 * MS);
    assert_eq!(row(&snapshot, "/build").numbers.run_ns, 3 * MS);
    assert_eq!((row(&snapshot, "/web").tasks, row(&snapshot, "/build").tasks), (0, 1));
    assert_eq!(snapshot.tasks.len(), 1);
}

#[test]
fn steps_are_cells_and_a_cpu_that_came_later_was_not_there() {
    let mut tally = Tally::new(1, 0);
    tally.steps(&[vec![step(7, 5, 9, 0), step(8, 1, 1, 4)]]);
    tally.steps(&[vec![step(8, 2, 2, 0), step(7, 10, 10, 0)], vec![step(7, 3, 3, 1)]]);
    tally.cpu(0, Some(7), true);
    tally.task(0, &news(about(7, "web", "/"), counts(1, 0, 1, &[])));
    let snapshot = tally.snapshot();
    let cell = |letter, top: u32, busy: u32, wasted: u32| {
        let [top_ns, busy_ns, wasted_ns] = [top, busy, wasted].map(|ms| ms * 1_000_000);
        Cell { letter, top_ns, busy_ns, wasted_ns }
    };
    // Who ran for less than an eighth of a step gets no letter.
    let first = [cell(b'A', 5, 9, 0), cell(0, 0, 1, 4), cell(b'B', 2, 2, 0), cell(b'A', 10, 10, 0)];
    assert_eq!(snapshot.cpus[0].cells, first);
    let none = cell(0, 0, 0, 0);
    assert_eq!(snapshot.cpus[1].cells, [none, none, none, cell(b'A', 3, 3, 1)]);
    assert_eq!(snapshot.sums, (25 * MS, 5 * MS, 80 * MS));
    assert_eq!(snapshot.cpus[0].runs.as_deref(), Some("web"));
    tally.cpu(1, None, false);
    assert_eq!(tally.snapshot().sums, (22 * MS, 4 * MS, 40 * MS));
}

#[test]
fn how_a_scheduler_left_is_known_until_another_is_loaded() {
    let mut tally = Tally::new(1, 0);
    tally.pass(3 * S);
    tally.left(1026, "stalled".into());
    let left = tally.snapshot().left.expect("left");
    assert_eq!((left.at_ns, left.is_ejection()), (3 * S, true));
    tally.loaded();
    assert_eq!(tally.snapshot().left, None);
}

/// Of a task: milliseconds that it ran and waited, what it began, and latencies with their number.
type Counted = (u64, u64, u64, Vec<(u64, u64)>);

/// What a kernel would count of events, the slow way: millisecond by millisecond.
#[derive(Default)]
struct Kernel {
    ms: u64,
    runs: [Option<u32>; 2],
    /// Since when, and after a wakeup.
    waits: BTreeMap<u32, (u64, bool)>,
    counted: BTreeMap<u32, Counted>,
    in_step: [(BTreeMap<u32, u64>, u64); 2],
    steps: Vec<Vec<Step>>,
}

impl Kernel {
    /// A millisecond passes.
    fn pass(&mut self) {
        for (cpu, runs) in self.runs.into_iter().enumerate() {
            match runs {
                Some(pid) => {
                    self.counted.entry(pid).or_default().0 += 1;
                    *self.in_step[cpu].0.entry(pid).or_default() += 1;
                }
                None => self.in_step[cpu].1 += u64::from(!self.waits.is_empty()),
            }
        }
        for pid in self.waits.keys() {
            self.counted.entry(*pid).or_default().1 += 1;
        }
        self.ms += 1;
        if self.ms % 10 == 0 {
            self.steps.resize_with(2, Vec::new);
            for (cpu, (ran, wasted)) in self.in_step.iter_mut().enumerate() {
                let top = ran.iter().max_by_key(|(pid, ms)| (**ms, std::cmp::Reverse(**pid)));
                let (top, top_ms) = top.map_or((0, 0), |(pid, ms)| (*pid, *ms));
                self.steps[cpu].push(step(top, top_ms, ran.values().sum(), *wasted));
                (*ran, *wasted) = (BTreeMap::new(), 0);
            }
        }
    }

    /// Gives a tally what was counted.
    fn look(&mut self, tally: &mut Tally) {
        for (pid, (run, delay, switches, latencies)) in std::mem::take(&mut self.counted) {
            let name = pid.to_string();
            let news = TaskNews {
                about: Some(About { pid, name: &name, group: "/" }),
                counts: counts(run, delay, switches, &latencies),
                waits_since_ns: self.waits.get(&pid).map(|(since, _)| since * MS),
                ended: false,
            };
            tally.task(pid, &news);
        }
        for pid in self.waits.keys() {
            // It began to wait this very moment.
            let waits_since_ns = self.waits.get(pid).map(|(since, _)| since * MS);
            let name = pid.to_string();
            let about = Some(About { pid: *pid, name: &name, group: "/" });
            tally.task(*pid, &TaskNews { about, waits_since_ns, ..TaskNews::default() });
        }
        tally.steps(&std::mem::take(&mut self.steps));
        for (cpu, runs) in self.runs.into_iter().enumerate() {
            tally.cpu(cpu, runs, true);
        }
        tally.pass(self.ms * MS);
    }
}

proptest! {
    /// Counts of events say the same as the events.
    #[test]
    fn counts_say_what_events_say(
        acts in prop::collection::vec((0..2usize, 1..6u32, any::<bool>(), 0..700u64), 1..60)
    ) {
        let (mut state, mut tally, mut kernel) = (State::new(2), Tally::new(2, 0), Kernel::default());
        let tell = |state: &mut State, ms: u64, cpu: usize, kind| {
            state.event(&Event { time_ns: ms * MS, cpu: Some(cpu as u32), kind });
        };
        for (cpu, pid, flag, ms) in acts {
            let now = kernel.ms;
            match kernel.runs[cpu] {
                // What runs leaves, to sleep or to wait.
                Some(pid) => {
                    let why = if flag { OffCpu::Sleep } else { OffCpu::Runnable };
                    tell(&mut state, now, cpu, EventKind::SwitchOut { pid, why });
                    kernel.runs[cpu] = None;
                    if !flag {
                        kernel.waits.insert(pid, (now, false));
                    }
                }
                None if kernel.runs.contains(&Some(pid)) => {}
                // A task wakes, or gets the CPU.
                None if flag => {
                    tell(&mut state, now, cpu, EventKind::Wakeup { pid, waker: 0 });
                    kernel.waits.entry(pid).or_insert((now, true));
                }
                None => {
                    tell(&mut state, now, cpu, EventKind::SwitchIn { pid });
                    let counted = kernel.counted.entry(pid).or_default();
                    counted.2 += 1;
                    if let Some((since, true)) = kernel.waits.remove(&pid) {
                        counted.3.push(((now - since) * MS, 1));
                    }
                    kernel.runs[cpu] = Some(pid);
                }
            }
            for _ in 0..ms {
                kernel.pass();
                if kernel.ms % 200 == 0 {
                    kernel.look(&mut tally);
                }
            }
        }
        // Looks are where halves begin, so both windows are the same.
        while kernel.ms % 200 != 0 {
            kernel.pass();
        }
        kernel.look(&mut tally);
        state.advance(kernel.ms * MS);
        let (mut events, mut counts) = (state.snapshot(), tally.snapshot());
        for snapshot in [&mut events, &mut counts] {
            // An event stream counts the nanosecond before a half begins for the one before.
            snapshot.tasks.retain(|row| {
                let Numbers { run_ns, delay_ns, switches, wakeups, .. } = row.numbers;
                run_ns.max(delay_ns) > FEW_NS || switches + wakeups > 0 || row.waits_ns.is_some()
            });
            snapshot.tasks.sort_by_key(|row| row.pid);
            // Which tasks with nothing to show count as those of a group is another question.
            snapshot.groups.iter_mut().for_each(|row| row.tasks = 0);
        }
        for (a, b) in events.tasks.iter_mut().chain(&mut events.groups).zip(counts.tasks.iter().chain(&counts.groups)) {
            round(&mut a.numbers, &b.numbers);
        }
        round(&mut events.all, &counts.all);
        prop_assert_eq!(events, counts);
    }
}

/// By how much times may differ.
const FEW_NS: u64 = 16;

/// Takes over times that differ by a few nanoseconds only.
fn round(of: &mut Numbers, like: &Numbers) {
    for (ns, like) in [(&mut of.run_ns, like.run_ns), (&mut of.delay_ns, like.delay_ns)] {
        if ns.abs_diff(like) <= FEW_NS {
            *ns = like;
        }
    }
}
