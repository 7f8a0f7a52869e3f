// SPDX-License-Identifier: MIT OR Apache-2.0
//! Round robin and weighted round robin where the paper is silent: several CPUs, and clients
//! that were alone. Traced by hand, and by bounds for any. Times in traces are milliseconds.

use crate::common::hosted::{hogs, letters, Hosted};
use crate::common::ideal;
use crate::common::plan::cases;
use proptest::prelude::*;
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_machine::topology::Topology;

const MS: u64 = 1_000_000;

#[test]
fn rr_gives_everyone_as_many_turns_on_several_cpus() {
    // Slices of all CPUs end at the same ticks, and who is put back first is drawn. That must
    // not add up to more than 2 % in 5 s.
    for (cpus, tasks) in [(2, 3), (3, 4), (4, 5), (4, 6), (4, 7)] {
        for seed in 1..=12 {
            let mut config = Config::new(Topology::flat(cpus).unwrap(), 5_000 * MS);
            config.seed = seed;
            let (_, tape) = Hosted::new("rr", &[], config, &hogs(&vec![1; tasks])).run();
            let due = 5_000 * MS * u64::from(cpus) / tasks as u64;
            for pid in (1001..).take(tasks) {
                let error_ppm = tape.cpu_ns(pid, 5_000 * MS).abs_diff(due) * 1_000_000 / due;
                assert!(error_ppm <= 20_000, "{tasks} on {cpus}, seed {seed}: {error_ppm} ppm");
            }
        }
    }
}

#[test]
fn rr_puts_who_comes_behind_all_others() {
    // B and C have waited since the start, A since 10. D comes at 15, while B runs
    let load = r#"{"tasks": {
        "A": {"run": 1000000}, "B": {"run": 1000000}, "C": {"run": 1000000},
        "D": {"delay": 15000, "run": 1000000}}}"#;
    let (_, tape) = Hosted::new("rr", &[], ideal(1, 120 * MS), load).run();
    assert_eq!(letters(&tape), "ABCADBCADBCA");
}

#[test]
fn who_had_the_cpu_alone_takes_turns_like_all_when_others_come() {
    // A is alone for five turns of 10, B comes in the sixth, C in A's eighth
    let load = r#"{"tasks": {
        "A": {"share": 1, "run": 1000000},
        "B": {"share": 1, "delay": 55000, "run": 1000000},
        "C": {"share": 2, "delay": 95000, "run": 1000000}}}"#;
    let (_, tape) = Hosted::new("wrr", &[], ideal(1, 230 * MS), load).run();
    assert_eq!(letters(&tape), "AAAAAA".to_owned() + "BABAB" + "CCABCCABCCAB");
}

#[test]
fn a_client_that_is_due_a_whole_cpu_and_had_to_wait_then_keeps_one() {
    // Two CPUs; turns are A 100, B 50, C 50. Rounds 1 and 2: A 0-100, B 0-50, C 50-100;
    // B 100-150, C 150-200 and A 100-200, on the other CPU. At 200 the first CPU takes B,
    // who is the first in round 3, and the second C, the next one: A waits until 250. Its
    // turn of round 3 ends at 350, when B begins the one of round 5: A is late in round 4,
    // and has it at once on the CPU that asks next. From then on it is late whenever a
    // turn of its ends, and goes on.
    let (_, tape) = Hosted::new("wrr", &[], ideal(2, 10_000 * MS), &hogs(&[10, 5, 5])).run();
    let starts: Vec<(u64, u32)> =
        tape.starts(1001).into_iter().map(|(ns, cpu)| (ns / MS, cpu)).collect();
    assert_eq!(starts, [(0, 0), (100, 1), (250, 0), (350, 1)]);
    assert_eq!(tape.cpu_ns(1001, 10_000 * MS), 9_950 * MS);
}

#[test]
fn a_client_that_is_due_more_than_a_cpu_has_one_to_itself() {
    // A is due 10/12 of two CPUs: it has one, and B and C one half each of the other
    let mut hosted = Hosted::new("wrr", &[], ideal(2, 10_000 * MS), &hogs(&[10, 1, 1]));
    let (_, tape) = hosted.run();
    let used = [1001, 1002, 1003].map(|pid| tape.cpu_ns(pid, 10_000 * MS) / MS);
    assert_eq!(used, [10_000, 5_000, 5_000]);
    assert!(hosted.stat("missed") > 0);
}

/// What clients with these shares are due of so many CPUs, in ns: their proportion, but none
/// more than one CPU, what it leaves being divided likewise among the others.
fn due(shares: &[u64], cpus: u32, run_ns: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(shares[*at]));
    let (mut cpus, mut sum) = (u64::from(cpus), shares.iter().sum::<u64>());
    let mut due = vec![0; shares.len()];
    for at in order {
        let whole = shares[at] * cpus >= sum;
        due[at] = if whole { run_ns } else { run_ns * cpus * shares[at] / sum };
        if whole {
            cpus -= 1;
            sum -= shares[at];
        }
    }
    due
}

/// Several CPUs and more clients than CPUs. The largest is due a whole one, or a little less
/// or more, in every second case.
fn crowd() -> impl Strategy<Value = (u32, Vec<u64>)> {
    let sizes = (2..6u32).prop_flat_map(|cpus| (Just(cpus), cpus as usize + 1..3 * cpus as usize));
    sizes.prop_flat_map(|(cpus, clients)| {
        let shares = prop::collection::vec(1..20u64, clients);
        (Just(cpus), shares, prop::option::of(0..4u64)).prop_map(|(cpus, mut shares, whole)| {
            if let Some(over) = whole {
                let rest: u64 = shares[1..].iter().sum();
                shares[0] = (rest / u64::from(cpus - 1) + over).saturating_sub(2).max(1);
            }
            (cpus, shares)
        })
    })
}

proptest! {
    #![proptest_config(cases(40))]

    /// Every round that was missed would be a turn more, and there are 80 of them or so.
    #[test]
    fn nobody_is_more_than_two_turns_off_its_due((cpus, shares) in crowd()) {
        let quantum_ns = 4 * MS;
        let run_ns = 80 * shares.iter().sum::<u64>() * quantum_ns / u64::from(cpus);
        let real = Config::new(Topology::flat(cpus).unwrap(), run_ns);
        // Without ideal circumstances a turn can be a tick longer, and the tick's interrupts and
        // the idle time at the start are nobody's: less than a thousandth.
        for (config, more_ns) in [(ideal(cpus, run_ns), 0), (real, 4 * MS + run_ns / 1000)] {
            let set = [("quantum_ns", "4000000")];
            let (outcome, tape) = Hosted::new("wrr", &set, config, &hogs(&shares)).run();
            prop_assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
            for (at, due_ns) in due(&shares, cpus, run_ns).into_iter().enumerate() {
                let used_ns = tape.cpu_ns(1001 + at as u32, run_ns);
                let bound_ns = 2 * shares[at] * quantum_ns + more_ns;
                prop_assert!(
                    used_ns.abs_diff(due_ns) <= bound_ns,
                    "{:?} on {}: share {} had {} of {} ns",
                    shares, cpus, shares[at], used_ns, due_ns
                );
            }
        }
    }
}
