// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use crate::snapshot::Row;

const MS: u64 = 1_000_000;

fn tell(state: &mut State, ms: u64, cpu: u32, kind: EventKind) {
    state.event(&Event { time_ns: ms * MS, cpu: Some(cpu), kind });
}

fn name(state: &mut State, pid: u32, name: &str) {
    let (name, instance_of) = (name.to_owned(), None);
    tell(state, 0, 0, EventKind::Task { pid, name, weight: 100, instance_of });
}

fn row(snapshot: &Snapshot, name: &str) -> Row {
    let found = snapshot.tasks.iter().chain(&snapshot.groups).find(|row| &*row.name == name);
    found.unwrap_or_else(|| panic!("{name}: {snapshot:?}")).clone()
}

#[test]
fn a_task_has_its_cpu_time_run_delay_and_wakeups() {
    let mut state = State::new(1);
    name(&mut state, 7, "web");
    tell(&mut state, 10, 0, EventKind::Wakeup { pid: 7, waker: 0 });
    tell(&mut state, 13, 0, EventKind::SwitchIn { pid: 7 });
    tell(&mut state, 20, 0, EventKind::SwitchOut { pid: 7, why: OffCpu::Runnable });
    tell(&mut state, 24, 0, EventKind::SwitchIn { pid: 7 });
    tell(&mut state, 25, 0, EventKind::SwitchOut { pid: 7, why: OffCpu::Sleep });
    state.advance(50 * MS);
    let snapshot = state.snapshot();
    let numbers = row(&snapshot, "web").numbers;
    // It ran 13 to 20 and 24 to 25; it waited 10 to 13, after a wakeup, and 20 to 24, after none.
    assert_eq!((numbers.run_ns, numbers.delay_ns), (8 * MS, 7 * MS));
    assert_eq!((numbers.switches, numbers.wakeups), (2, 1));
    assert_eq!((numbers.p99_ns, numbers.max_ns), (Some(3 * MS), Some(3 * MS)));
    assert_eq!(snapshot.all, numbers);
    assert_eq!((snapshot.now_ns, snapshot.window_ns, snapshot.waiting), (50 * MS, 50 * MS, 0));
}

#[test]
fn what_goes_on_counts_up_to_now() {
    let mut state = State::new(2);
    name(&mut state, 7, "runs");
    name(&mut state, 8, "waits");
    tell(&mut state, 0, 0, EventKind::SwitchIn { pid: 7 });
    tell(&mut state, 4, 1, EventKind::Wakeup { pid: 8, waker: 7 });
    state.advance(10 * MS);
    let snapshot = state.snapshot();
    assert_eq!(row(&snapshot, "runs").numbers.run_ns, 10 * MS);
    let waits = row(&snapshot, "waits");
    assert_eq!(
        (waits.numbers.delay_ns, waits.waits_ns, waits.numbers.wakeups),
        (6 * MS, Some(6 * MS), 0)
    );
    assert_eq!(snapshot.waiting, 1);
    // A second look counts nothing twice.
    assert_eq!(state.snapshot(), snapshot);
}

#[test]
fn time_counts_for_the_half_window_that_it_was_in() {
    let mut state = State::new(1);
    name(&mut state, 7, "runs");
    tell(&mut state, 0, 0, EventKind::SwitchIn { pid: 7 });
    // 21 s without an event: the halves are 15 to 20 s and 20 to 21 s.
    state.advance(21_000 * MS);
    let snapshot = state.snapshot();
    assert_eq!(snapshot.window_ns, 6_000 * MS);
    let run_ns = row(&snapshot, "runs").numbers.run_ns;
    assert!(run_ns.abs_diff(6_000 * MS) <= 2, "{run_ns}");
}

#[test]
fn a_cgroup_has_what_its_tasks_got_while_they_were_in_it() {
    let mut state = State::new(1);
    for (pid, of) in [(7, "a"), (8, "b")] {
        name(&mut state, pid, of);
        tell(&mut state, 0, 0, EventKind::Cgroup { pid, path: "/web".into() });
    }
    tell(&mut state, 0, 0, EventKind::SwitchIn { pid: 7 });
    tell(&mut state, 3, 0, EventKind::SwitchOut { pid: 7, why: OffCpu::Exit });
    tell(&mut state, 3, 0, EventKind::SwitchIn { pid: 8 });
    tell(&mut state, 5, 0, EventKind::Cgroup { pid: 8, path: "/build".into() });
    state.advance(9 * MS);
    let snapshot = state.snapshot();
    // 3 ms of task 7, which is gone, and 2 ms of task 8.
    assert_eq!(row(&snapshot, "/web").numbers.run_ns, 5 * MS);
    assert_eq!(row(&snapshot, "/build").numbers.run_ns, 4 * MS);
    assert_eq!((row(&snapshot, "/web").tasks, row(&snapshot, "/build").tasks), (0, 1));
    assert_eq!(snapshot.tasks.len(), 1);
    assert_eq!(&*row(&snapshot, "b").group, "/build");
}

#[test]
fn a_task_that_waits_for_a_busy_cpu_makes_no_other_idle_in_vain() {
    let mut state = State::new(2);
    name(&mut state, 7, "tied");
    name(&mut state, 8, "runs");
    tell(&mut state, 0, 0, EventKind::SwitchIn { pid: 8 });
    tell(&mut state, 0, 0, EventKind::Wakeup { pid: 7, waker: 0 });
    let cpus = [0].into_iter().collect();
    tell(&mut state, 10, 0, EventKind::Affinity { pid: 7, cpus });
    state.advance(20 * MS);
    // CPU 1 was idle for 10 ms while the task could have used it.
    assert_eq!(state.snapshot().sums, (20 * MS, 10 * MS, 40 * MS));
    // Tied to all is tied to none.
    let cpus = [0, 1].into_iter().collect();
    tell(&mut state, 20, 0, EventKind::Affinity { pid: 7, cpus });
    state.advance(30 * MS);
    assert_eq!(state.snapshot().sums, (30 * MS, 20 * MS, 60 * MS));
}

#[test]
fn memory_is_that_of_tasks_which_are_there() {
    let mut state = State::new(1);
    for pid in 1..=10_000 {
        let ms = u64::from(pid) * 10;
        tell(&mut state, ms, 0, EventKind::Cgroup { pid, path: format!("/job-{pid}").into() });
        tell(&mut state, ms, 0, EventKind::SwitchIn { pid });
        tell(&mut state, ms + 9, 0, EventKind::SwitchOut { pid, why: OffCpu::Exit });
    }
    assert_eq!(state.tasks.len(), 0);
    // Groups of the last 10 s and of up to 5 s before: 100 start in a second.
    assert!(state.groups.len() <= 1_600, "{}", state.groups.len());
}
