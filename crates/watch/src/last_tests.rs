// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use proptest::prelude::*;
use rota_trace::{EventKind, OffCpu, Recorder, Setting};
use std::collections::BTreeMap;

fn event(time_ns: u64, cpu: Option<u32>, kind: EventKind) -> Event {
    Event { time_ns, cpu, kind }
}

fn task(pid: u32, name: &str) -> EventKind {
    EventKind::Task { pid, name: name.into(), weight: 100, instance_of: None }
}

fn wakeup(pid: u32) -> EventKind {
    EventKind::Wakeup { pid, waker: 0 }
}

fn out(pid: u32, why: OffCpu) -> EventKind {
    EventKind::SwitchOut { pid, why }
}

fn kept(last: Last, end_ns: u64) -> (Kept, Vec<Event>) {
    let mut all = Recorder::default();
    let kept = last.finish(end_ns, &mut all);
    (kept, all.events)
}

#[test]
fn the_stream_begins_with_what_tasks_do_at_the_cut() {
    let mut last = Last::new(100);
    let before = [
        event(0, None, task(1, "runs")),
        event(0, Some(0), EventKind::SwitchIn { pid: 1 }),
        event(10, None, task(2, "old")),
        event(10, Some(0), wakeup(2)),
        event(20, None, task(2, "waits")),
        event(30, None, task(3, "sleeps")),
        event(30, Some(1), EventKind::SwitchIn { pid: 3 }),
        event(40, Some(1), out(3, OffCpu::Sleep)),
        event(50, None, task(4, "gone")),
        event(50, Some(1), EventKind::SwitchIn { pid: 4 }),
        event(60, Some(1), out(4, OffCpu::Exit)),
        event(70, None, task(5, "silent")),
    ];
    before.iter().for_each(|event| last.event(event));
    last.event(&event(250, Some(1), wakeup(3)));
    let (kept, events) = kept(last, 300);
    assert_eq!(kept, Kept { from_ns: 200, overflowed: false });
    assert_eq!(
        events,
        [
            event(0, None, task(1, "runs")),
            event(0, Some(0), EventKind::SwitchIn { pid: 1 }),
            event(0, None, task(2, "waits")),
            event(0, None, out(2, OffCpu::Runnable)),
            event(50, None, task(3, "sleeps")),
            event(50, Some(1), wakeup(3)),
        ]
    );
}

#[test]
fn each_setting_of_a_task_is_told_as_it_was_at_the_cut() {
    let mut last = Last::new(100);
    let set = |time_ns, setting| event(time_ns, None, EventKind::Setting(setting));
    let process = || Setting::Process { pid: 1, process: 7 };
    let session = |session| Setting::Session { pid: 1, session };
    let before = [
        event(0, None, task(1, "runs")),
        set(0, process()),
        set(0, session(3)),
        event(0, Some(0), EventKind::SwitchIn { pid: 1 }),
        set(40, session(4)),
    ];
    before.iter().for_each(|event| last.event(event));
    let (_, events) = kept(last, 200);
    let settings = [set(0, process()), set(0, session(4))];
    assert_eq!(events[1..3], settings);
}

#[test]
fn a_stream_that_is_shorter_is_kept_as_it_is() {
    let mut last = Last::new(100);
    let all = [event(0, None, task(1, "a")), event(90, Some(0), EventKind::SwitchIn { pid: 1 })];
    all.iter().for_each(|event| last.event(event));
    let whole = Kept { from_ns: 0, overflowed: false };
    assert_eq!(kept(last, 100), (whole, all.to_vec()));
}

#[test]
fn a_full_memory_keeps_less_and_says_so() {
    let mut last = Last::with_most(100, 2);
    for time_ns in [10, 20, 20, 30] {
        last.event(&event(time_ns, Some(0), EventKind::Idle));
    }
    // Both events of 20 go for the one of 30: their states are one.
    let (kept_, events) = kept(last, 40);
    assert_eq!(kept_, Kept { from_ns: 21, overflowed: true });
    assert_eq!(events, [event(9, Some(0), EventKind::Idle)]);

    // What overflowed is too old by now.
    let mut last = Last::with_most(100, 1);
    last.event(&event(10, Some(0), EventKind::Idle));
    last.event(&event(20, Some(0), EventKind::Idle));
    assert_eq!(kept(last, 200).0, Kept { from_ns: 100, overflowed: false });
}

/// What tasks do, as events of a well-formed stream on two CPUs: `choices` say what happens next.
fn stream(choices: &[(u8, u8, u8)]) -> Vec<Event> {
    let mut events = Vec::new();
    let (mut running, mut state) = ([None; 2], BTreeMap::<u32, char>::new());
    for (number, (what, pid, cpu)) in choices.iter().enumerate() {
        let (time_ns, pid, cpu) = (number as u64, u32::from(pid % 5) + 1, usize::from(cpu % 2));
        let mut tell = |kind| events.push(event(time_ns, Some(cpu as u32), kind));
        let does = *state.entry(pid).or_insert_with(|| {
            tell(task(pid, &format!("task {time_ns}")));
            's'
        });
        match (what % 3, does) {
            (_, 's') => {
                tell(wakeup(pid));
                state.insert(pid, 'w');
            }
            (_, 'w') if running[cpu].is_none() => {
                tell(EventKind::SwitchIn { pid });
                running[cpu] = Some(pid);
                state.insert(pid, 'r');
            }
            (why, 'r') if running[cpu] == Some(pid) => {
                running[cpu] = None;
                let (why, next) = [
                    (OffCpu::Runnable, Some('w')),
                    (OffCpu::Sleep, Some('s')),
                    (OffCpu::Exit, None),
                ][usize::from(why)];
                tell(out(pid, why));
                match next {
                    Some(next) => state.insert(pid, next),
                    None => state.remove(&pid),
                };
            }
            _ => {}
        }
    }
    events
}

/// Name and state of each task after a stream; panics if the stream is not well-formed.
fn after(events: &[Event]) -> BTreeMap<u32, (String, char)> {
    let mut tasks = BTreeMap::<u32, (String, char)>::new();
    let mut running = BTreeMap::new();
    for event in events {
        let mut set = |pid: &u32, from: &str, to| {
            let task = tasks.get_mut(pid).expect("a task is named first");
            assert!(from.contains(task.1), "{event:?} of {task:?}");
            task.1 = to;
        };
        match &event.kind {
            EventKind::Task { pid, name, .. } => {
                tasks.insert(*pid, (name.clone(), 's'));
            }
            EventKind::Wakeup { pid, .. } => set(pid, "s", 'w'),
            EventKind::SwitchIn { pid } => {
                set(pid, if event.time_ns == 0 { "sw" } else { "w" }, 'r');
                assert_eq!(running.insert(event.cpu, *pid), None);
            }
            EventKind::SwitchOut { pid, why: OffCpu::Runnable } if event.cpu.is_none() => {
                assert_eq!(event.time_ns, 0);
                set(pid, "s", 'w');
            }
            EventKind::SwitchOut { pid, why } => {
                set(pid, "r", if *why == OffCpu::Runnable { 'w' } else { 's' });
                assert_eq!(running.remove(&event.cpu), Some(*pid));
                if *why == OffCpu::Exit {
                    tasks.remove(pid);
                }
            }
            other => panic!("{other:?}"),
        }
    }
    tasks.retain(|_, (_, does)| *does != 's');
    tasks
}

proptest! {
    /// However much is kept: the rest is well-formed from its beginning on, has every event of its
    /// time, and ends with the same tasks doing the same.
    #[test]
    fn a_cut_stream_is_well_formed(
        choices in prop::collection::vec(any::<(u8, u8, u8)>(), 1..300),
        length_ns in 1u64..300,
        most in 10usize..400,
    ) {
        let all = stream(&choices);
        let end_ns = choices.len() as u64;
        let mut last = Last::with_most(length_ns, most);
        all.iter().for_each(|event| last.event(event));
        let (kept, events) = kept(last, end_ns);
        prop_assert_eq!(after(&events), after(&all));
        let rest: Vec<Event> = all
            .into_iter()
            .filter(|event| event.time_ns >= kept.from_ns)
            .map(|event| Event { time_ns: event.time_ns - kept.from_ns, ..event })
            .collect();
        let added = events.len() - rest.len();
        let mut of_rest = events.iter().filter(|event| rest.contains(event)).count();
        of_rest = of_rest.min(rest.len());
        prop_assert_eq!(of_rest, rest.len());
        prop_assert!(added <= 2 * 5);
        prop_assert!(kept.overflowed || kept.from_ns == end_ns.saturating_sub(length_ns));
    }
}
