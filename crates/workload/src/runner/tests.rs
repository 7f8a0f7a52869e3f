// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of what tasks do, step by step. Times are nanoseconds, files microseconds.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::model::Policy;
use crate::parse;

fn runner(tasks: &str) -> SeededRunner {
    runner_of(&format!("{{\"tasks\": {{{tasks}}}}}"), 1)
}

fn runner_of(text: &str, seed: u64) -> SeededRunner {
    let workload = parse("w.json", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    SeededRunner::new(Arc::new(workload), seed)
}

const T: TaskIx = TaskIx(0);

fn run(us: u64) -> Step {
    Step::Run { work_ns: us * 1000 }
}

fn until(us: u64) -> Step {
    Step::SleepUntil { at_ns: us * 1000 }
}

#[test]
fn a_task_without_loop_repeats_for_ever_and_with_it_ends() {
    let mut for_ever = runner(r#""t": {"run": 5, "sleep": 2}"#);
    for _ in 0..100 {
        assert_eq!(for_ever.next(T, 0), run(5));
        assert_eq!(for_ever.next(T, 0), Step::Sleep { ns: 2000 });
    }
    let mut twice = runner(r#""t": {"loop": 2, "run": 5}"#);
    let steps: Vec<Step> = (0..4).map(|_| twice.next(T, 0)).collect();
    assert_eq!(steps, [run(5), run(5), Step::Exit, Step::Exit]);
}

#[test]
fn phases_repeat_by_their_own_loop_inside_the_tasks() {
    let mut runner = runner(
        r#""t": {"loop": 2, "phases": {
            "a": {"loop": 2, "run": 1}, "b": {"runtime": 2}, "a": {"sleep": 3}}}"#,
    );
    let round = [run(1), run(1), Step::Runtime { ns: 2000 }, Step::Sleep { ns: 3000 }];
    for step in round.iter().chain(&round) {
        assert_eq!(runner.next(T, 0), *step);
    }
    assert_eq!(runner.next(T, 0), Step::Exit);
}

#[test]
fn a_task_with_loop_zero_ends_at_once() {
    let mut runner = runner(r#""t": {"loop": 0, "phases": {"a": {"run": 1}}}"#);
    assert_eq!(runner.next(T, 0), Step::Exit);
}

#[test]
fn events_of_no_length_are_skipped() {
    let mut runner =
        runner(r#""t": {"run": 0, "sleep": 0, "runtime": 0, "timer": {"period": 0}, "run1": 7}"#);
    assert_eq!(runner.next(T, 0), run(7));
    assert_eq!(runner.next(T, 0), run(7));
}

#[test]
fn a_timer_keeps_its_period_whatever_the_run_took() {
    let mut runner = runner(r#""t": {"run": 5, "timer": {"ref": "unique", "period": 19}}"#);
    assert_eq!(runner.next(T, 0), run(5));
    assert_eq!(runner.next(T, 5_000), until(19));
    assert_eq!(runner.next(T, 19_000), run(5));
    // Preempted: the run took until 34, the next expiry is still 19 + 19.
    assert_eq!(runner.next(T, 34_000), until(38));
}

#[test]
fn a_late_timer_skips_its_wait() {
    // rt-app's tutorial: period 20, the third run lasts from 40 to 70, which misses 60; the
    // timer goes on from 70, so that the next expiry is 90.
    let mut runner = runner(r#""t": {"run": 10, "timer": {"ref": "unique", "period": 20}}"#);
    let step_at = |runner: &mut SeededRunner, us: u64| runner.next(T, us * 1000);
    assert_eq!(step_at(&mut runner, 0), run(10));
    assert_eq!(step_at(&mut runner, 10), until(20));
    assert_eq!(step_at(&mut runner, 20), run(10));
    assert_eq!(step_at(&mut runner, 30), until(40));
    assert_eq!(step_at(&mut runner, 40), run(10));
    assert_eq!(step_at(&mut runner, 70), run(10));
    assert_eq!(step_at(&mut runner, 80), until(90));
}

#[test]
fn a_late_absolute_timer_keeps_its_grid() {
    // As above, but the grid stays 20, 40, 60, 80, 100: the run from 70 ends at 80, which is
    // late for 80 as well, and the one from 80 waits for 100.
    let timer = r#"{"ref": "unique", "period": 20, "mode": "absolute"}"#;
    let mut runner = runner(&format!(r#""t": {{"run": 10, "timer": {timer}}}"#));
    let at: Vec<Step> = [0, 10, 20, 30, 40, 70, 80, 90].map(|us| runner.next(T, us * 1000)).into();
    let expected = [run(10), until(20), run(10), until(40), run(10), run(10), run(10), until(100)];
    assert_eq!(at, expected);
}

#[test]
fn an_expiry_at_this_very_instant_does_not_wait() {
    let mut runner = runner(r#""t": {"run": 20, "timer": {"ref": "unique", "period": 20}}"#);
    assert_eq!(runner.next(T, 0), run(20));
    assert_eq!(runner.next(T, 20_000), run(20));
}

#[test]
fn timers_start_with_the_tasks_delay() {
    let mut runner =
        runner(r#""t": {"delay": 100, "run": 1, "timer": {"ref": "unique", "period": 20}}"#);
    assert_eq!(runner.initial().collect::<Vec<_>>(), [(T, 100_000)]);
    assert_eq!(runner.next(T, 100_000), run(1));
    assert_eq!(runner.next(T, 101_000), until(120));
}

#[test]
fn a_shared_timer_advances_for_everyone() {
    let tasks = r#""t": {"instance": 2, "run": 1, "timer": {"ref": "tick", "period": 10}}"#;
    let mut shared = runner(tasks);
    shared.next(T, 0);
    shared.next(TaskIx(1), 0);
    assert_eq!(shared.next(T, 1_000), until(10));
    assert_eq!(shared.next(TaskIx(1), 1_000), until(20));
    let mut own = runner(&tasks.replace("tick", "unique_tick"));
    own.next(T, 0);
    own.next(TaskIx(1), 0);
    assert_eq!(own.next(T, 1_000), until(10));
    assert_eq!(own.next(TaskIx(1), 1_000), until(10));
}

#[test]
fn a_slice_of_0_is_none_any_more() {
    let mut runner = runner(
        r#""t": {"dl-runtime": 3000, "phases": {"a": {"run": 1}, "b": {"dl-runtime": 0, "run": 1}}}"#,
    );
    assert_eq!(runner.settings(T).slice_ns, Some(3_000_000));
    assert_eq!(runner.next(T, 0), run(1));
    let Step::Change(settings) = runner.next(T, 0) else { panic!("no change") };
    assert_eq!(settings.slice_ns, None);
}

#[test]
fn phases_change_settings_which_stay_but_cpus_return() {
    let mut runner = runner(
        r#""t": {"cpus": [0], "priority": 3, "phases": {
            "a": {"run": 1},
            "b": {"cpus": [1], "priority": -4, "taskgroup": "/g", "run": 2},
            "c": {"policy": "SCHED_BATCH", "weight": 50, "run": 3}}}"#,
    );
    assert_eq!(runner.next(T, 0), run(1));
    let Step::Change(b) = runner.next(T, 0) else { panic!("no change") };
    assert_eq!(
        (b.cpus.clone(), b.priority, b.group.as_deref()),
        (Some([1].into()), -4, Some("/g"))
    );
    assert_eq!(runner.next(T, 0), run(2));
    let Step::Change(c) = runner.next(T, 0) else { panic!("no change") };
    assert_eq!(c.cpus, Some([0].into()), "cpus are those of the task again");
    assert_eq!(c.group.as_deref(), Some("/g"), "the group stays");
    // A new policy without a priority takes the policy's default.
    assert_eq!((c.policy, c.priority, c.weight), (Policy::Batch, 0, Some(50)));
    assert_eq!(runner.settings(T), &*c);
    assert_eq!(runner.next(T, 0), run(3));
    assert_eq!(runner.next(T, 0), run(1), "phase a names nothing, so nothing changes");
}

#[test]
fn forks_are_named_and_numbered_as_rt_app_does() {
    let mut runner = runner(
        r#""t": {"loop": 2, "fork": "child", "run": 1},
           "child": {"instance": 0, "loop": 1, "priority": 7, "run": 9}"#,
    );
    assert_eq!(runner.next(T, 0), Step::Fork { child: TaskIx(1) });
    assert_eq!(runner.next(TaskIx(1), 0), run(9));
    assert_eq!(runner.next(TaskIx(1), 9_000), Step::Exit);
    assert_eq!(runner.next(T, 0), run(1));
    assert_eq!(runner.next(T, 1_000), Step::Fork { child: TaskIx(2) });
    assert_eq!(runner.name(TaskIx(1)), "child-1-0000");
    assert_eq!(runner.name(TaskIx(2)), "child-2-0001");
    assert_eq!(runner.parent(TaskIx(2)), Some(T));
    assert_eq!(runner.settings(TaskIx(2)).priority, 7);
    assert_eq!((runner.initial().count(), runner.task_count()), (1, 3));
}

#[test]
fn a_forked_task_waits_for_what_is_left_of_its_delay() {
    // rt-app's delay counts from the beginning of the run, for forked tasks too.
    let mut runner = runner(
        r#""t": {"run": 40, "fork": "child"}, "child": {"instance": 0, "delay": 100, "run": 9}"#,
    );
    runner.next(T, 0);
    runner.next(T, 40_000);
    assert_eq!(runner.next(TaskIx(1), 40_000), until(100));
    assert_eq!(runner.next(TaskIx(1), 100_000), run(9));
    runner.next(T, 100_000);
    runner.next(T, 140_000);
    assert_eq!(runner.next(TaskIx(2), 140_000), run(9));
}

#[test]
fn forking_without_end_is_stuck_at_the_limit() {
    let mut runner = runner(r#""t": {"fork": "child"}, "child": {"instance": 0, "run": 1}"#);
    for _ in 0..FORK_LIMIT {
        assert!(matches!(runner.next(T, 0), Step::Fork { .. }));
    }
    let Step::Stuck(why) = runner.next(T, 0) else { panic!("not stuck") };
    assert_eq!(why, "task \"t-0\" forks \"child\" once more than the 1024 times rt-app allows");
}

#[test]
fn a_fork_beyond_what_can_live_at_once_is_stuck_until_another_ends() {
    let children = 0..31;
    let forks: String = children.clone().map(|n| format!(r#""fork{n}": "c{n}", "#)).collect();
    let children: String =
        children.map(|n| format!(r#", "c{n}": {{"instance": 0, "run": 1}}"#)).collect();
    let mut runner = runner(&format!(
        r#""t": {{{forks}"loop": -1, "run": 1}}, "s": {{"instance": 99999, "loop": 1, "run": 1}}{children}"#
    ));
    // 2^17 may live, 100,000 do from the start
    let mut forks = 0;
    let why = loop {
        match runner.next(T, 0) {
            Step::Fork { .. } => forks += 1,
            Step::Run { .. } => {}
            Step::Stuck(why) => break why,
            step => panic!("{step:?}"),
        }
    };
    assert_eq!(forks, (1 << 17) - 100_000);
    assert!(why.contains("while 131072 tasks live"), "{why}");
    let steps = [runner.next(TaskIx(1), 0), runner.next(TaskIx(1), 0), runner.next(TaskIx(1), 0)];
    assert_eq!(steps, [Step::Run { work_ns: 1000 }, Step::Exit, Step::Exit]);
    let fork = |step| matches!(step, Step::Fork { .. });
    assert_eq!([fork(runner.next(T, 0)), fork(runner.next(T, 0))], [true, false]);
}

#[test]
fn yielding_for_ever_at_one_instant_is_stuck() {
    let mut runner = runner(r#""t": {"yield": ""}"#);
    let steps = (0..).map(|_| runner.next(T, 5)).take_while(|s| *s == Step::Yield).count();
    assert_eq!(steps, INSTANT_LIMIT as usize / 2, "each round is a yield and the end of a phase");
    assert_eq!(runner.next(T, 6), Step::Yield, "when time moves it goes on");
}

#[test]
fn a_long_loop_of_nothing_is_stuck_and_does_not_hang() {
    let mut runner = runner(r#""t": {"loop": 4000000000000, "run": 0}"#);
    assert!(matches!(runner.next(T, 0), Step::Stuck(_)));
}

#[test]
fn instances_arrive_one_gap_after_another() {
    let runner = runner(r#""t": {"instance": 3, "delay": 5, "arrive": 10, "run": 1}"#);
    let starts: Vec<u64> = runner.initial().map(|(_, ns)| ns).collect();
    assert_eq!(starts, [5_000, 15_000, 25_000]);
}

#[test]
fn a_thread_starts_with_its_leader_at_the_earliest() {
    let runner = runner(
        r#""early": {"thread_of": "leader", "delay": 5, "run": 1},
        "leader": {"delay": 20, "run": 1},
        "late": {"thread_of": "leader", "delay": 30, "run": 1}"#,
    );
    let starts: Vec<u64> = runner.initial().map(|(_, ns)| ns).collect();
    assert_eq!(starts, [20_000, 20_000, 30_000]);
}

#[test]
fn a_thread_of_a_forked_process_is_of_the_process_that_forks_it() {
    let tasks = r#""shell": {"fork": "make", "fork1": "make", "run": 1},
        "make": {"instance": 0, "fork": "worker", "run": 1},
        "worker": {"instance": 0, "thread_of": "make", "fork": "helper", "run": 1},
        "helper": {"instance": 0, "thread_of": "make", "run": 1}"#;
    let mut runner = runner(tasks);
    let mut fork = |of| match runner.next(of, 0) {
        Step::Fork { child } => child,
        step => panic!("no fork: {step:?}"),
    };
    let (_, second) = (fork(TaskIx(0)), fork(TaskIx(0)));
    let worker = fork(second);
    let helper = fork(worker);
    let leaders = [second, worker, helper].map(|task| runner.thread_of(task));
    assert_eq!(leaders, [None, Some(second), Some(second)]);
}

#[test]
fn only_a_task_of_the_process_can_fork_its_threads() {
    let tasks = r#""shell": {"fork": "worker", "run": 1},
        "make": {"instance": 0, "run": 1},
        "worker": {"instance": 0, "thread_of": "make", "run": 1}"#;
    let Step::Stuck(why) = runner(tasks).next(TaskIx(0), 0) else { panic!("not stuck") };
    let expected =
        r#"task "shell-0" forks "worker", a thread of "make": only a task of that process can"#;
    assert_eq!(why, expected);
}

#[test]
fn random_delays_differ_between_instances_and_seeds() {
    let text = r#"{"tasks": {"t": {"instance": 4, "delay": {"dist": "uniform", "max": 1000000},
                   "run": 1}}}"#;
    let starts = |seed| -> Vec<u64> { runner_of(text, seed).initial().map(|(_, ns)| ns).collect() };
    let mut distinct = starts(1);
    distinct.extend(starts(2));
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 8);
    assert_eq!(starts(1), starts(1));
}

#[test]
fn draws_do_not_depend_on_the_order_of_tasks() {
    let tasks = r#""t": {"instance": 2, "fork": "c", "run": {"dist": "exp", "mean": 100}, "sleep": 1},
        "c": {"instance": 0, "run": {"dist": "pareto", "shape": 1.5, "mean": 100}, "sleep": 1}"#;
    let draws = |order: [u32; 2]| {
        let mut runner = runner(tasks);
        let mut per_task = [vec![], vec![]];
        for task in order {
            let Step::Fork { child } = runner.next(TaskIx(task), 0) else { panic!("no fork") };
            for who in [TaskIx(task), child] {
                per_task[task as usize].push(runner.next(who, 0));
            }
        }
        per_task
    };
    assert_eq!(draws([0, 1]), draws([1, 0]));
}

/// Members of a phase that may be anything valid.
fn events() -> impl Strategy<Value = String> {
    let span = prop_oneof![
        (0..50u64).prop_map(|us| us.to_string()),
        Just(r#"{"dist": "exp", "mean": 0.002}"#.to_owned()),
        Just(r#"{"dist": "uniform", "min": 0, "max": 3}"#.to_owned()),
        Just(r#"{"dist": "pareto", "shape": 0.5, "scale": 0.1, "max": 90}"#.to_owned()),
    ];
    let event = prop_oneof![
        span.clone().prop_map(|s| format!(r#""run": {s}"#)),
        span.clone().prop_map(|s| format!(r#""runtime1": {s}"#)),
        span.clone().prop_map(|s| format!(r#""sleep": {s}"#)),
        (span.clone(), 0..4usize).prop_map(|(s, t)| {
            let reference = ["unique", "unique2", "tick", "tock"][t];
            let mode = ["relative", "absolute"][t % 2];
            format!(r#""timer": {{"ref": "{reference}", "period": {s}, "mode": "{mode}"}}"#)
        }),
        Just(r#""yield": """#.to_owned()),
        Just(r#""fork": "child""#.to_owned()),
        Just(r#""sem_post": "s""#.to_owned()),
        Just(r#""sem_wait": "s""#.to_owned()),
        Just(r#""resume": "t""#.to_owned()),
        Just(r#""resume": "nobody""#.to_owned()),
        Just(r#""lock": "m""#.to_owned()),
        Just(r#""unlock": "m""#.to_owned()),
        Just(r#""signal": "c""#.to_owned()),
        Just(r#""broad": "c""#.to_owned()),
        Just(r#""mem": 1000"#.to_owned()),
        Just(r#""barrier": "alone""#.to_owned()),
    ];
    proptest::collection::vec(event, 1..5).prop_map(|events| events.join(", "))
}

proptest! {
    /// Whatever a valid file says, a task ends, uses time, or says that it is stuck: over 400
    /// steps that each take their time, the clock moves or the run is over.
    #[test]
    fn valid_workloads_end_or_use_time(
        phases in proptest::collection::vec((events(), prop_oneof![Just(-1), 1..4i64]), 1..4),
        task_loop in prop_oneof![Just(-1i64), 0..4i64],
        seed: u64,
    ) {
        let phases: Vec<String> = phases
            .iter()
            .enumerate()
            .map(|(i, (events, n))| format!(r#""p{i}": {{"loop": {n}, {events}}}"#))
            .collect();
        let text = format!(
            r#"{{"tasks": {{"t": {{"loop": {task_loop}, "phases": {{{}}}}},
                "child": {{"instance": 0, "loop": 1, "run": 1}}}}}}"#,
            phases.join(", ")
        );
        let Ok(workload) = parse("w.json", &text) else {
            // The only mistake these files can make.
            let error = parse("w.json", &text).unwrap_err().to_string();
            prop_assert!(error.contains("without using any time"), "{}", error);
            return Ok(());
        };
        let mut runner = SeededRunner::new(Arc::new(workload), seed);
        let mut now = 0u64;
        let mut at_once = 0u32;
        for _ in 0..400 {
            let before = now;
            match runner.next(T, now) {
                Step::Run { work_ns } => now += work_ns,
                Step::Runtime { ns } | Step::Sleep { ns } => now += ns,
                Step::SleepUntil { at_ns } => now = at_ns,
                // There is nobody who could wake it.
                Step::Exit | Step::Block | Step::Stuck(_) => return Ok(()),
                Step::Wake { .. } => prop_assert!(false, "the only task woke another"),
                Step::Yield | Step::Fork { .. } | Step::Change(_) => {
                    at_once += 1;
                    prop_assert!(at_once <= INSTANT_LIMIT);
                    continue;
                }
            }
            prop_assert!(now > before, "a step took no time");
            at_once = 0;
        }
    }
}

#[test]
fn a_task_that_vforks_is_in_the_call_until_it_waits_and_forks_once() {
    let mut runner = runner(
        r#""t": {"loop": 1, "vfork": {"fork": "c", "run": 4, "sem_wait": "s"}, "run": 7},
            "c": {"instance": 0, "loop": 1, "run": 60, "sem_post": "s"}"#,
    );
    let child = TaskIx(1);
    assert!(!runner.is_in_call(T));
    assert_eq!(runner.next(T, 0), Step::Fork { child });
    assert!(runner.is_in_call(T));
    assert_eq!(runner.next(T, 0), run(4));
    assert!(runner.is_in_call(T));
    assert_eq!(runner.next(T, 4_000), Step::Block);
    assert!(!runner.is_in_call(T), "it sleeps");
    assert_eq!(runner.next(child, 4_000), run(60));
    assert_eq!(runner.next(child, 64_000), Step::Wake { tasks: vec![T], sync: false });
    assert_eq!(runner.next(T, 64_000), run(7));
    assert!(!runner.is_in_call(T));
    assert_eq!(runner.next(T, 71_000), Step::Exit);
    assert_eq!(runner.task_count(), 2);
}

#[test]
fn a_task_that_vforks_does_not_wait_for_what_was_posted() {
    let mut runner = runner(
        r#""t": {"loop": 1, "sem_post": "s", "vfork": {"fork": "c", "sem_wait": "s"}, "run": 7},
            "c": {"instance": 0, "loop": 1, "run": 60}"#,
    );
    assert_eq!(runner.next(T, 0), Step::Fork { child: TaskIx(1) });
    assert_eq!(runner.next(T, 0), run(7));
    assert!(!runner.is_in_call(T));
}

#[test]
fn an_exit_ends_the_task_wherever_it_stands_and_wakes_once_it_is_gone() {
    let mut runner = runner(
        r#""t": {"loop": 1, "sem_wait": "s", "run": 7},
            "u": {"phases": {"a": {"run": 5, "exit": "s", "run2": 9}, "b": {"run": 8}}}"#,
    );
    let leaver = TaskIx(1);
    assert_eq!(runner.next(T, 0), Step::Block);
    assert_eq!(runner.next(leaver, 0), run(5));
    assert_eq!(runner.next(leaver, 5_000), Step::Exit);
    assert_eq!(runner.deadlocks(), [], "it is still to post");
    assert_eq!(runner.next(T, 5_000), Step::Block);
    assert_eq!(runner.leave(leaver), [T]);
    assert_eq!(runner.leave(leaver), [], "once");
    assert_eq!(runner.next(T, 5_000), run(7));
    assert_eq!(runner.next(leaver, 5_000), Step::Exit);
}

#[test]
fn an_exit_needs_no_semaphore() {
    let mut runner = runner(r#""t": {"run": 5, "exit": ""}, "u": {"run": 5, "exit"}"#);
    for task in [T, TaskIx(1)] {
        assert_eq!(runner.next(task, 0), run(5));
        assert_eq!(runner.next(task, 0), Step::Exit);
        assert_eq!(runner.leave(task), []);
    }
}

#[test]
fn a_run_ends_when_those_are_over_that_exit_out_of_a_loop_without_end() {
    let text = r#"{"global": {"ends_with_tasks": true}, "tasks": {
        "hog": {"run": 5}, "t": {"run": 5, "exit": ""}}}"#;
    let mut runner = runner_of(text, 1);
    let task = TaskIx(1);
    assert!(!runner.accompanies(task));
    assert_eq!(runner.next(task, 0), run(5));
    assert!(!runner.is_done());
    assert_eq!(runner.next(task, 0), Step::Exit);
    assert!(runner.is_done());
}
