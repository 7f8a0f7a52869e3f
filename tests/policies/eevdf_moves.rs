// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whom `eevdf` moves between CPUs, how many, and what goes with them, by the rules of Linux 7.2
//! (kernel/sched/fair.c): calculated by hand, in ms, with ticks each 4 ms, CPU 0's first, and
//! nothing that takes time but the tasks. Slices are of 6 ms, so that turns are of 8. Loads are in
//! shares.

use crate::common::eevdf::{first_on, run, run_noting};
use crate::common::hosted::Hosted;
use crate::common::Tape;

fn hosted(cpus: u32, set: &[(&str, &str)], tasks: &str, ms: u64) -> (Hosted, Tape) {
    run(cpus, set, &format!(r#"{{"tasks": {{{tasks}}}}}"#), ms)
}

/// So many instances of a, on CPU 0 from `from_ms` on, which may leave it once they ran.
fn on_cpu_0(instances: u32, from_ms: u64) -> String {
    let sleep =
        if from_ms > 0 { format!(r#""sleep": {},"#, from_ms * 1000) } else { String::new() };
    format!(
        r#""a": {{"instance": {instances}, "loop": 1, "phases": {{
            "tied": {{"cpus": [0], {sleep} "run": 1000}},
            "free": {{"cpus": [0, 1], "run": 1000000}}}}}}"#
    )
}

fn tied(name: &str, cpu: u32, share: u32) -> String {
    format!(r#""{name}": {{"cpus": [{cpu}], "share": {share}, "run": 1000000}}"#)
}

/// When instances of a came onto CPU 1, in ms.
fn came(tape: &Tape, instances: u32) -> Vec<u64> {
    let mut came: Vec<_> =
        (0..instances).filter_map(|nr| first_on(tape, &format!("a-{nr}"), 1)).collect();
    came.sort_unstable();
    came
}

#[test]
fn those_to_whom_something_is_due_go_first() {
    // Loads 300, 10 and 100: CPU 1 lacks 126, and looks at 4 (it has room until 58), 96 and, after
    // a failure, 140. From 0 on a's turns end at 8, 16 and so on: at 96 each has had 32 ms, which
    // is V, so all are eligible, and one goes. From 4 on they end at 92 and 100: at 96, as CPU 0
    // has had its tick, the running one has had 28, those who wait 32, and V is 30.7. So nobody
    // goes until 140, when that does not count any more. (task_is_ineligible_on_dst_cpu)
    let came_from = |from_ms| {
        let tasks = [on_cpu_0(3, from_ms), tied("e", 1, 10), tied("f", 2, 100)].join(",");
        came(&hosted(3, &[], &tasks, 180).1, 3)
    };
    assert!(matches!(came_from(0)[..], [96..=108]), "{:?}", came_from(0));
    assert!(matches!(came_from(4)[..], [140..=152]), "{:?}", came_from(4));
}

#[test]
fn a_cpu_without_room_pulls_up_to_the_average_from_one_that_is_below_it() {
    // Loads 200, 100 and 600, 300 on average. Of those with more than one task CPU 0 has the most,
    // but less than the average. So what it has too much is a number below zero, which without sign
    // is no bound; what CPU 1 lacks is, 200, and one task of 100 goes at its look at 96. With 220
    // on CPU 2 the average is 173: CPU 0 has 27 too much, less than a task, and than a half at 140.
    // (calculate_imbalance)
    let came_beside = |share| {
        let tasks = [on_cpu_0(2, 0), tied("e", 1, 100), tied("f", 2, share)].join(",");
        came(&hosted(3, &[], &tasks, 150).1, 2)
    };
    assert!(matches!(came_beside(600)[..], [96..=108]), "{:?}", came_beside(600));
    assert!(came_beside(220).is_empty());
}

#[test]
fn of_those_that_go_at_one_tick_later_ones_count_more() {
    // Loads 600, 10 and 50, 220 on average: CPU 1 lacks 210. Six turns are 48 ms, so at 96 all are
    // eligible. The first one counts 100 x 600 / 600, and 110 are left. The load of before is now
    // that of five: the second one counts 100 x 600 / 500 = 120, and stays. It would go if it
    // counted 100. (task_h_load)
    let tasks = [on_cpu_0(6, 0), tied("e", 1, 10), tied("f", 2, 50)].join(",");
    assert_eq!(came(&hosted(3, &[], &tasks, 130).1, 6).len(), 1);
}

#[test]
fn the_first_that_goes_is_the_newest_where_it_comes() {
    // Loads 300, 100 and 4000: as above CPU 1 lacks 1367 and CPU 0's is no bound. Turns of 8 ms: a,
    // b, c. At 96 c ends its fourth; a waits since 80, b since 88, so a goes first, then b. e began
    // at 3, so its turns end at 12, 20 and so on, and it keeps CPU 1 to 100. At 97 d is done, and CPU
    // 2 pulls who is the oldest of those who wait for CPU 1: b.
    // (detach_tasks, attach_tasks)
    let free = |name: &str| {
        format!(
            r#""{name}": {{"loop": 1, "phases": {{
                "tied": {{"cpus": [0], "run": 1000}},
                "free": {{"cpus": [0, 1, 2], "run": 1000000}}}}}}"#
        )
    };
    let d = r#""d": {"cpus": [2], "share": 4000, "loop": 1, "run": 97000}"#.to_owned();
    let e = r#""e": {"cpus": [1], "loop": 1, "sleep": 3000, "run": 1000000}"#.to_owned();
    let tasks = [free("a"), free("b"), tied("c", 0, 100), e, d].join(",");
    let (_, tape) = hosted(3, &[("no_wakeup_preemption", "true")], &tasks, 99);
    assert_eq!(first_on(&tape, "b-1", 2), Some(97));
    assert_eq!(first_on(&tape, "a-0", 2), None);
}

#[test]
fn of_several_that_come_at_once_the_first_one_keeps_its_lag() {
    // a runs on CPU 0, where b, c and d wait, when CPU 1 is done at 3. Looking is said to cost too
    // much, so it idles to the tick at 4, and pulls half of the four then: b, and c. At that a has
    // had 4, so V is 1, which is b's lag; without b it is 4 / 3, c's. Who was taken last comes
    // first: c, into an empty queue, where lag is nothing. b comes with its lag, so before V, and
    // with a deadline before c's: it runs first. Had b come first, it would be c.
    // (attach_tasks, place_entity)
    let free = |name: &str| format!(r#""{name}": {{"cpus": [0, 1], "run": 1000000}}"#);
    let e = r#""e": {"cpus": [1], "loop": 1, "run": 3000}"#.to_owned();
    let tasks = [e, free("a"), free("b"), free("c"), free("d")].join(",");
    let set = [("newidle_cost_ns", "10000000"), ("no_balance_fork", "true")];
    let (_, tape) = hosted(2, &set, &tasks, 20);
    assert_eq!(first_on(&tape, "b-2", 1), Some(4));
    assert_eq!(first_on(&tape, "c-3", 1), Some(12));
}

#[test]
fn who_moves_takes_along_what_it_used() {
    // w works on one CPU for 65.536 ms, two half-lives; from a half, which it begins with, its use is
    // 1024 - 512 / 4 = 896 then. It goes on to the other one, for 4 ms, 1024 - 128 x 2^(-4 / 32.77) =
    // 906, and sleeps. At 80 p has a child, which takes the idle CPU that was used less: the first
    // one, of whose use nothing is left. Had w left it behind, that would be 896 and the other one's
    // 1024 - 1024 x 2^(-4 / 32.77) = 83.
    // (detach_entity_load_avg, attach_entity_load_avg, sched_balance_find_dst_group)
    let chosen = |from: u32, to: u32| {
        let p = r#""p": {"cpus": [0], "loop": 1, "run1": 80000, "fork1": "child", "run2": 20000}"#;
        let w = format!(
            r#""w": {{"loop": 1, "phases": {{
                "first": {{"cpus": [{from}], "run": 65536}},
                "then": {{"cpus": [{to}], "run": 4000, "sleep": 100000}}}}}}"#
        );
        let child = r#""child": {"instance": 0, "cpus": [0, 1, 2], "loop": 1, "run": 5000}"#;
        hosted(3, &[], &[p, &w, child].join(","), 90).1.starts(1003)[0].1
    };
    assert_eq!(chosen(1, 2), 1);
    assert_eq!(chosen(2, 1), 2);
}

#[test]
fn who_moves_takes_along_its_load_and_how_long_it_was_awake() {
    // w and b share CPU 1 until b has had its 16 ms, whoever is first; w has had 49.536 ms at
    // 65.536, two half-lives, and goes on to CPU 2. It was awake all the time: from a half, which
    // it begins with, that is 1024 - 512 / 4 = 896. Nice 5 weighs 335, here in hundredths, and new
    // tasks begin with all of that. Nothing is left on CPU 1, as b took its own along when it
    // ended, but for a few parts, as averages are whole numbers.
    // (detach_entity_load_avg, attach_entity_load_avg)
    let w = r#""w": {"priority": 5, "loop": 1, "phases": {
        "first": {"cpus": [1], "run": 49536}, "then": {"cpus": [2], "run": 100000}}}"#;
    let b = r#""b": {"priority": 5, "cpus": [1], "loop": 1, "run": 16000}"#;
    let load = format!(r#"{{"tasks": {{{w}, {b}}}}}"#);
    let (hosted, tape) = run_noting("cpu_averages", 3, &[], &load, 66);
    assert_eq!(first_on(&tape, "w-0", 2), Some(65));
    let average = |path: &str| hosted.noted(path) as i64;
    for (path, expected) in
        [("[1].load", 0), ("[2].load", 33_500), ("[1].runnable", 0), ("[2].runnable", 896)]
    {
        assert!((average(path) - expected).abs() <= 8, "{path}: {}", average(path));
    }
}

#[test]
fn who_has_not_had_a_cpu_yet_is_not_hot() {
    // b waits on CPU 0 from the start on. CPU 1 is done at 0.2 ms, and pulls b at once. (task_hot)
    let free = |name: &str| format!(r#""{name}": {{"cpus": [0, 1], "run": 1000000}}"#);
    let e = r#""e": {"cpus": [1], "loop": 1, "run": 200}"#.to_owned();
    let tasks = [e, free("a"), free("b")].join(",");
    assert_eq!(first_on(&hosted(2, &[], &tasks, 8).1, "b-2", 1), Some(0));
}

#[test]
fn who_comes_from_another_cpu_is_not_hot() {
    // w ran on CPU 0 to 1 ms, and waits on CPU 1 since. CPU 2 is done at 1.2, and would leave w,
    // who ran 0.2 ms ago, until a tick, at 4, sends it to look again. (task_hot, enqueue_entity)
    let w = r#""w": {"loop": 1, "phases": {
        "there": {"cpus": [0], "run": 1000}, "here": {"cpus": [1, 2], "run": 1000000}}}"#;
    let d = r#""d": {"cpus": [2], "loop": 1, "run": 1200}"#;
    let tasks = [w.to_owned(), d.to_owned(), tied("e", 1, 100)].join(",");
    assert_eq!(first_on(&hosted(3, &[], &tasks, 8).1, "w-0", 2), Some(1));
}

#[test]
fn a_cpu_that_is_seldom_idle_in_vain_looks_more_often() {
    // CPU 1 idles anew at 0.05 ms and each ms after, while others wait who are tied. It counts from
    // 512 on, half of which were good: 1024 are full 511 ms later. One per 2^22 ns is added to the
    // good ones, 121: 256 + 121. The next 512 take 512 ms, and begin with half of the good ones:
    // 128 + 122, and so on, to no less than 122 of 1024. If it idles anew each 4 ms only, the first
    // ones take 2044 ms, 487 times 2^22 ns. Before that it always looks, as one that was seldom idle
    // in vain: those before took 4.3 s or more. (sched_balance_newidle, update_newidle_stats)
    let ratio = |sleep_us, ms| {
        let s = format!(r#""s": {{"cpus": [1], "run": 50, "sleep": {sleep_us}}}"#);
        let tasks = [tied("a", 0, 100), tied("b", 0, 100), s].join(",");
        hosted(2, &[("no_ni_random", "false")], &tasks, ms).0.global("newidles", "[1].ratio")
    };
    assert_eq!(ratio(950, 505), 1024);
    assert_eq!(ratio(950, 530), 256 + 121);
    assert_eq!(ratio(950, 1_060), 128 + 122);
    assert_eq!(ratio(3_950, 2_120), 256 + 487);
}

#[test]
fn a_cpu_looks_for_work_until_a_look_finds_no_two_tasks_on_one_cpu() {
    // a and b meet on CPU 0, and are done at 0.4 ms: CPU 0 is idle anew once. CPU 1 is at 0.6, 1.6,
    // 2.6 and 3.6 ms, when nothing waits. If CPU 0 looks, it finds that no CPU has two tasks, and CPU
    // 1 does not even think of it. If it throws dice against all odds (ratio 0), what it knew stays,
    // and each time is one that CPU 1 counts. The counts begin with 512.
    // (add_nr_running, update_sd_lb_stats, sched_balance_newidle)
    let calls = |ratio| {
        let once = |name| format!(r#""{name}": {{"cpus": [0], "loop": 1, "run": 200}}"#);
        let s = r#""s": {"cpus": [1], "run": 600, "sleep": 400}"#;
        let tasks = [once("a"), once("b"), s.to_owned()].join(",");
        let set = [("no_ni_random", "false"), ("newidle_ratio", ratio)];
        let mut machine = hosted(2, &set, &tasks, 4).0;
        ["[0].calls", "[1].calls"].map(|of| machine.global("newidles", of))
    };
    assert_eq!(calls("1024"), [513, 512]);
    assert_eq!(calls("0"), [513, 516]);
}

#[test]
fn what_looking_cost_counts_for_less_each_second() {
    // e has CPU 1, and outweighs a and b, so that only an idle CPU 1 pulls b. It expects to idle for
    // 1 ms, and looks if that is not less than what looking costs: 1.01 ms at first, after a second
    // 253 / 256 of it, 0.998 ms. Else it pulls at the next tick. (update_newidle_cost)
    let pulled = |done_ms: u32| {
        let e =
            format!(r#""e": {{"cpus": [1], "share": 4000, "loop": 1, "run": {}}}"#, done_ms * 1000);
        let free = |name: &str| format!(r#""{name}": {{"cpus": [0, 1], "run": 2000000}}"#);
        let set = [("newidle_cost_ns", "1010000"), ("no_balance_fork", "true")];
        let tasks = [e, free("a"), free("b")].join(",");
        let (_, tape) = hosted(2, &set, &tasks, 1200);
        let first = ["a-1", "b-2"].map(|name| first_on(&tape, name, 1));
        first.into_iter().flatten().min()
    };
    assert_eq!(pulled(898), Some(900));
    assert_eq!(pulled(1098), Some(1098));
}

#[test]
fn bytes_bring_their_reader_to_a_writer_that_is_alone_and_posts_do_not() {
    // R ran on CPU 1 last, where H is busy. A writer tells the kernel that it sleeps soon (WF_SYNC):
    // alone on CPU 0, it attracts R, whatever it weighs (wake_affine_idle). A post does not, and by
    // load CPU 1 is better: 100 there, 400 here (wake_affine_weight).
    let cpu_of_r = |waits: &str, wakes: &str| {
        let load = format!(
            r#"{{"tasks": {{
                "W": {{"cpus": [0], "share": 400, "loop": 1, "phases": {{
                    "p": {{"run": 60000, {wakes}}}, "q": {{"run": 1000000}}}}}},
                "H": {{"cpus": [1], "share": 100, "run": 1000000}},
                "R": {{"share": 100, "loop": 1, "phases": {{
                    "tied": {{"cpus": [1], "run": 1000}},
                    "free": {{"cpus": [0, 1], {waits}, "run": 1000}}}}}}}}}}"#
        );
        let (_, tape) = run(2, &[], &load, 80);
        let came = tape.starts(tape.pid("R-2"));
        came.into_iter().find(|(at_ns, _)| *at_ns >= 60_000_000).expect("it was woken").1
    };

    assert_eq!(cpu_of_r(r#""flow": {"take": {"s": 1}}"#, r#""flow": {"put": {"s": 1}}"#), 0);
    assert_eq!(cpu_of_r(r#""sem_wait": "s""#, r#""sem_post": "s""#), 1);
}
