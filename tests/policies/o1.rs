// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux 2.6's O(1) scheduler [O1CFS §2.1] on one CPU, traced by hand.
//!
//! In the traces P is a static priority, D a dynamic one, avg the average sleep in ms. Who
//! has never slept has the bonus -5, so D is P + 5. All tasks start at 0 in the order A, B,
//! C, and the first gets the CPU at once, until a better one comes in the same instant.

use crate::common::hosted::Hosted;
use crate::common::{ideal, Tape};
use rota_machine::exit::ExitKind;
use rota_trace::EventKind;

const MS: u64 = 1_000_000;

fn o1(set: &[(&str, &str)], ms: u64, tasks: &[&str]) -> (Hosted, Vec<(u64, char, u64)>) {
    let load = format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "));
    let mut hosted = Hosted::new("o1", set, ideal(1, ms * MS), &load);
    let (outcome, tape) = hosted.run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let picks = picks(&tape);
    (hosted, picks)
}

/// Picks as `(ms, client, ms of its slice)`, without those that ended in the same instant.
fn picks(tape: &Tape) -> Vec<(u64, char, u64)> {
    let pick = |event: &rota_trace::Event| match event.kind {
        EventKind::Pick { pid, slice_ns } => {
            Some((event.time_ns, char::from(b'A' + (pid - 1001) as u8), slice_ns / MS))
        }
        _ => None,
    };
    let all: Vec<_> = tape.0.iter().filter_map(pick).collect();
    let lasts = |at: usize| all.get(at + 1).is_none_or(|next| next.0 > all[at].0);
    let lasting = (0..all.len()).filter(|at| lasts(*at)).map(|at| all[at]);
    lasting.map(|(ns, client, slice)| (ns / MS, client, slice)).collect()
}

/// What the policy keeps about a task: 0 is A, 1 is B …
fn of_task(hosted: &mut Hosted, task: u32, field: &str) -> u64 {
    hosted.global("clients", &format!("[{}].{field}", task + 1))
}

/// A task's average sleep to the nearest millisecond: running until the end took some off.
fn sleep_avg_ms(hosted: &mut Hosted, task: u32) -> u64 {
    (of_task(hosted, task, "sleep_avg_ns") + MS / 2) / MS
}

fn hog(name: char, nice: i32) -> String {
    format!(r#""{name}": {{"priority": {nice}, "run": 1000000}}"#)
}

/// Sleeps until `ms`, then runs for ever.
fn sleeper(name: char, nice: i32, ms: u64) -> String {
    let us = ms * 1000;
    format!(r#""{name}": {{"priority": {nice}, "loop": 1, "sleep": {us}, "run": 100000000}}"#)
}

#[test]
fn base_time_slices_are_800_ms_for_nice_minus_20_100_for_0_and_5_for_19() {
    // (140 - P) * 20 below P 120, (140 - P) * 5 from there on
    let slices = [(-20, 800), (-10, 600), (-1, 420), (0, 100), (1, 95), (10, 50), (19, 5)];
    for (nice, slice) in slices {
        let (_, picks) = o1(&[], 1, &[&hog('A', nice)]);
        assert_eq!(picks, [(0, 'A', slice)], "nice {nice}");
    }
}

#[test]
fn the_bonus_grows_by_one_for_each_100_ms_of_average_sleep() {
    // floor(avg / 100) - 5, and D = max(100, min(P - bonus, 139))
    let asleep = [
        (0, 0, 125),
        (0, 99, 125),
        (0, 100, 124),
        (0, 499, 121),
        (0, 500, 120),
        (0, 700, 118),
        (0, 1000, 115),
        (0, 5000, 115),
        (-20, 0, 105),
        (-20, 1000, 100),
        (19, 0, 139),
        (19, 450, 139),
        (19, 1000, 134),
    ];
    for (nice, ms, prio) in asleep {
        let set = [("no_sleep_ceiling", "true")];
        let (mut hosted, _) = o1(&set, ms + 1, &[&sleeper('A', nice, ms)]);
        assert_eq!(of_task(&mut hosted, 0, "prio"), prio, "nice {nice}, {ms} ms asleep");
        let set = [("no_sleep_ceiling", "true"), ("no_bonus", "true")];
        let (mut hosted, _) = o1(&set, ms + 1, &[&sleeper('A', nice, ms)]);
        assert_eq!(of_task(&mut hosted, 0, "prio"), (120 + nice) as u64, "nice {nice}, no bonus");
    }
}

#[test]
fn one_long_sleep_makes_nobody_more_than_just_interactive() {
    // The ceiling is (5 + 1 + delta) * 100 ms less one: for nice 0 and delta 2 that is 799,
    // bonus 2. Nice -20 (delta -3) 299: bonus -3; nice 19 (delta 6) has none below the maximum
    for (nice, avg_ms, prio) in [(0, 799, 118), (-20, 299, 103), (19, 1000, 134)] {
        let (mut hosted, _) = o1(&[], 5_001, &[&sleeper('A', nice, 5_000)]);
        assert_eq!(sleep_avg_ms(&mut hosted, 0), avg_ms, "nice {nice}");
        assert_eq!(of_task(&mut hosted, 0, "prio"), prio, "nice {nice}");
    }
}

#[test]
fn cpu_bound_tasks_have_their_slices_in_order_of_priority() {
    //     nice   P    D   slice       Who is D 120 goes first, then 125 in the order in which
    //  A     0  120  125   100        they came, and so on. All are in the expired array after
    //  B     5  125  130    75        100 + 75 + 500 + 5 + 100 + 5 = 785 ms, in which each was
    //  C    -5  115  120   500        put when its slice ended: the same order again. D and F
    //  D    19  139  139     5        share the last list: D is P at most 139
    //  E     0  120  125   100
    //  F    19  139  139     5
    let nices = [('A', 0), ('B', 5), ('C', -5), ('D', 19), ('E', 0), ('F', 19)];
    let tasks = nices.map(|(name, nice)| hog(name, nice));
    let (hosted, picks) = o1(&[], 3 * 785, &tasks.each_ref().map(String::as_str));
    let round = [(0, 'C', 500), (500, 'A', 100), (600, 'E', 100), (700, 'B', 75)]
        .into_iter()
        .chain([(775, 'D', 5), (780, 'F', 5)]);
    let rounds = [0, 785, 1570].into_iter();
    let expected: Vec<_> = rounds
        .flat_map(|at| round.clone().map(move |(ms, who, slice)| (at + ms, who, slice)))
        .collect();
    assert_eq!(picks, expected);
    assert_eq!(hosted.stat("switches"), 2);
    assert_eq!(hosted.stat("requeued"), 0);
}

/// B computes. A wakes at 750 with avg 750: bonus 2, D 118 against B's 125, and as that is
/// its delta, 120 / 4 - 28, it is interactive.
fn waking_at_750() -> [String; 2] {
    [sleeper('A', 0, 750), hog('B', 0)]
}

fn waking(set: &[(&str, &str)], ms: u64) -> (Hosted, Vec<(u64, char, u64)>) {
    let (hosted, picks) = o1(set, ms, &waking_at_750().each_ref().map(String::as_str));
    // before that B has seven slices and half of one
    let before: Vec<_> = (0..8).map(|n| (n * 100, 'B', 100)).collect();
    assert_eq!(picks[..8], before);
    (hosted, picks[8..].to_vec())
}

#[test]
fn an_interactive_task_preempts_and_stays_in_the_active_array() {
    // The run takes 1/7 of its time off avg while that is 700 or more. D follows at the end of
    // a slice, by avg as it was when the last pick began. A's turn among equals is 10 * 2^(9-7)
    // = 40 ms: it is asked at 40, but not at 80, as less than 40 are left then.
    //   750 A 40: avg 744.3. 790 A 60: at 850, D 118 still, interactive. avg 735.7
    //   850, 890 likewise: avg 721.4; 950, 990: 707.1; 1050, 1090: at 1150 avg was 701.4: 692.9
    //  1150 bonus 1, so not divided: A 100. At 1250 it expires with D 119. avg 692.9 - 100/6
    //  1250 B has its other 50 ms, and expires. The arrays are switched
    //  1300 A 100 (D 119), 1400 B 100, both expire
    let (hosted, picks) = waking(&[], 1_600);
    let turns =
        [750, 850, 950, 1050].into_iter().flat_map(|at| [(at, 'A', 40), (at + 40, 'A', 60)]);
    let then = [(1150, 'A', 100), (1250, 'B', 50), (1300, 'A', 100), (1400, 'B', 100)];
    let expected: Vec<_> = turns.chain(then).chain([(1500, 'A', 100)]).collect();
    assert_eq!(picks, expected);
    assert_eq!([hosted.stat("preemptions"), hosted.stat("requeued")], [1, 4]);
}

#[test]
fn without_interactive_tasks_a_slice_that_ended_is_behind_all_others() {
    // 750 A 100 (D 118). 850 B 50. Switch. 900 A 100, 1000 B
    let (hosted, picks) = waking(&[("no_interactive", "true")], 1_100);
    assert_eq!(picks, [(750, 'A', 100), (850, 'B', 50), (900, 'A', 100), (1000, 'B', 100)]);
    assert_eq!(hosted.stat("requeued"), 0);
}

#[test]
fn without_the_bonus_sleep_gives_no_advantage() {
    // D is 120 for both. 800 B expires, A 100. 900 switch: B was there first
    let (hosted, picks) = waking(&[("no_bonus", "true")], 1_100);
    assert_eq!(picks, [(800, 'A', 100), (900, 'B', 100), (1000, 'A', 100)]);
    assert_eq!(hosted.stat("preemptions"), 0);
}

#[test]
fn without_granularity_an_interactive_task_has_its_slice_in_one_piece() {
    // avg 750, 735.7, 721.4, 707.1 at the ends of A's slices from 850 on; 692.9 at 1250
    let (hosted, picks) = waking(&[("no_granularity", "true")], 1_300);
    let slices = [750, 850, 950, 1050, 1150].map(|at| (at, 'A', 100));
    assert_eq!(picks, [&slices[..], &[(1250, 'B', 50)]].concat());
    assert_eq!(hosted.stat("turns"), 0);
}

#[test]
fn without_preemption_who_wakes_up_waits_for_the_end_of_a_slice() {
    let (hosted, picks) = waking(&[("no_preemption", "true")], 840);
    assert_eq!(picks, [(800, 'A', 40)]);
    assert_eq!(hosted.stat("preemptions"), 0);
}

#[test]
fn waiting_after_a_wakeup_counts_as_sleep_in_part() {
    // A wakes at 80 and runs at 100: 80 and 30 % of 20, less the millisecond until the end
    for (percent, avg_ms) in [("30", 85), ("0", 79), ("100", 99)] {
        let set = [("no_preemption", "true"), ("runqueue_credit_percent", percent)];
        let (mut hosted, _) = o1(&set, 101, &[&sleeper('A', 0, 80), &hog('B', 0)]);
        assert_eq!(sleep_avg_ms(&mut hosted, 0), avg_ms, "{percent} %");
    }
}

#[test]
fn time_run_takes_less_off_the_average_the_higher_the_bonus() {
    // A wakes at 750, bonus 7 of 10, and runs for 35 ms: 35/7 = 5, or all of it
    for (set, avg_ms) in [(&[][..], 745), (&[("no_slow_decay", "true")], 715)] {
        let (mut hosted, _) = o1(set, 785, &[&sleeper('A', 0, 750)]);
        assert_eq!(sleep_avg_ms(&mut hosted, 0), avg_ms, "{set:?}");
    }
}

#[test]
fn interactive_tasks_of_one_priority_take_turns_within_a_slice() {
    // A and B wake at 750. A's turn ends at 790, B's at 830; B's wait of 40 ms gave it 12 ms.
    // Then the other 60 ms of each, and they begin a new slice in the same way: asked at 990
    let tasks = [sleeper('A', 0, 750), sleeper('B', 0, 750), hog('C', 0)];
    let (hosted, picks) = o1(&[], 1_030, &tasks.each_ref().map(String::as_str));
    let expected = [(750, 'A', 40), (790, 'B', 40), (830, 'A', 60), (890, 'B', 60)];
    assert_eq!(picks[8..12], expected);
    assert_eq!(picks[12..], [(950, 'A', 40), (990, 'B', 40)]);
    assert_eq!(hosted.stat("turns"), 3);
}

/// A with nice -20 is always interactive if sleep does not count: 0 >= -3.
const PRIVILEGED: [(&str, &str); 2] = [("no_bonus", "true"), ("no_granularity", "true")];

#[test]
fn the_expired_starve_for_a_second_for_each_task_at_most() {
    // The first slice ends at 800; two tasks: limit 2 s and a tick of 1 ms. At 1600 and 2400
    // that is 0.8 and 1.6 s ago, at 3200 2.4 s: A expires. B 100, all expired, and so on
    let tasks = [hog('A', -20), hog('B', 0)];
    let tasks = tasks.each_ref().map(String::as_str);
    let (hosted, picks) = o1(&PRIVILEGED, 6_700, &tasks);
    let round =
        |at: u64| (0..4).map(move |n| (at + n * 800, 'A', 800)).chain([(at + 3200, 'B', 100)]);
    let expected: Vec<_> = round(0).chain(round(3300)).chain([(6600, 'A', 800)]).collect();
    assert_eq!(picks, expected);
    assert_eq!([hosted.stat("starving"), hosted.stat("requeued")], [2, 6]);

    let half = ("starvation_limit_ns", "500000000");
    let (_, picks) = o1(&[PRIVILEGED[0], PRIVILEGED[1], half], 2_500, &tasks);
    // 1 s and 1 ms: at 1600 it was 0.8 s ago, at 2400 1.6 s
    assert_eq!(picks, [(0, 'A', 800), (800, 'A', 800), (1600, 'A', 800), (2400, 'B', 100)]);
}

#[test]
fn without_the_limit_the_expired_starve_for_ever() {
    let set = [PRIVILEGED[0], PRIVILEGED[1], ("no_starvation_limit", "true")];
    let (hosted, picks) = o1(&set, 20_000, &[&hog('A', -20), &hog('B', 0)]);
    assert!(picks.iter().all(|pick| pick.1 == 'A'), "{picks:?}");
    assert_eq!(hosted.stat("starving"), 0);
}

#[test]
fn an_interactive_task_expires_if_a_better_static_priority_has() {
    // A first runs at 500, and wakes at 1750 with avg 799 (D 118), when B (nice -5, D 120) has
    // expired and C (D 125) runs. At 1850 A's slice ends: 120 > 115, so it expires too. C has
    // its other 50 ms, then the arrays are switched: A first (D 118)
    let tasks = [sleeper('A', 0, 1_250), hog('B', -5), hog('C', 0)];
    let tasks = tasks.each_ref().map(String::as_str);
    let (hosted, picks) = o1(&[], 1_940, &tasks);
    let before = [500, 1100, 1700].map(|at| [(at - 500, 'B', 500), (at, 'C', 100)]).concat();
    let after = [(1750, 'A', 40), (1790, 'A', 60), (1850, 'C', 50), (1900, 'A', 40)];
    assert_eq!(picks, [&before[..], &after].concat());
    assert_eq!(hosted.stat("starving"), 1);

    let (_, picks) = o1(&[("no_starvation_limit", "true")], 1_890, &tasks);
    assert_eq!(picks[8..], [(1850, 'A', 40)]);
}

#[test]
fn who_yields_waits_for_the_others_slices() {
    // A goes into the expired array after 10 ms. B 100, switch: A has 90 left, and 10 of them
    let yields = r#""A": {"run": 10000, "yield": ""}"#;
    let (_, picks) = o1(&[], 220, &[yields, &hog('B', 0)]);
    assert_eq!(picks, [(0, 'A', 100), (10, 'B', 100), (110, 'A', 90), (120, 'B', 100)]);
}

#[test]
fn a_preempted_task_is_the_first_of_its_priority_again() {
    // B (nice -1, D 124) wakes at 50 and runs for 10 ms: A goes on, not C
    let b = r#""B": {"priority": -1, "loop": 1, "sleep": 50000, "run": 10000}"#;
    let (_, picks) = o1(&[], 120, &[&hog('A', 0), b, &hog('C', 0)]);
    assert_eq!(picks, [(0, 'A', 100), (50, 'B', 420), (60, 'A', 50), (110, 'C', 100)]);
}

/// A runs for 20 of its 100 ms and forks B, which runs for 10 ms, or longer.
fn forking(b_ms: u64) -> [String; 2] {
    let a = r#""A": {"loop": 1, "run": 20000, "fork": "B", "run": 10000000}"#;
    let b = format!(r#""B": {{"instance": 0, "loop": 1, "run": {}}}"#, b_ms * 1000);
    [a.into(), b]
}

#[test]
fn a_fork_halves_the_time_slice() {
    // A has 80 ms left at 20: 40 for each. Both expire, then whole slices
    let (_, picks) = o1(&[], 250, &forking(10_000).each_ref().map(String::as_str));
    let expected = [(0, 'A', 100), (60, 'B', 40), (100, 'A', 100), (200, 'B', 100)];
    assert_eq!(picks, expected);
    let set = [("no_fork_split", "true")];
    let (_, picks) = o1(&set, 250, &forking(10_000).each_ref().map(String::as_str));
    assert_eq!(picks, [(0, 'A', 100), (100, 'B', 100), (200, 'A', 100)]);
}

#[test]
fn a_child_that_ends_in_its_first_slice_gives_the_rest_back() {
    // As above, but B needs only 10 of its 40 ms: at 70 A has its next slice already, which
    // does not become more than 100. It runs for 1 ms until the end
    let (mut hosted, _) = o1(&[], 71, &forking(10).each_ref().map(String::as_str));
    assert_eq!(of_task(&mut hosted, 0, "left_ns"), 99 * MS);
    // With nice -1 B (D 124) goes first, at 20, for 10 of the 40 ms: 40 + 30 for A at 30
    let [a, b] = forking(10);
    let b = b.replace(r#""instance": 0"#, r#""instance": 0, "priority": -1"#);
    let (mut hosted, picks) = o1(&[], 31, &[&a, &b]);
    assert_eq!(picks, [(0, 'A', 100), (20, 'B', 40), (30, 'A', 40)]);
    assert_eq!(of_task(&mut hosted, 0, "left_ns"), 69 * MS);
}

#[test]
fn child_and_parent_are_less_interactive_after_a_fork() {
    // A wakes at 770: avg 770. It forks at once: bonus 7 of 10, so A has 700, and B 95 % of 7,
    // floor(6.65) * 100. The run ends, and with it B: 3/4 of A's, and 1/4 of B's if that is less
    let a = r#""A": {"loop": 1, "sleep": 770000, "fork": "B", "run": 10000000}"#;
    let b = r#""B": {"instance": 0, "loop": 1, "run": 1000000}"#;
    for (penalty, child_ms, parent_ms) in [("95", 600, 675), ("100", 700, 700), ("50", 300, 600)] {
        let (mut hosted, _) = o1(&[("child_penalty", penalty)], 771, &[a, b]);
        assert_eq!(sleep_avg_ms(&mut hosted, 1), child_ms, "{penalty} %");
        assert_eq!(sleep_avg_ms(&mut hosted, 0), parent_ms, "{penalty} %");
    }
}

#[test]
fn what_a_timer_tick_gave_is_taken_off_the_next_slice() {
    // Ticks are 4 ms apart. 5 ms of nice 19 end after 8: 3 too many, 2 the next time, which
    // end after 4; 2 too many: 3 and 4; 1: 4 and 4; 5 and 8
    let mut config = ideal(1, 28 * MS);
    config.exact_slices = false;
    let mut hosted =
        Hosted::new("o1", &[], config, &format!(r#"{{"tasks": {{{}}}}}"#, hog('A', 19)));
    let (_, tape) = hosted.run();
    assert_eq!(picks(&tape), [(0, 'A', 5), (8, 'A', 2), (12, 'A', 3), (16, 'A', 4), (20, 'A', 5)]);
}

#[test]
fn timeslice_ns_is_the_slice_of_nice_0() {
    for (nice, slice) in [(-20, 80), (0, 10), (10, 5)] {
        let (_, picks) = o1(&[("timeslice_ns", "10000000")], 1, &[&hog('A', nice)]);
        assert_eq!(picks, [(0, 'A', slice)], "nice {nice}");
    }
}
