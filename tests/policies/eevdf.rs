// SPDX-License-Identifier: MIT OR Apache-2.0
//! `eevdf` picks as the rules of Linux 7.2 say: sequences, lag and deadlines calculated by
//! hand, through the real object. Times are in ms, on one ideal CPU, with slices of 6 ms that
//! new tasks have whole; v is a task's virtual time, d its deadline, V the average of v by
//! weight. Who has v <= V is eligible; of those the earliest d runs.

use crate::common::hosted::{hogs, letters, Hosted};
use crate::common::{ideal, Tape};
use rota_machine::config::{Config, Costs};
use rota_machine::exit::ExitKind;
use rota_machine::lab::Lab;
use rota_machine::topology::Topology;
use rota_trace::EventKind;

const MS: u64 = 1_000_000;
const SLICES_OF_6_MS: [(&str, &str); 2] =
    [("base_slice_ns", "6000000"), ("no_place_deadline_initial", "true")];

fn run(set: &[(&str, &str)], load: &str, ms: u64) -> Tape {
    let set = [&SLICES_OF_6_MS, set].concat();
    let (outcome, tape) = Hosted::new("eevdf", &set, ideal(1, ms * MS), load).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    tape
}

/// When a task came onto the CPU, in us.
fn starts_us(tape: &Tape, name: &str) -> Vec<u64> {
    tape.starts(tape.pid(name)).iter().map(|(at, _)| at / 1000).collect()
}

#[test]
fn the_earliest_deadline_of_the_eligible_runs() {
    // A has twice B's weight: in 6 ms its v grows by 3, B's by 6; V = (2 vA + vB) / 3. Who goes
    // on after its request is not protected: each tick, at 4 ms, 8 and so on, looks again
    //  t   vA dA   vB dB    V    eligible   picks
    //  0    0  3    0  6    0     A B        A (d 3 before 6)
    //  6    3  6    0  6    2       B        B
    // 12    3  6    6 12    4     A          A
    // 18    6  9    6 12    6     A B        A goes on (9 before 12)
    // 20    7  9    6 12   20/3     B        B, at a tick
    // 26    7  9   12 18   26/3   A          A
    // 30    9 12   12 18   10     A          A goes on
    // 32   10 12   12 18   32/3   A          A, at a tick
    // 36   12 15   12 18   12     A B        A goes on (15 before 18)
    let tape = run(&[], &hogs(&[200, 100]), 40);
    assert_eq!(letters(&tape), "ABAABAAAA");
    assert_eq!(starts_us(&tape, "B-1"), [6_000, 20_000]);
}

#[test]
fn a_short_slice_makes_everybody_give_way_sooner() {
    // Equal weights; C requests 2 ms, A and B 6. Nobody runs for longer than the shortest
    // slice there before a look. V = (vA + vB + vC) / 3
    //  t   vA dA   vB dB   vC dC    V   eligible   picks
    //  0    0  6    0  6    0  2    0    A B C      C
    //  2    0  6    0  6    2  4   2/3   A B        A (both 6: first who came)
    //  4    2  6    0  6    2  4   4/3     B        B
    //  6    2  6    2  6    2  4    2    A B C      C
    //  8    2  6    2  6    4  6   8/3   A B        A (it waits for longer)
    // 10    4  6    2  6    4  6  10/3     B        B
    // 12    4  6    4  6    4  6    4    A B C      C (it waits since 8, A since 10)
    // 14    4  6    4  6    6  8  14/3   A B        A
    let load = r#"{"tasks": {"A": {"run": 1000000}, "B": {"run": 1000000},
        "C": {"dl-runtime": 2000, "run": 1000000}}}"#;
    let tape = run(&[], load, 18);
    assert_eq!(letters(&tape), "CABCABCAB");
    assert_eq!(starts_us(&tape, "C-2"), [0, 6_000, 12_000]);
}

#[test]
fn who_wakes_before_it_left_the_queue_preempts_before_linux_7_2_only() {
    // Ticks each 10 ms. t 0: S runs for 3 ms. t 3: vS 3, vA 0, V 1.5: S sleeps with lag -1.5, so it
    // takes part still, and A runs. t 7: S wakes up, A has had 4 ms: vA 4, V 3.5.
    // Linux 7.2 counts these first: S would have gained lag asleep, and gets none: it is put where
    // A is, at 4. A is eligible, and protected to the end of its request, d 6 at t 9.
    // Before, S is judged by V 1.5 and stays at 3. Then they count: A is not eligible (4 > 3.5).
    let load = r#"{"tasks": {"S": {"loop": 1, "phases": {
            "p": {"run": 3000, "sleep": 4000}, "q": {"run": 3000}}},
        "A": {"run": 1000000}}}"#;
    let starts_of_s = |no_requeue_update| {
        let set = [&SLICES_OF_6_MS[..], &[("no_requeue_update", no_requeue_update)]].concat();
        let config = Config { hz: 100, ..ideal(1, 20 * MS) };
        let (_, tape) = Hosted::new("eevdf", &set, config, load).run();
        starts_us(&tape, "S-0")
    };

    assert_eq!(starts_of_s("false"), [0, 9_000]);
    assert_eq!(starts_of_s("true"), [0, 7_000]);
}

#[test]
fn who_comes_back_has_the_lag_with_which_it_left() {
    // t 0: A and S with v 0, d 6. A runs for its 6 ms. t 6: vA 6, V 3; S runs for 4 ms.
    // t 10: vS 4, V 5: S goes to sleep with lag +1. A runs alone, vA 8 at t 12.
    // t 12: S comes, and its weight moves V: it is put at 8 - 2 = 6, so V = 7 and its lag
    // is 1. A is not eligible any more (8 > 7): S preempts. Without its lag it is put at 8,
    // d 14; A is eligible, and protected to the end of its request, d 12 at t 16.
    let load = r#"{"tasks": {"A": {"run": 1000000},
        "S": {"loop": 1, "phases": {"p": {"run": 4000, "sleep": 2000}, "q": {"run": 3000}}}}}"#;
    assert_eq!(starts_us(&run(&[], load, 30), "S-1"), [6_000, 12_000]);
    let without = run(&[("no_place_lag", "true")], load, 30);
    assert_eq!(starts_us(&without, "S-1"), [6_000, 16_000]);
}

#[test]
fn who_sleeps_with_a_debt_works_it_off_and_gains_nothing() {
    // t 0: S (v 0, d 6) runs for 4 ms. t 4: vS 4, V 2: it sleeps with lag -2, and takes part
    // still. A runs. t 10: vA 6, d 12, V 5: S would be picked. It leaves with lag 5 - 4 = 1,
    // of which nothing is kept. t 14: vA 10; S is put at 10, d 16. A is protected to d 12.
    // t 16: vA 12, d 18, V 11: S runs.
    // At once out: lag -2 at t 14, S is put at 14 (d 20), V 12. t 16: A (v 12, d 18) is
    // eligible, S is not. t 20, at a tick: vA 16, V 15: S runs.
    // With the lag that it gained asleep: put at 8 at t 14, V 9. A is not eligible: S runs.
    let load = r#"{"tasks": {
        "S": {"loop": 1, "phases": {"p": {"run": 4000, "sleep": 10000}, "q": {"run": 3000}}},
        "A": {"run": 1000000}}}"#;
    assert_eq!(starts_us(&run(&[], load, 40), "S-0"), [0, 16_000]);
    let at_once = run(&[("no_delay_dequeue", "true")], load, 40);
    assert_eq!(starts_us(&at_once, "S-0"), [0, 20_000]);
    let gains = run(&[("no_delay_zero", "true")], load, 40);
    assert_eq!(starts_us(&gains, "S-0"), [0, 14_000]);
}

#[test]
fn a_new_task_begins_with_half_a_slice() {
    // t 0: H has half a slice too, d 3. t 3: vH 3, d 9; N comes with v = V = 3 and d 6, and
    // runs until that. With whole slices H has d 6; at t 6, vH 6, d 12, V 4.5, N (v 3, d 9) runs
    // for 6 ms.
    let load = r#"{"tasks": {"H": {"run": 1000000}, "N": {"delay": 3000, "run": 1000000}}}"#;
    let halves = run(&[("no_place_deadline_initial", "false")], load, 30);
    let whole = run(&[], load, 30);
    assert_eq!(halves.spans("N-1")[0].1 - halves.spans("N-1")[0].0, 3_000);
    assert_eq!(whole.spans("N-1")[0].1 - whole.spans("N-1")[0].0, 6_000);
}

/// With ticks every 4 ms, at which slices end, and no costs.
fn run_with_ticks(cpus: u32, load: &str, ms: u64) -> Tape {
    let mut config = Config::new(Topology::flat(cpus).unwrap(), ms * MS);
    config.costs = Costs::none();
    let set = [&SLICES_OF_6_MS[..], &[("tunable_scaling", "none")]].concat();
    let (outcome, tape) = Hosted::new("eevdf", &set, config, load).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    tape
}

#[test]
fn who_wakes_somebody_when_its_request_is_over_gives_way_at_once() {
    // t 0: S waits for A. A (v 0, d 6) runs; at the tick, t 4, it is protected still.
    // t 7: A wakes S, and is charged: v 7, over d 6. V of A and B (v 0, d 6) is 3.5; S is put
    // there, d 9.5. A is not eligible, B has the earlier deadline. B need not wait for the tick
    // at t 8, though nobody preempts who woke up. (update_curr)
    let load = r#"{"tasks": {
        "S": {"loop": 1, "sem_wait": "s", "run": 1000},
        "A": {"loop": 1, "phases": {"p": {"run": 7000, "sem_post": "s"}, "q": {"run": 100000}}},
        "B": {"run": 1000000}}}"#;
    let tape = run_with_ticks(1, load, 12);
    assert_eq!(starts_us(&tape, "A-1")[0], 0);
    assert_eq!(starts_us(&tape, "B-2")[0], 7_000);
}

#[test]
fn who_runs_on_another_cpu_gives_way_at_its_next_tick() {
    // h runs alone on CPU 1: at the tick at 8 ms its request of 6 is over, so at 9 its v is 9 and
    // its deadline 14. Then p, on CPU 0, wakes w, which requests 2 ms: v 9, d 11, before 14, and a
    // shorter slice cancels h's protection. h gives way at its next tick, at 12 ms; with
    // preempt_full at once. (resched_curr_lazy)
    let load = r#"{"tasks": {
        "p": {"cpus": [0], "loop": 1, "run": 9000, "sem_post": "s"},
        "w": {"cpus": [1], "dl-runtime": 2000, "loop": 1, "sem_wait": "s", "run": 1000},
        "h": {"cpus": [1], "run": 1000000}}}"#;
    let first = |set: &[(&str, &str)]| {
        let mut config = Config::new(Topology::flat(2).unwrap(), 20 * MS);
        config.costs = Costs::none();
        let set = [&SLICES_OF_6_MS[..], &[("tunable_scaling", "none")], set].concat();
        let (_, tape) = Hosted::new("eevdf", &set, config, load).run();
        *starts_us(&tape, "w-1").last().unwrap()
    };
    assert_eq!(first(&[]), 12_000);
    assert_eq!(first(&[("preempt_full", "true")]), 9_000);
}

/// The mean time from waking up to the CPU of a task that requests `slice_us` and works for
/// 1.5 ms at a time, beside three endless tasks.
fn mean_wait_us(slice_us: u64) -> u64 {
    let load = format!(
        r#"{{"tasks": {{"hog": {{"instance": 3, "run": 1000000}},
        "w": {{"dl-runtime": {slice_us}, "loop": -1, "run": 1500,
            "sleep": {{"dist": "exp", "mean": 5000}}}}}}}}"#
    );
    let tape = run(&[], &load, 5_000);
    let pid = tape.pid("w-3");
    let (mut waits, mut woken_ns) = (Vec::new(), None);
    for event in &tape.0 {
        match event.kind {
            EventKind::Wakeup { pid: p, .. } if p == pid => woken_ns = Some(event.time_ns),
            EventKind::SwitchIn { pid: p } if p == pid => {
                waits.extend(woken_ns.take().map(|at| event.time_ns - at))
            }
            _ => {}
        }
    }
    waits.iter().sum::<u64>() / waits.len() as u64 / 1000
}

#[test]
fn a_short_slice_is_served_sooner() {
    let [short, long] = [500, 6_000].map(mean_wait_us);
    assert!(short * 2 < long, "{short} us with 0.5 ms, {long} with 6");
}

#[test]
fn shares_and_nice_values_are_kept_on_one_two_and_four_cpus() {
    let run_ns = 20_000 * MS;
    for cpus in [1, 2, 4] {
        for key in ["share", "weight"] {
            let task = |w: u64| {
                format!(r#""w{w}": {{"instance": {cpus}, "{key}": {}, "run": 1000000}}"#, w * 100)
            };
            let tasks: Vec<String> = (1..=4).map(task).collect();
            let load = format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "));
            let config = Config::new(Topology::flat(cpus as u32).unwrap(), run_ns);
            let (outcome, tape) = Hosted::new("eevdf", &[], config, &load).run();
            assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
            for at in 0..4 * cpus {
                let due = run_ns * (at / cpus + 1) / 10;
                let used = tape.cpu_ns(1001 + at as u32, run_ns);
                assert!(used.abs_diff(due) <= due / 100, "{cpus} {key}: {used} of {due}");
            }
        }
    }
}

#[test]
fn nice_levels_weigh_exactly_as_in_the_kernel() {
    // sched_ext rounds nice 5 to 33 of 100, but 335 of 1024 is 32.7: 24.65 %, not 24.81
    let load = r#"{"tasks": {"a": {"run": 1000}, "b": {"priority": 5, "run": 1000}}}"#;
    let ms = 20_000;
    let used = run(&[], load, ms).cpu_ns(1002, ms * MS);
    assert!(used.abs_diff(ms * MS * 335 / 1359) <= 10 * MS, "{used}");
}

#[test]
fn a_nice_value_that_changes_where_a_task_runs_does_not_renew_its_protection() {
    // Of weights 1024 and 1024, both with v 0 and d 6, A runs for 2, and is protected to 6. Then it
    // has nice 5, weight 335: its lag, 2 / 2 - 2 = -1, is 1024 / 335 of that, -3.06. It is put at 0
    // + 3.06 x (1024 + 335) / 1024 = 4.06, and reaches 6 after 1.94 x 335 / 1024 = 0.64. Then B is
    // due. With nice -5 before, 3121: d is 6 x 1024 / 3121 = 1.97; after 5 its v is 1.64, V 1.24,
    // and its lag -0.405 becomes -3.78. Put at 3.78 x 1359 / 1024 = 5.01 it is beyond its
    // protection, 1.97, and gives way at once. (sched_change_begin, place_entity,
    // prio_changed_fair)
    let b_starts = |nice, run_us| {
        let load = format!(
            r#"{{"tasks": {{"A": {{"loop": 1, "phases": {{
                "p": {{"priority": {nice}, "run": {run_us}}},
                "q": {{"priority": 5, "run": 1000000}}}}}},
                "B": {{"run": 1000000}}}}}}"#
        );
        starts_us(&run(&[], &load, 10), "B-1")[0]
    };
    assert_eq!(b_starts(0, 2_000), 2_635);
    assert_eq!(b_starts(-5, 5_000), 5_000);
}

#[test]
fn who_has_had_its_protection_gives_way_a_moment_before_its_end() {
    // With ticks at 4 and 8, A and B with v 0 and d 6: A is protected to 6, has worked at 7, and
    // ends at 7.5. Taken out of its group 0.25 before that, it has v 7.25, and B goes first; at the
    // begin of its end v is 7. (sched_autogroup_exit_task, sched_move_task)
    let b_starts = |moves_at_exit_ns| {
        let mut config = Config::new(Topology::flat(1).unwrap(), 12 * MS);
        config.costs = Costs { exit_ns: MS / 2, ..Costs::none() };
        config.lab = Some(Lab { moves_at_exit_ns, ..Lab::default() });
        let load = r#"{"tasks": {"A": {"loop": 1, "run": 7000}, "B": {"run": 1000000}}}"#;
        let (_, tape) = Hosted::new("eevdf", &SLICES_OF_6_MS, config, load).run();
        starts_us(&tape, "B-1")[0]
    };
    assert_eq!(b_starts(Some(MS / 4)), 7_250);
    assert_eq!(b_starts(Some(MS)), 7_000);
    assert_eq!(b_starts(None), 7_500);
}
