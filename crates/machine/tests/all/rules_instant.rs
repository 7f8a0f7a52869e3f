// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that pick at the same time, and CPUs that others than sched_ext have for a while.

use crate::common::{ideal, run, shared_fifo, Native, Tape};
use rota_machine::config::{Config, Costs};
use rota_machine::consts::{ENQ_HEAD, KICK_PREEMPT};
use rota_machine::interruption::Interruption;
use rota_machine::lab::Lab;
use rota_machine::ops::Op;
use rota_machine::topology::Topology;
use rota_trace::{Event, EventKind, OffCpu};

const MS: u64 = 1_000_000;
const HOGS2: &str = r#"{"tasks": {"a": {"run": 1000000}, "b": {"run": 1000000}}}"#;
const HOGS5: &str = r#"{"tasks": {"a": {"instance": 5, "run": 1000000}}}"#;

/// Slices end at ticks, every 4 ms; nothing else takes time.
fn ticking(cpus: u32, duration_ns: u64) -> Config {
    let config = Config::new(Topology::flat(cpus).unwrap(), duration_ns);
    Config { costs: Costs::none(), ..config }
}

fn queue(slice_ns: u64) -> Native {
    let mut native = shared_fifo();
    native.slice_ns = slice_ns;
    native
}

fn interrupted(config: Config, at_ns: u64, for_ns: u64) -> Config {
    let interruptions = vec![Interruption { cpu: 0, at_ns, for_ns }];
    Config { lab: Some(Lab { interruptions, ..Lab::default() }), ..config }
}

/// Whoever is not the first task goes to the head of the queue, and takes CPU 0 from the first.
fn children_preempt() -> Native {
    let ops = [Op::Init, Op::SelectCpu, Op::Enqueue, Op::Dispatch];
    Native::new("test", &ops, |me, system, op, args| match op {
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::Enqueue if system.native_pid(args[0]) == 1001 => {
            system.native_insert(args[0], 0, me.slice_ns, 0).map(|()| 0)
        }
        Op::Enqueue => {
            system.native_insert(args[0], 0, me.slice_ns, ENQ_HEAD)?;
            system.native_kick(0, KICK_PREEMPT);
            Ok(0)
        }
        Op::Dispatch => system.native_move_to_local(me, 0).map(u64::from),
        _ => Ok(0),
    })
}

/// When a task left its CPU, and why.
fn stops(tape: &Tape, of: u32) -> Vec<(u64, OffCpu)> {
    let stop = |e: &Event| match e.kind {
        EventKind::SwitchOut { pid, why } if pid == of => Some((e.time_ns, why)),
        _ => None,
    };
    tape.0.iter().filter_map(stop).collect()
}

/// How many tasks had to leave a CPU at this time.
fn left_at(tape: &Tape, at_ns: u64) -> usize {
    let leaves =
        |kind: &EventKind| matches!(kind, EventKind::SwitchOut { why: OffCpu::Runnable, .. });
    tape.0.iter().filter(|e| e.time_ns == at_ns && leaves(&e.kind)).count()
}

#[test]
fn a_task_that_another_cpu_is_just_leaving_makes_its_taker_wait() {
    // Five tasks, four CPUs, and all slices end at 20 ms. The first CPU takes the one that waits,
    // the second the one that the first puts back, and waits for it; the others find nothing.
    let (_, tape) = run(ticking(4, 21 * MS), HOGS5, &mut queue(20 * MS));
    assert_eq!(left_at(&tape, 20 * MS), 2);
    // In one step each, every CPU finds what the one before put back.
    let (_, tape) = run(ideal(4, 21 * MS), HOGS5, &mut queue(20 * MS));
    assert_eq!(left_at(&tape, 20 * MS), 4);
}

#[test]
fn no_cpu_is_always_the_first() {
    // Each of the five gets 4/5 of a CPU in the long run: 8 s of 10, give or take a tenth.
    let (_, tape) = run(ticking(4, 10_000 * MS), HOGS5, &mut queue(8 * MS));
    for pid in 1001..=1005 {
        let cpu_ns = tape.cpu_ns(pid, 10_000 * MS);
        assert!((7_200 * MS..=8_800 * MS).contains(&cpu_ns), "{pid}: {cpu_ns}");
    }
}

/// Which of three tasks that come at once is the first to run on one CPU, for each of some seeds.
fn first_of_three(shuffle_ties: bool) -> Vec<String> {
    let load = r#"{"tasks": {"a": {"instance": 3, "loop": 1, "run": 1000}}}"#;
    let first = |seed| {
        let config = Config { seed, shuffle_ties, ..ideal(1, 5 * MS) };
        let tape = run(config, load, &mut queue(MS)).1;
        let first = tape.picks(0)[0];
        let mut names = tape.0.iter().filter_map(|event| match &event.kind {
            EventKind::Task { pid, name, .. } if *pid == first => Some(name.clone()),
            _ => None,
        });
        names.next().expect("it has a name")
    };
    (0..30).map(first).collect()
}

#[test]
fn ties_are_decided_by_the_order_of_the_file_or_by_lots() {
    assert_eq!(first_of_three(false), ["a-0"; 30]);
    let drawn = first_of_three(true);
    assert_eq!(drawn, first_of_three(true));
    for name in ["a-0", "a-1", "a-2"] {
        // 10 of 30 each, within four standard deviations of 2.6.
        let count = drawn.iter().filter(|first| *first == name).count();
        assert!((1..=20).contains(&count), "{name} was the first {count} times");
    }
}

#[test]
fn shuffled_cpus_pick_in_any_order() {
    // One task comes for each of four idle CPUs at once, from one queue: whoever picks first runs a.
    let load = r#"{"tasks": {"hog": {"instance": 4, "loop": 1, "run": 1000},
        "a": {"delay": 500, "loop": 1, "run": 1000}, "b": {"delay": 500, "loop": 1, "run": 1000}}}"#;
    let cpu_of_a = |shuffle_ties, seed| {
        let config = Config { seed, shuffle_ties, ..ideal(4, 5 * MS) };
        run(config, load, &mut queue(MS)).1.starts(1005)[0].1
    };
    // All hogs end at 1 ms. By rule the lowest CPU picks first, and a came before b.
    assert!((0..30).all(|seed| cpu_of_a(false, seed) == 0));
    let cpus: std::collections::BTreeSet<u32> = (0..30).map(|seed| cpu_of_a(true, seed)).collect();
    assert_eq!(cpus.len(), 4, "{cpus:?}");
}

#[test]
fn an_interrupted_slice_goes_on_and_is_no_new_pick() {
    let config = interrupted(ideal(1, 21 * MS), 3 * MS, 2 * MS);
    let (_, tape) = run(config, HOGS2, &mut queue(10 * MS));
    assert_eq!(tape.starts(1001), [(0, 0), (5 * MS, 0)]);
    assert_eq!(tape.starts(1002), [(12 * MS, 0)]);
    assert_eq!(tape.picks(0), [1001, 1002]);
}

#[test]
fn an_interruption_ends_a_slice_that_is_used_up() {
    // Used up at 5 ms, but the next tick would be at 8.
    let config = interrupted(ticking(1, 9 * MS), 6 * MS, MS);
    let (_, tape) = run(config, HOGS2, &mut queue(5 * MS));
    assert_eq!(tape.starts(1002), [(7 * MS, 0)]);
    assert_eq!(tape.picks(0), [1001, 1002]);
}

#[test]
fn an_interrupted_cpu_is_not_idle() {
    let load = r#"{"tasks": {"a": {"delay": 5000, "run": 1000, "loop": 1}}}"#;
    let (_, alone) = run(interrupted(ideal(1, 20 * MS), 4 * MS, 3 * MS), load, &mut queue(MS));
    assert_eq!(alone.starts(1001), [(7 * MS, 0)]);
    let (_, other) = run(interrupted(ideal(2, 20 * MS), 4 * MS, 3 * MS), load, &mut queue(MS));
    assert_eq!(other.starts(1001), [(5 * MS, 1)]);
}

#[test]
fn a_tick_that_is_charged_takes_nothing_from_who_goes_on() {
    // b begins when the tick's 0.1 ms are over, at 4.1; at 8.0 it has had 3.9 and goes on to 12.
    let costs = Costs { tick_ns: MS / 10, ..Costs::none() };
    let load = r#"{"tasks": {"a": {"loop": 1, "run": 4100}, "b": {"loop": 1, "run": 7900}}}"#;
    let lab = Lab { ticks_are_charged: true, ..Lab::default() };
    let config = Config { costs, lab: Some(lab), ..ticking(1, 40 * MS) };
    let (_, tape) = run(config, load, &mut queue(4 * MS));
    assert_eq!(tape.starts(1002)[0], (4 * MS, 0));
    assert_eq!(tape.cpu_ns(1001, 40 * MS), 4 * MS);
    assert_eq!(tape.cpu_ns(1002, 40 * MS), 8 * MS);
}

#[test]
fn a_fork_takes_time_before_the_child_comes() {
    // a runs for 1 ms, makes b for 0.2 ms, runs for another 1 ms; b comes at 1.2 and waits until 2.2.
    let costs = Costs { fork_ns: MS / 5, ..Costs::none() };
    let load = r#"{"tasks": {
        "a": {"loop": 1, "run1": 1000, "fork": "b", "run2": 1000},
        "b": {"instance": 0, "loop": 1, "run": 500}}}"#;
    let (_, tape) = run(Config { costs, ..ticking(1, 9 * MS) }, load, &mut queue(4 * MS));
    assert_eq!(tape.cpu_ns(1001, 9 * MS), 2 * MS + MS / 5);
    assert_eq!(tape.starts(1002)[0], (2 * MS + MS / 5, 0));
}

#[test]
fn a_parent_that_its_child_preempts_forks_the_next_child_when_it_runs_again() {
    // Who comes preempts: a forks b at 1 ms, which runs first; then a forks c, which runs first.
    let load = r#"{"tasks": {
        "a": {"loop": 1, "run1": 1000, "fork1": "b", "fork2": "c", "run2": 1000},
        "b": {"instance": 0, "loop": 1, "run": 500},
        "c": {"instance": 0, "loop": 1, "run": 500}}}"#;
    let config = Config { costs: Costs::none(), ..ticking(1, 9 * MS) };
    let (_, tape) = run(config, load, &mut children_preempt());
    assert_eq!(tape.starts(1002)[0].0, MS);
    assert_eq!(tape.starts(1003)[0].0, MS + MS / 2);
    assert_eq!(tape.starts(1001)[1].0, MS + MS / 2);
}

/// The child comes at 1 ms and preempts whom it can: a works for 0.1 ms more and sleeps, and the child has its CPU. Then
/// a goes on behind the child, which is not at its end when it posts.
#[test]
fn nothing_preempts_a_task_that_vforks_before_it_waits() {
    let load = r#"{"tasks": {
        "a": {"loop": 1, "run1": 1000, "vfork2": {"fork": "b", "run": 100, "sem_wait": "s"}, "run3": 1000},
        "b": {"instance": 0, "loop": 1, "run1": 500, "sem_post": "s", "run2": 500}}}"#;
    for wakeup_ns in [0, MS / 50] {
        let costs = Costs { wakeup_ns, ..Costs::none() };
        let config = Config { costs, audit: true, ..ticking(1, 9 * MS) };
        let (outcome, tape) = run(config, load, &mut children_preempt());
        // What a wakeup takes comes before its work.
        let sleeps_at = MS + MS / 10 + wakeup_ns;
        assert_eq!(stops(&tape, 1001)[0], (sleeps_at, OffCpu::Sleep), "{wakeup_ns}");
        assert_eq!(tape.starts(1002)[0].0, sleeps_at, "{wakeup_ns}");
        assert_eq!(outcome.blocked, []);
    }
}

#[test]
fn a_task_that_vforks_and_need_not_wait_makes_way_at_the_end_of_the_call() {
    let load = r#"{"tasks": {
        "a": {"loop": 1, "sem_post": "s", "run1": 1000,
            "vfork2": {"fork": "b", "run": 100, "sem_wait": "s"}, "run3": 1000},
        "b": {"instance": 0, "loop": 1, "run": 500}}}"#;
    let config = Config { costs: Costs::none(), audit: true, ..ticking(1, 9 * MS) };
    let (_, tape) = run(config, load, &mut children_preempt());
    assert_eq!(stops(&tape, 1001)[0], (MS + MS / 10, OffCpu::Runnable));
    assert_eq!(tape.starts(1002)[0].0, MS + MS / 10);
    assert_eq!(tape.starts(1001)[1].0, MS + MS / 10 + MS / 2);
}

/// Who wakes up preempts. With `sem_post` the one that wakes it has its end still to come; with `exit` it is gone, at
/// the same time.
#[test]
fn nothing_preempts_a_task_between_the_wakeup_and_its_end() {
    let played = |last: &str| {
        let load = format!(
            r#"{{"tasks": {{
                "ends": {{"loop": 1, "run": 1000, "{last}": "s"}},
                "waits": {{"loop": 1, "sem_wait": "s", "run": 2000}}}}}}"#
        );
        let costs = Costs { exit_ns: MS / 20, ..Costs::none() };
        let config = Config { costs, audit: true, ..ticking(1, 9 * MS) };
        let (_, tape) = run(config, &load, &mut children_preempt());
        let mut leaves = stops(&tape, 1001);
        leaves.retain(|(at_ns, _)| *at_ns > 0);
        (leaves, tape.starts(1002).last().map(|start| start.0))
    };
    let ended = MS + MS / 20;
    assert_eq!(played("exit"), (vec![(ended, OffCpu::Exit)], Some(ended)));
    // The other one's work and end, and then its own.
    let posted = vec![(MS, OffCpu::Runnable), (MS + (2 * MS + MS / 20) + MS / 20, OffCpu::Exit)];
    assert_eq!(played("sem_post"), (posted, Some(MS)));
}

#[test]
fn an_interrupt_tells_another_cpu_to_reschedule_a_little_later() {
    // b sleeps on an idle CPU until 2 ms, and is woken by a there: 20 us before it runs.
    let costs = Costs { ipi_ns: MS / 50, ..Costs::none() };
    let load = r#"{"tasks": {
        "a": {"loop": 1, "cpus": [0], "run1": 2000, "sem_post": "s", "run2": 2000},
        "b": {"loop": 1, "cpus": [1], "sem_wait": "s", "run": 1000}}}"#;
    let (_, tape) = run(Config { costs, ..ticking(2, 9 * MS) }, load, &mut queue(4 * MS));
    assert_eq!(tape.starts(1002).last(), Some(&(2 * MS + MS / 50, 1)));
}

#[test]
fn the_end_of_a_task_takes_time() {
    let costs = Costs { exit_ns: MS / 20, ..Costs::none() };
    let load = r#"{"tasks": {"a": {"loop": 1, "run": 1000}}}"#;
    let (_, tape) = run(Config { costs, ..ticking(1, 9 * MS) }, load, &mut queue(4 * MS));
    assert_eq!(tape.cpu_ns(1001, 9 * MS), MS + MS / 20);
}
