// SPDX-License-Identifier: MIT OR Apache-2.0
//! Proportional shares on one and several CPUs over ten seconds.

use crate::common::hosted::{hogs as few, Hosted};
use crate::common::plan::cases;
use crate::common::{ideal, Tape};
use proptest::prelude::*;
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_machine::topology::Topology;

const MS: u64 = 1_000_000;
const RUN_NS: u64 = 10_000 * MS;

/// Endless tasks of weights 1:2:3:4, `each` of every weight.
fn hogs(key: &str, unit: u64, each: u32) -> String {
    let task = |w: u64| {
        format!(r#""w{w}": {{"instance": {each}, "{key}": {}, "run": 1000000}}"#, w * unit)
    };
    let tasks: Vec<String> = (1..=4).map(task).collect();
    format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "))
}

/// The largest error of any task, in parts per million of what is due to it. An error below
/// `grain_ns` is none: the task may be in the middle of a slice.
fn worst_error_ppm(tape: &Tape, cpus: u32, each: u32, grain_ns: u64) -> u64 {
    let error = |task: u32| {
        let weight = u64::from(task / each) + 1;
        let due = RUN_NS * u64::from(cpus) * weight / (10 * u64::from(each));
        let error_ns = tape.cpu_ns(1001 + task, RUN_NS).abs_diff(due);
        if error_ns < grain_ns {
            0
        } else {
            error_ns * 1_000_000 / due
        }
    };
    (0..4 * each).map(error).max().unwrap()
}

/// Runs a policy on 1, 2 and 4 CPUs, exact and with overheads and a tick of 4 ms.
fn check(policy: &str, key: &str, unit: u64) {
    for cpus in [1, 2, 4] {
        let real = Config::new(Topology::flat(cpus).unwrap(), RUN_NS);
        // a quantum of 10 ms ends at a tick
        for (machine, config, grain_ns) in
            [("ideal", ideal(cpus, RUN_NS), 0), ("real", real, 12 * MS)]
        {
            let (outcome, tape) = Hosted::new(policy, &[], config, &hogs(key, unit, 4)).run();
            assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
            let error_ppm = worst_error_ppm(&tape, cpus, 4, grain_ns);
            assert!(
                error_ppm <= 10_000,
                "{policy}, {key}, {cpus} CPUs, {machine}: {error_ppm} ppm"
            );
        }
    }
}

#[test]
fn wfq_gives_shares_within_one_percent() {
    check("wfq", "share", 1);
}

#[test]
fn wfq_gives_weights_within_one_percent() {
    check("wfq", "weight", 100);
}

#[test]
fn vtrr_gives_shares_within_one_percent() {
    check("vtrr", "share", 1);
}

#[test]
fn vtrr_gives_weights_within_one_percent() {
    check("vtrr", "weight", 100);
}

#[test]
fn stride_gives_shares_within_one_percent() {
    check("stride", "share", 1);
}

#[test]
fn stride_gives_weights_within_one_percent() {
    check("stride", "weight", 100);
}

#[test]
fn vtrr_gives_few_clients_their_shares_up_to_a_whole_cpu() {
    let cases: [(u32, &[u64]); 5] = [
        (2, &[10, 20, 30, 40]),
        (2, &[10, 20, 20, 50]),
        (4, &[46, 53, 46, 55, 46]),
        (4, &[57, 60, 31, 43, 49]),
        (3, &[18, 6, 39, 57, 22, 12, 27]),
    ];
    for (cpus, shares) in cases {
        let total: u64 = shares.iter().sum();
        // 40 cycles of as many quanta of 10 ms as there are shares
        let run_ns = 40 * total * 10 * MS / u64::from(cpus);
        let real = Config::new(Topology::flat(cpus).unwrap(), run_ns);
        for (machine, config) in [("ideal", ideal(cpus, run_ns)), ("real", real)] {
            let (_, tape) = Hosted::new("vtrr", &[], config, &few(shares)).run();
            for (pid, share) in (1001..).zip(shares) {
                let due = 40 * share * 10 * MS;
                let error_ppm = tape.cpu_ns(pid, run_ns).abs_diff(due) * 1_000_000 / due;
                assert!(error_ppm <= 10_000, "{shares:?}, {machine}: {share}: {error_ppm} ppm");
            }
        }
    }
}

#[test]
fn tasks_that_nap_do_not_keep_long_running_ones_from_their_shares() {
    // As in a kernel, where its threads of weight 100 run for some microseconds now and then.
    // Quanta are 10 ms, or as short as rounds of them have to be against the run: a round
    // of 494 quanta, the sum of these weights, takes 25 ms of four CPUs at 200 us.
    let load = r#"{"tasks": {
        "a": {"instance": 2, "weight": 100, "run": 1000000},
        "b": {"instance": 2, "weight": 64, "run": 1000000},
        "c": {"instance": 2, "share": 50, "run": 1000000},
        "d": {"instance": 2, "weight": 33, "run": 1000000},
        "nap": {"instance": 4, "loop": -1, "run": 50, "sleep": {"dist": "exp", "mean": 3000}},
        "doze": {"instance": 2, "loop": -1, "run": 300, "sleep": {"dist": "exp", "mean": 50000}}}}"#;
    let weights = [100, 100, 64, 64, 50, 50, 33, 33];
    let run_ns = 30_000 * MS;
    let tried =
        [("wfq", "10000000"), ("stride", "10000000"), ("vtrr", "10000000"), ("wrr", "200000")];
    for (policy, quantum_ns) in tried {
        let config = Config::new(Topology::flat(4).unwrap(), run_ns);
        let set = [("quantum_ns", quantum_ns)];
        let (_, tape) = Hosted::new(policy, &set, config, load).run();
        let used: Vec<u64> = (1001..).take(8).map(|pid| tape.cpu_ns(pid, run_ns)).collect();
        let all: u64 = used.iter().sum();
        for (used_ns, weight) in used.iter().zip(weights) {
            let due = all * weight / weights.iter().sum::<u64>();
            let error_ppm = used_ns.abs_diff(due) * 1_000_000 / due;
            assert!(error_ppm <= 20_000, "{policy}, weight {weight}: {error_ppm} ppm of {due} ns");
        }
    }
}

#[test]
fn wrr_keeps_proportions_on_several_cpus() {
    // ten seconds are whole rounds: 40 quanta, ideal machine
    for cpus in [1, 2, 4] {
        let load = hogs("share", 1, 4);
        let (_, tape) = Hosted::new("wrr", &[], ideal(cpus, RUN_NS), &load).run();
        assert_eq!(worst_error_ppm(&tape, cpus, 4, 0), 0, "{cpus} CPUs");
    }
}

#[test]
fn a_light_task_with_a_cpu_of_its_own_does_not_starve_newcomers_elsewhere() {
    // L has CPU 1 to itself: time per weight that neither A nor N can have on CPU 0. N comes
    // when A and L have run for 5 s, and is due half of CPU 0 from then on.
    let load = r#"{"tasks": {
        "A": {"cpus": [0], "run": 60000000},
        "L": {"cpus": [1], "priority": 19, "run": 60000000},
        "N": {"cpus": [0], "delay": 5000000, "run": 60000000}}}"#;
    for policy in ["wfq", "stride", "vtrr"] {
        let (_, tape) = Hosted::new(policy, &[], ideal(2, RUN_NS), load).run();
        let (a, n) = (tape.cpu_ns(1001, RUN_NS), tape.cpu_ns(1003, RUN_NS));
        assert!(n.abs_diff(2_500 * MS) <= 10 * MS, "{policy}: N {n} ns");
        assert!(a.abs_diff(7_500 * MS) <= 10 * MS, "{policy}: A {a} ns");
    }
}

#[test]
fn a_light_task_that_naps_on_another_cpu_does_not_favour_one_of_two() {
    // A and B are tied to CPU 0 and due half of it each, whatever L does on CPU 1
    let load = r#"{"tasks": {
        "A": {"cpus": [0], "run": 60000000},
        "B": {"cpus": [0], "run": 60000000},
        "L": {"cpus": [1], "priority": 19, "loop": -1, "run": 1000, "sleep": 9000}}}"#;
    for policy in ["wfq", "stride", "vtrr"] {
        let (_, tape) = Hosted::new(policy, &[], ideal(2, RUN_NS), load).run();
        for pid in [1001, 1002] {
            let used_ns = tape.cpu_ns(pid, RUN_NS);
            assert!(used_ns.abs_diff(5_000 * MS) <= 10 * MS, "{policy}: {pid} {used_ns} ns");
        }
    }
}

#[test]
fn nice_levels_weigh_as_in_the_kernel() {
    // nice 0 and 5 are load weights 1024 and 335, which sched_ext sees as 100 and 33
    let load = r#"{"tasks": {"a": {"run": 1000}, "b": {"priority": 5, "run": 1000}}}"#;
    let run_ns = 13_300 * MS;
    let (_, tape) = Hosted::new("wfq", &[], ideal(1, run_ns), load).run();
    assert_eq!([tape.cpu_ns(1001, run_ns), tape.cpu_ns(1002, run_ns)], [10_000 * MS, 3_300 * MS]);
}

#[test]
fn clients_tied_to_one_cpu_share_it_even_if_more_is_due_to_them() {
    // a, c and e are due 21/29 of two CPUs, and have one: 8/21, 10/21 and 3/21 of it. b and
    // d have the other one, 1/8 and 7/8: b has no reason to come over
    let load = r#"{"tasks": {
        "a": {"share": 8, "cpus": [0], "run": 1000000},
        "b": {"share": 1, "run": 1000000},
        "c": {"share": 10, "cpus": [0], "run": 1000000},
        "d": {"share": 7, "cpus": [1], "run": 1000000},
        "e": {"share": 3, "cpus": [0], "run": 1000000}}}"#;
    let due = [(1001, 8.0 / 21.0), (1002, 1.0 / 8.0), (1003, 10.0 / 21.0), (1004, 7.0 / 8.0)];
    for policy in ["stride", "vtrr", "wfq", "wrr"] {
        let real = Config::new(Topology::flat(2).unwrap(), RUN_NS);
        for config in [ideal(2, RUN_NS), real] {
            let (outcome, tape) = Hosted::new(policy, &[], config, load).run();
            assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{policy}: {}", outcome.exit);
            for (pid, due) in due {
                let had = tape.cpu_ns(pid, RUN_NS) as f64 / RUN_NS as f64;
                assert!((had / due - 1.0).abs() < 0.02, "{policy}, {pid}: {had} of {due}");
            }
        }
    }
}

#[test]
fn one_client_more_than_cpus_and_all_have_the_same() {
    // Slices end at the same ticks on all CPUs. The first of them takes who waits; while the
    // one it put off is on its way into the queue, nobody waits, and still the quanta that
    // begin on the others are not free.
    for policy in ["rr", "stride", "vtrr", "wfq", "wrr"] {
        let config = Config::new(Topology::flat(4).unwrap(), RUN_NS);
        let (outcome, tape) = Hosted::new(policy, &[], config, &few(&[1; 5])).run();
        assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{policy}: {}", outcome.exit);
        for pid in 1001..1006 {
            let had = tape.cpu_ns(pid, RUN_NS) as f64 / (RUN_NS as f64 * 4.0 / 5.0);
            assert!((had - 1.0).abs() < 0.02, "{policy}, {pid}: {had} of its due");
        }
    }
}

/// Endless tasks with shares, each tied to one CPU of `cpus` or free.
fn tied(cpus: u32) -> impl Strategy<Value = (u32, Vec<(u32, Option<u32>)>)> {
    let task = (1..12u32, prop::option::weighted(0.8, 0..cpus));
    (Just(cpus), prop::collection::vec(task, 2..12))
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn nobody_has_less_than_its_part_of_one_cpu_whoever_is_tied_where(
        (cpus, tasks) in (2..4u32).prop_flat_map(tied),
    ) {
        // Were all of them on one CPU, each would have its share of that. Others elsewhere
        // and CPUs beside it can only add to it.
        let text = |(at, (share, cpu)): (usize, &(u32, Option<u32>))| {
            let cpus = cpu.map_or(String::new(), |cpu| format!(r#""cpus": [{cpu}], "#));
            format!(r#""t{at}": {{{cpus}"share": {share}, "run": 1000000}}"#)
        };
        let list: Vec<String> = tasks.iter().enumerate().map(text).collect();
        let load = format!(r#"{{"tasks": {{{}}}}}"#, list.join(", "));
        let all: u32 = tasks.iter().map(|(share, _)| share).sum();
        for policy in ["stride", "vtrr", "wfq", "wrr"] {
            let (outcome, tape) = Hosted::new(policy, &[], ideal(cpus, RUN_NS), &load).run();
            prop_assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}: {}", policy, outcome.exit);
            for (pid, (share, _)) in (1001..).zip(&tasks) {
                let due_ns = RUN_NS * u64::from(*share) / u64::from(all);
                // A cycle may have begun.
                let least_ns = due_ns.saturating_sub(10 * MS * u64::from(2 * all));
                let had_ns = tape.cpu_ns(pid, RUN_NS);
                prop_assert!(had_ns >= least_ns, "{policy}, {pid}: {had_ns} of {due_ns}: {load}");
            }
        }
    }
}
