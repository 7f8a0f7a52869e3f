// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings, and the workloads that are made of them.

mod flows;
mod processes;
mod settings;
mod timing;

use super::*;
use proptest::prelude::*;
use rota_trace::{Cause, Event, EventKind, FairKind, OffCpu, Policy, Setting, Sink, WakeSource};

/// A recording: times in microseconds, the CPU, what happens.
fn gathered(charges: Charges, events: &[(u64, u32, EventKind)]) -> Gatherer {
    let mut gatherer = Gatherer::new(charges);
    for (time_us, cpu, kind) in events {
        gatherer.event(&Event { time_ns: time_us * 1000, cpu: Some(*cpu), kind: kind.clone() });
    }
    gatherer
}

fn replay(events: &[(u64, u32, EventKind)], facts: &Facts) -> Replay {
    gathered(Charges::default(), events).finish(1_000_000_000, facts).expect("a workload")
}

/// What stands in a task: its lines without blanks around them.
fn task<'a>(replay: &'a Replay, name: &str) -> Vec<&'a str> {
    let begin = format!("\t\t\"{name}\" : {{\n");
    let (_, rest) = replay.text.split_once(&begin).expect("the task");
    let (body, _) = rest.split_once("\n\t\t}").expect("its end");
    body.lines().map(|line| line.trim().trim_end_matches(',')).collect()
}

fn named(pid: u32, name: &str) -> (u64, u32, EventKind) {
    (0, 0, EventKind::Task { pid, name: name.into(), weight: 100, instance_of: None })
}

fn on(time_us: u64, cpu: u32, pid: u32) -> (u64, u32, EventKind) {
    (time_us, cpu, EventKind::SwitchIn { pid })
}

fn off(time_us: u64, cpu: u32, pid: u32, why: OffCpu) -> (u64, u32, EventKind) {
    (time_us, cpu, EventKind::SwitchOut { pid, why })
}

fn wakeup(time_us: u64, pid: u32, waker: u32) -> (u64, u32, EventKind) {
    (time_us, 0, EventKind::Wakeup { pid, waker })
}

fn block(time_us: u64, pid: u32, call: &str, uninterruptible: bool) -> (u64, u32, EventKind) {
    let cause = Cause::Block { pid, call: call.into(), uninterruptible, absolute: false };
    (time_us, 0, EventKind::Cause(cause))
}

fn source(time_us: u64, pid: u32, source: WakeSource) -> (u64, u32, EventKind) {
    (time_us, 0, EventKind::Cause(Cause::Source { pid, source }))
}

#[test]
fn who_ends_a_wait_posts_it_at_the_same_point_of_its_own_work() {
    // The reader works 100 us and waits; the writer wakes it after 300 us of its 700 us.
    let found = replay(
        &[
            named(1, "reader"),
            named(2, "writer"),
            on(0, 0, 1),
            block(100, 1, "read", false),
            off(100, 0, 1, OffCpu::Sleep),
            on(100, 0, 2),
            wakeup(400, 1, 2),
            on(450, 1, 1),
            off(500, 1, 1, OffCpu::Exit),
            off(800, 0, 2, OffCpu::Exit),
        ],
        &Facts::default(),
    );
    assert_eq!(
        task(&found, "reader-1"),
        ["\"loop\" : 1", "\"run1\" : 100, \"sem_wait2\" : \"reader-1 read\"", "\"run3\" : 50"]
    );
    assert_eq!(
        task(&found, "writer-2"),
        [
            // Nothing woke it: it waited for the CPU.
            "\"loop\" : 1",
            "\"run1\" : 300, \"sem_post2\" : \"reader-1 read\"",
            "\"run3\" : 400"
        ]
    );
    assert_eq!(found.waits, Waits { tasks: 1, ..Waits::default() });
}

#[test]
fn a_task_that_nothing_woke_was_there_unless_tasks_join_the_recording() {
    let events = [
        named(1, "there"),
        named(2, "woken"),
        wakeup(0, 2, 0),
        on(0, 1, 2),
        off(100, 1, 2, OffCpu::Sleep),
        on(5000, 0, 1),
        off(6000, 0, 1, OffCpu::Exit),
    ];
    let begin = |joined| {
        let replay = replay(&events, &Facts { joined, ..Facts::default() });
        task(&replay, "there-1")[0].to_owned()
    };

    assert_eq!(begin(false), "\"loop\" : 1");
    assert_eq!(begin(true), "\"delay\" : 5000, \"loop\" : 1");
}

#[test]
fn a_time_keeps_its_length_and_an_arrival_its_time() {
    let slept = |call: &'static str, deep, from: WakeSource| {
        let found = replay(
            &[
                named(1, "a"),
                on(0, 0, 1),
                block(100, 1, call, deep),
                off(100, 0, 1, OffCpu::Sleep),
                source(400, 1, from),
                wakeup(400, 1, 0),
                on(400, 0, 1),
                off(500, 0, 1, OffCpu::Exit),
            ],
            &Facts::default(),
        );
        (task(&found, "a-1")[1].to_owned(), found.waits)
    };
    let length = "\"run1\" : 100, \"sleep2\" : 300";
    let arrival = "\"run1\" : 100, \"timer2\" : \
                   { \"ref\" : \"unique until 400\", \"period\" : 400, \"mode\" : \"absolute\" }";
    let none = Waits::default();
    // A poll that times out is a time, too.
    assert_eq!(
        slept("poll", false, WakeSource::Timer),
        (length.into(), Waits { timers: 1, ..none })
    );
    assert_eq!(
        slept("read", true, WakeSource::Device),
        (length.into(), Waits { services: 1, ..none })
    );
    assert_eq!(
        slept("poll", false, WakeSource::Device),
        (arrival.into(), Waits { arrivals: 1, ..none })
    );
    assert_eq!(
        slept("futex", false, WakeSource::Device),
        (length.into(), Waits { unknown: 1, ..none })
    );
}

/// 1 sleeps from 100 to 130, until 2 ends that; 2 is its child or not, and of the kernel or not.
fn slept_deeply(call: &'static str, waker: &'static str, is_child: bool) -> (String, Waits) {
    let birth = match is_child {
        true => (50, 0, EventKind::Fork { pid: 2, parent: 1 }),
        false => on(50, 1, 2),
    };
    let found = replay(
        &[
            named(1, "a"),
            on(0, 0, 1),
            named(2, waker),
            birth,
            wakeup(60, 2, 1),
            on(60, 1, 2),
            block(100, 1, call, true),
            off(100, 0, 1, OffCpu::Sleep),
            wakeup(130, 1, 2),
            on(130, 0, 1),
            off(200, 0, 1, OffCpu::Exit),
            off(300, 1, 2, OffCpu::Exit),
        ],
        &Facts::default(),
    );
    let text = task(&found, "a-1").join(" ");
    (text, found.waits)
}

#[test]
fn who_had_a_lock_of_the_kernel_need_not_be_waited_for_again() {
    let (text, waits) = slept_deeply("unlink", "b", false);

    assert!(text.contains("\"sleep2\" : 30"), "{text}");
    assert_eq!(waits, Waits { locks: 1, ..Waits::default() });
}

#[test]
fn a_child_and_the_kernel_are_waited_for_again_also_where_no_signal_ends_it() {
    for (call, waker, is_child) in
        [("vfork", "b", true), ("fsync", "[jbd2]", false), ("execve", "b", false)]
    {
        let (text, waits) = slept_deeply(call, waker, is_child);

        assert!(text.contains(&format!("\"a-1 {call}\"")), "{text}");
        assert_eq!(waits, Waits { tasks: 1, ..Waits::default() }, "{call}");
    }
}

#[test]
fn forks_create_and_ends_are_waited_for() {
    let found = replay(
        &[
            named(1, "sh"),
            on(0, 0, 1),
            named(2, "sh"),
            (50, 0, EventKind::Fork { pid: 2, parent: 1 }),
            wakeup(50, 2, 1),
            block(60, 1, "wait4", false),
            off(60, 0, 1, OffCpu::Sleep),
            on(60, 0, 2),
            wakeup(100, 1, 2),
            (100, 0, EventKind::Exit { pid: 2 }),
            off(110, 0, 2, OffCpu::Exit),
            on(110, 0, 1),
            off(120, 0, 1, OffCpu::Exit),
        ],
        &Facts::default(),
    );
    assert_eq!(
        task(&found, "sh-1"),
        [
            "\"loop\" : 1",
            "\"run1\" : 50, \"fork2\" : \"sh-2\"",
            "\"run3\" : 10, \"sem_wait4\" : \"sh-1 wait4\"",
            "\"run5\" : 10"
        ]
    );
    let child = ["\"instance\" : 0, \"loop\" : 1", "\"run1\" : 50, \"exit2\" : \"sh-1 wait4\""];
    assert_eq!(task(&found, "sh-2"), child);
}

#[test]
fn what_the_simulated_machine_charges_is_taken_off_the_work() {
    // 100 us with a switch of 3 us and a wakeup of 2 us; then 4 us, of which a switch is 3.
    let charges = Charges { switch_ns: 3000, wakeup_ns: 2000, ..Charges::default() };
    let events = [
        named(1, "a"),
        named(2, "b"),
        on(0, 1, 2),
        off(0, 1, 2, OffCpu::Sleep),
        on(0, 0, 1),
        wakeup(50, 2, 1),
        on(60, 1, 2),
        off(160, 1, 2, OffCpu::Exit),
        off(100, 0, 1, OffCpu::Runnable),
        on(200, 0, 1),
        off(204, 0, 1, OffCpu::Exit),
    ];
    let found = gathered(charges, &events).finish(1_000_000, &Facts::default());
    let found = found.expect("a workload");
    assert_eq!(
        task(&found, "a-1"),
        // 50 - 3 - 2, then 50 - 3 + 4 - 3 - 0 = 48: the second switch comes off the same run.
        ["\"loop\" : 1", "\"run1\" : 45, \"sem_post2\" : \"b-2 wait\"", "\"run3\" : 51"]
    );
}

fn process(pid: u32, process: u32) -> (u64, u32, EventKind) {
    (0, 0, EventKind::Setting(Setting::Process { pid, process }))
}

fn kernel_threads(pids: &[u32]) -> Facts {
    Facts { kernel_threads: pids.iter().copied().collect(), ..Facts::default() }
}

#[test]
fn threads_have_their_process_and_kernel_threads_that_wake_nobody_are_left_out() {
    let found = replay(
        &[
            named(1, "a"),
            named(2, "b"),
            process(2, 1),
            named(8, "[kworker/0:1]"),
            named(9, "[rcu]"),
            on(0, 0, 1),
            off(10, 0, 1, OffCpu::Sleep),
            on(10, 0, 9),
            off(20, 0, 9, OffCpu::Sleep),
            on(20, 0, 8),
            wakeup(30, 1, 8),
            off(40, 0, 8, OffCpu::Sleep),
            on(40, 0, 2),
            off(50, 0, 2, OffCpu::Exit),
        ],
        &kernel_threads(&[8, 9]),
    );
    assert_eq!(task(&found, "b-2")[0], "\"thread_of\" : \"a-1\", \"loop\" : 1");
    assert_eq!(task(&found, "kworker/0:1-8")[0], "\"kthread\" : true, \"loop\" : 1");
    assert_eq!((found.text.contains("rcu"), found.left_out), (false, 1));
}

#[test]
fn what_a_kernel_thread_forked_starts_by_itself() {
    let found = replay(
        &[
            named(2, "[kthreadd]"),
            on(100, 0, 2),
            named(7, "helper"),
            (150, 0, EventKind::Fork { pid: 7, parent: 2 }),
            wakeup(200, 7, 2),
            off(250, 0, 2, OffCpu::Sleep),
            on(250, 0, 7),
            off(300, 0, 7, OffCpu::Exit),
        ],
        &kernel_threads(&[2]),
    );
    assert_eq!(task(&found, "helper-7"), ["\"delay\" : 200, \"loop\" : 1", "\"run1\" : 50"]);
    assert!(!found.text.contains("kthreadd"), "{}", found.text);
}

#[test]
fn a_writer_that_waits_for_a_reader_found_the_pipe_full() {
    let found = |call: &str, deep| {
        let events = [
            named(1, "writer"),
            named(2, "reader"),
            on(0, 0, 1),
            block(100, 1, call, deep),
            off(100, 0, 1, OffCpu::Sleep),
            on(100, 0, 2),
            wakeup(200, 1, 2),
            off(300, 0, 2, OffCpu::Exit),
            on(300, 0, 1),
            off(400, 0, 1, OffCpu::Exit),
        ];
        replay(&events, &Facts::default()).waits
    };
    let one = Waits { tasks: 1, ..Waits::default() };
    assert_eq!(found("write", false), Waits { full: 1, ..one });
    assert_eq!(found("read", false), one);
    // A lock of the file system, for instance.
    assert_eq!(found("write", true), Waits { locks: 1, ..Waits::default() });
}

/// Anything that a converter of records could tell, in any order.
fn any_event() -> impl Strategy<Value = (u32, EventKind)> {
    let pid = || 1..6u32;
    let why = prop_oneof![Just(OffCpu::Runnable), Just(OffCpu::Sleep), Just(OffCpu::Exit)];
    let kind = prop_oneof![
        (pid(), "[a-z\"\\\\/*\u{e9}]{0,4}").prop_map(|(pid, name)| EventKind::Task {
            pid,
            name,
            weight: 100,
            instance_of: None
        }),
        (pid(), 0..6u32).prop_map(|(pid, parent)| EventKind::Fork { pid, parent }),
        (pid(), 0..6u32).prop_map(|(pid, waker)| EventKind::Wakeup { pid, waker }),
        pid().prop_map(|pid| EventKind::SwitchIn { pid }),
        (pid(), why).prop_map(|(pid, why)| EventKind::SwitchOut { pid, why }),
        (pid(), any::<bool>()).prop_map(|(pid, uninterruptible)| EventKind::Cause(Cause::Block {
            pid,
            call: "read".into(),
            uninterruptible,
            absolute: pid % 2 == 0,
        })),
        (pid(), -1..3i32).prop_map(|(pid, nice)| EventKind::Setting(Setting::Policy {
            pid,
            policy: match nice {
                -1 => Policy::Realtime { round_robin: true, priority: 5 },
                nice => Policy::Fair { kind: FairKind::Batch, nice, slice_ns: None },
            },
        })),
        (pid(), 1..6u32)
            .prop_map(|(pid, process)| EventKind::Setting(Setting::Process { pid, process })),
        (pid(), 0..3u32)
            .prop_map(|(pid, session)| EventKind::Setting(Setting::Session { pid, session })),
        (pid(), 0..3u32)
            .prop_map(|(pid, cpu)| EventKind::Affinity { pid, cpus: [cpu].into_iter().collect() }),
        (pid(), "(/[a-b]){0,17}").prop_map(|(pid, path)| EventKind::Cgroup {
            pid,
            path: format!("/{path}").replace("//", "/").into()
        }),
        ("(/[a-b]){1,3}", 1..9u32, any::<bool>()).prop_map(|(path, weight, idle)| {
            EventKind::CgroupSet {
                path: path.into(),
                weight,
                limit_ns: Some((9_000_000, 100_000_000)),
                idle,
            }
        }),
        pid().prop_map(|pid| EventKind::Cause(Cause::Spin { pid, call: "sched_yield".into() })),
        pid().prop_map(|pid| EventKind::Cause(Cause::Source { pid, source: WakeSource::Device })),
    ];
    (0..3u32, kind)
}

proptest! {
    #[test]
    fn whatever_was_recorded_the_workload_is_a_valid_file(
        events in prop::collection::vec((0..2000u64, any_event()), 0..60)
    ) {
        let mut now_us = 0;
        let events: Vec<_> = events
            .into_iter()
            .map(|(step_us, (cpu, kind))| {
                now_us += step_us;
                (now_us, cpu, kind)
            })
            .collect();
        let facts = Facts { about: vec!["a */ test".into()], ..Facts::default() };
        if let Some(replay) = gathered(Charges::default(), &events).finish(now_us * 1000, &facts) {
            let parsed = rota_workload::parse("recorded.json", &replay.text);
            prop_assert!(parsed.is_ok(), "{}\n{}", parsed.err().map(|e| e.to_string()).unwrap_or_default(), replay.text);
        }
    }
}
