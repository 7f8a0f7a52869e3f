// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use proptest::prelude::*;
use rota_trace::{FairKind, Policy, Recorder, Setting};

/// For no reason that is known.
const SLEEP: Left = Left::Sleep { call: None, deep: false, until: false };

const ORDINARY: Policy = Policy::Fair { kind: FairKind::Other, nice: 0, slice_ns: None };

fn record(time_ns: u64, cpu: u32, what: What) -> Record {
    Record { time_ns, cpu, what }
}

fn task(pid: u32, name: &str, was: Option<Was>) -> What {
    What::Task(Box::new(Properties {
        pid,
        process: pid,
        name: name.into(),
        weight: 100,
        kernel_thread: pid >= 90,
        cpus: 3,
        nr_cpus_allowed: 2,
        policy: ORDINARY,
        session: 0,
        group: 0,
        was,
    }))
}

fn switch(prev: u32, left: Left, next: u32) -> What {
    What::Switch { prev, left, next, new_slice: next != 0, idles: false, slice_ns: 5 }
}

/// The CPU has nothing to run after that.
fn switch_to_idle(prev: u32, left: Left) -> What {
    What::Switch { prev, left, next: 0, new_slice: false, idles: true, slice_ns: 0 }
}

fn events(records: Vec<Record>) -> Vec<Event> {
    let (mut converter, mut sink) = (Converter::new(2, Groups::default()), Recorder::default());
    converter.begin_at(1000);
    converter.add_op("enqueue".into());
    records.into_iter().for_each(|record| converter.convert(record, &mut sink));
    sink.events
}

fn named(time_ns: u64, pid: u32, name: &str) -> Event {
    let kind = EventKind::Task { pid, name: name.into(), weight: 100, instance_of: None };
    Event { time_ns, cpu: None, kind }
}

fn on(cpu: u32, time_ns: u64, kind: EventKind) -> Event {
    Event { time_ns, cpu: Some(cpu), kind }
}

#[test]
fn a_life_gives_the_simulators_events_in_its_order() {
    let found = events(vec![
        record(1001, 0, task(7, "a", None)),
        record(1002, 0, What::Fork { pid: 7, parent: 3 }),
        record(1003, 0, What::Wakeup { pid: 7, waker: 3, source: None }),
        record(1004, 1, switch(0, Left::Runnable, 7)),
        record(1005, 1, What::Pick { pid: 7, slice_ns: 6 }),
        record(1006, 1, switch(7, SLEEP, 0)),
        record(1007, 0, What::Wakeup { pid: 7, waker: 0, source: None }),
        record(1008, 0, switch(0, Left::Runnable, 7)),
        record(1009, 0, What::Exit { pid: 7 }),
        record(1010, 0, switch(7, Left::Exit, 0)),
    ]);
    let expected = [
        named(2, 7, "a"),
        on(0, 2, EventKind::Fork { pid: 7, parent: 3 }),
        on(0, 3, EventKind::Wakeup { pid: 7, waker: 3 }),
        on(1, 4, EventKind::SwitchIn { pid: 7 }),
        on(1, 4, EventKind::Pick { pid: 7, slice_ns: 5 }),
        on(1, 5, EventKind::Pick { pid: 7, slice_ns: 6 }),
        on(1, 6, EventKind::SwitchOut { pid: 7, why: OffCpu::Sleep }),
        on(0, 7, EventKind::Wakeup { pid: 7, waker: 0 }),
        on(0, 8, EventKind::Migrate { pid: 7, from: 1, to: 0 }),
        on(0, 8, EventKind::SwitchIn { pid: 7 }),
        on(0, 8, EventKind::Pick { pid: 7, slice_ns: 5 }),
        on(0, 9, EventKind::Exit { pid: 7 }),
        on(0, 10, EventKind::SwitchOut { pid: 7, why: OffCpu::Exit }),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_sleep_has_the_call_that_it_is_in_and_a_wakeup_what_did_it() {
    let getpid = syscalls::Sysno::getpid.id() as u32;
    let device = Some(WakeSource::Device);
    let found = events(vec![
        record(1001, 0, task(7, "a", Some(Was::Running))),
        record(1002, 0, switch(7, Left::Sleep { call: Some(getpid), deep: true, until: true }, 0)),
        record(1003, 1, What::Wakeup { pid: 7, waker: 0, source: device }),
        // Nobody sleeps: nothing is told.
        record(1004, 1, What::Wakeup { pid: 7, waker: 0, source: Some(WakeSource::Timer) }),
    ]);
    let block =
        Cause::Block { pid: 7, call: "getpid".into(), uninterruptible: true, absolute: true };
    let source = Cause::Source { pid: 7, source: WakeSource::Device };
    let expected = [
        on(0, 2, EventKind::Cause(block)),
        on(0, 2, EventKind::SwitchOut { pid: 7, why: OffCpu::Sleep }),
        on(1, 3, EventKind::Cause(source)),
        on(1, 3, EventKind::Wakeup { pid: 7, waker: 0 }),
    ];
    assert_eq!(found[2..], expected);
}

#[test]
fn what_a_task_was_set_to_is_told_with_its_name_and_when_it_changes() {
    let set = |change: &dyn Fn(&mut Properties)| {
        let What::Task(mut properties) = task(7, "a", None) else { panic!("no task") };
        (properties.process, properties.session) = (3, 9);
        change(&mut properties);
        What::Task(properties)
    };
    let fifo = Policy::Realtime { round_robin: false, priority: 50 };
    let found = events(vec![
        record(1001, 0, set(&|_| {})),
        record(1002, 0, What::Wakeup { pid: 7, waker: 0, source: None }),
        record(1003, 0, set(&|properties| (properties.cpus, properties.nr_cpus_allowed) = (2, 1))),
        record(1004, 0, set(&|properties| properties.policy = fifo)),
        record(1005, 0, set(&|properties| properties.policy = fifo)),
        record(1006, 0, set(&|properties| properties.group = 5)),
    ]);
    let told = |time_ns, kind| Event { time_ns, cpu: None, kind };
    let setting = |time_ns, setting| told(time_ns, EventKind::Setting(setting));
    let affinity =
        |cpus: &[u32]| EventKind::Affinity { pid: 7, cpus: cpus.iter().copied().collect() };
    let expected = [
        named(2, 7, "a"),
        setting(2, Setting::Process { pid: 7, process: 3 }),
        setting(2, Setting::Session { pid: 7, session: 9 }),
        on(0, 2, EventKind::Wakeup { pid: 7, waker: 0 }),
        named(3, 7, "a"),
        told(3, affinity(&[1])),
        named(4, 7, "a"),
        setting(4, Setting::Policy { pid: 7, policy: fifo }),
        told(4, affinity(&[0, 1])),
        named(6, 7, "a"),
        setting(6, Setting::Session { pid: 7, session: 0 }),
        setting(6, Setting::Policy { pid: 7, policy: ORDINARY }),
        told(6, EventKind::Cgroup { pid: 7, path: "/cgroup 5".into() }),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_task_that_yields_says_so_before_it_leaves() {
    let call = syscalls::Sysno::sched_yield.id() as u32;
    let found = events(vec![
        record(1001, 0, task(7, "a", Some(Was::Running))),
        record(1002, 0, switch_to_idle(7, Left::Spins(call))),
    ]);
    let expected = [
        on(0, 2, EventKind::Cause(Cause::Spin { pid: 7, call: "sched_yield".into() })),
        on(0, 2, EventKind::SwitchOut { pid: 7, why: OffCpu::Runnable }),
        on(0, 2, EventKind::Idle),
    ];
    assert_eq!(found[2..], expected);
}

#[test]
fn sleepers_are_named_when_they_wake_and_kernel_threads_stand_in_brackets() {
    let found = events(vec![
        record(1001, 0, task(7, "a", Some(Was::Sleeping))),
        record(1001, 1, task(91, "kworker/1:0", Some(Was::Sleeping))),
        record(1002, 0, What::Wakeup { pid: 91, waker: 0, source: None }),
    ]);
    let expected =
        [named(2, 91, "[kworker/1:0]"), on(0, 2, EventKind::Wakeup { pid: 91, waker: 0 })];
    assert_eq!(found, expected);
}

#[test]
fn what_tasks_did_at_the_beginning_counts_unless_they_changed_since() {
    let found = events(vec![
        record(1001, 0, task(7, "a", Some(Was::Running))),
        record(1001, 1, task(8, "b", Some(Was::Runnable))),
        record(1002, 1, switch(9, SLEEP, 8)),
        record(1003, 1, task(9, "c", Some(Was::Running))),
    ]);
    let out =
        |time, cpu, pid, why| Event { time_ns: time, cpu, kind: EventKind::SwitchOut { pid, why } };
    let expected = [
        named(1, 7, "a"),
        on(0, 1, EventKind::SwitchIn { pid: 7 }),
        named(1, 8, "b"),
        out(1, None, 8, OffCpu::Runnable),
        named(2, 9, "pid 9"),
        on(1, 2, EventKind::SwitchIn { pid: 9 }),
        out(2, Some(1), 9, OffCpu::Sleep),
        on(1, 2, EventKind::SwitchIn { pid: 8 }),
        on(1, 2, EventKind::Pick { pid: 8, slice_ns: 5 }),
        named(3, 9, "c"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_cpu_that_idles_is_told_where_another_task_could_have_come() {
    let found = events(vec![
        record(1001, 0, task(7, "a", Some(Was::Running))),
        record(1002, 0, switch_to_idle(7, Left::Runnable)),
        record(1003, 0, switch(0, Left::Runnable, 7)),
        record(1004, 0, switch(7, Left::Runnable, 0)),
        record(1005, 0, switch_to_idle(0, Left::Runnable)),
        record(1006, 0, switch(0, Left::Runnable, 7)),
        record(1007, 0, switch_to_idle(7, SLEEP)),
    ]);
    let idle: Vec<_> = found.iter().filter(|e| e.kind == EventKind::Idle).collect();
    assert_eq!(idle, [&on(0, 2, EventKind::Idle), &on(0, 5, EventKind::Idle)]);
}

#[test]
fn a_wakeup_counts_only_for_who_sleeps() {
    let found = events(vec![
        record(1001, 0, task(7, "a", Some(Was::Running))),
        record(1002, 1, What::Wakeup { pid: 7, waker: 3, source: None }),
        record(1003, 0, switch(7, Left::Runnable, 0)),
        record(1004, 1, What::Wakeup { pid: 7, waker: 3, source: None }),
    ]);
    assert!(!found.iter().any(|e| matches!(e.kind, EventKind::Wakeup { .. })), "{found:?}");
}

#[test]
fn a_new_weight_is_told_at_once() {
    let mut heavy = task(7, "a", None);
    if let What::Task(properties) = &mut heavy {
        properties.weight = 335;
    }
    let found = events(vec![
        record(1001, 0, task(7, "a", Some(Was::Running))),
        record(1002, 0, task(7, "a", None)),
        record(1003, 0, heavy),
    ]);
    let kind = EventKind::Task { pid: 7, name: "a".into(), weight: 335, instance_of: None };
    assert_eq!(found[2..], [Event { time_ns: 3, cpu: None, kind }]);
}

#[test]
fn a_callback_is_called_by_its_name() {
    let found = events(vec![record(1001, 0, What::Op { pid: 0, op: 0, ns: 80 })]);
    let kind = EventKind::OpCall { op: "enqueue".into(), pid: 0, cost: Cost::Nanoseconds(80) };
    assert_eq!(found, [on(0, 1, kind)]);
}

/// Checks what every sink relies on.
#[derive(Default)]
struct Strict {
    time_ns: u64,
    named: std::collections::HashSet<u32>,
    running: FxHashMap<u32, u32>,
}

impl Sink for Strict {
    fn event(&mut self, event: &Event) {
        assert!(event.time_ns >= self.time_ns, "{event:?}");
        self.time_ns = event.time_ns;
        let pid = match event.kind {
            EventKind::Task { pid, .. } => {
                self.named.insert(pid);
                pid
            }
            EventKind::SwitchIn { pid } => {
                assert!(!self.running.values().any(|p| *p == pid), "runs twice: {event:?}");
                let cpu = event.cpu.expect("a CPU");
                assert_eq!(self.running.insert(cpu, pid), None, "CPU is taken: {event:?}");
                pid
            }
            EventKind::SwitchOut { pid, .. } => {
                if let Some(cpu) = event.cpu {
                    assert_eq!(self.running.remove(&cpu), Some(pid), "was not there: {event:?}");
                }
                pid
            }
            EventKind::Wakeup { pid, .. } => {
                assert!(!self.running.values().any(|p| *p == pid), "woken running: {event:?}");
                pid
            }
            EventKind::Fork { pid, .. } | EventKind::Exit { pid } | EventKind::Pick { pid, .. } => {
                pid
            }
            _ => return,
        };
        assert!(self.named.contains(&pid), "not named: {event:?}");
    }
}

proptest! {
    /// Any records in any order, as if any number had been lost between them.
    #[test]
    fn losses_leave_the_stream_well_formed(
        steps in prop::collection::vec((0u32..10, 0u32..3, 0u32..5, 0u32..5, 0u32..3), 0..200),
    ) {
        let (mut converter, mut sink) = (Converter::default(), Strict::default());
        for (time, (kind, cpu, a, b, left)) in steps.into_iter().enumerate() {
            let left = [Left::Runnable, SLEEP, Left::Exit][left as usize];
            let what = match kind {
                0 => task(a + 1, "t", None),
                1 => task(a + 1, "t", Some([Was::Running, Was::Runnable, Was::Sleeping][b as usize % 3])),
                2 => What::Fork { pid: a + 1, parent: b },
                3 => What::Exit { pid: a + 1 },
                4 | 5 => What::Wakeup { pid: a + 1, waker: b, source: None },
                _ if a == b => continue,
                _ => switch(a, left, b),
            };
            converter.convert(record(time as u64, cpu, what), &mut sink);
        }
    }
}
