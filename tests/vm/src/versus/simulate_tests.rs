// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the simulated side.

use super::*;
use crate::versus::case;
use crate::versus::kept::Kept;
use crate::versus::tolerance::Tolerances;
use std::path::Path;

/// Ticks and starts that take hardly any time, as much as in the emulated machine, and more: in ns.
const BESIDES: [(u64, u64); 3] = [(1_000, 1), (15_000, 50_000), (40_000, 100_000)];

/// How many kernels with other interruptions are tried; the first has none.
const KERNELS: u64 = 20;
/// 250 times a second.
const TICK_NS: u64 = 4_000_000;

/// The policies that kernels were recorded under.
fn policies() -> Vec<&'static str> {
    let all: Vec<&str> = rota_catalog::policies().iter().map(|p| p.name).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("versus/recordings.jsonl");
    Kept::read(&file).unwrap().policies(&all)
}

fn cases() -> Vec<Case> {
    let policies = policies();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("versus");
    case::read(&folder.join("cases.toml"), &policies).unwrap()
}

#[test]
fn what_is_known_not_to_agree_is_compared() {
    let policies = policies();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("versus");
    for (cases, tolerances, names) in [
        ("cases.toml", "tolerance.toml", &policies[..]),
        ("fair-cases.toml", "fair-tolerance.toml", &policies),
        ("program-cases.toml", "program-tolerance.toml", &programs::NAMES),
    ] {
        let cases = case::read(&folder.join(cases), names).unwrap();
        let tolerances = Tolerances::read(&folder.join(tolerances)).unwrap();
        assert_eq!(tolerances.stranger(&cases), None);
    }
}

fn run(case: &Case, beside: &Beside) -> Host {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("versus");
    let path = folder.join(format!("{}.json", case.workload));
    simulate(case, &std::fs::read_to_string(path).unwrap(), beside, None).unwrap()
}

/// Kernel threads at 20 ticks of a case, for 10 to 50 us: more than any kernel had. Which ticks:
/// a linear congruential generator's choice.
fn busy_kernel(case: &Case, seed: u64) -> Vec<Interruption> {
    let mut state = seed;
    let mut draw = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let ticks = case.duration_ns / TICK_NS;
    let mut at: Vec<(u64, u64)> =
        (0..20).map(|_| ((1 + draw(ticks - 1)) * TICK_NS, 10_000 + draw(40_000))).collect();
    at.sort_unstable();
    at.dedup_by_key(|(at_ns, _)| *at_ns);
    at.into_iter().map(|(at_ns, for_ns)| Interruption { cpu: 0, at_ns, for_ns }).collect()
}

#[test]
fn picks_are_compared_under_every_policy_that_was_recorded() {
    let cases = cases();
    assert!(policies().len() >= 18);
    for policy in policies() {
        let compared = |case: &&Case| case.policy == policy && case.picks.is_some_and(|n| n >= 500);
        assert!(cases.iter().any(|case| compared(&case)), "{policy}");
    }
}

/// These decide anew after each interruption, so that when one comes is a decision of its own, which
/// may be a near one; the others go on with the turn that it cut.
const DECIDE_ANEW: [&str; 5] = ["cfs", "eevdf", "pfs", "rbpe", "tfps"];

#[test]
fn no_pick_that_is_compared_is_near_a_tie() {
    for case in cases().iter().filter(|case| case.picks.is_some()) {
        let kernels = if DECIDE_ANEW.contains(&case.policy.as_str()) { 1 } else { KERNELS };
        for seed in 0..kernels {
            let picks = |(tick_ns, for_ns)| {
                let mut interruptions = vec![Interruption { cpu: 0, at_ns: 0, for_ns }];
                if seed > 0 {
                    interruptions.extend(busy_kernel(case, seed));
                }
                run(case, &Beside { tick_ns, interruptions, ..Beside::default() }).picks
            };
            let [first, rest @ ..] = BESIDES.map(picks);
            for other in rest {
                let same = first[0].iter().zip(&other[0]).take_while(|(a, b)| a == b).count();
                let all = first[0].len();
                assert!(same + 3 > all, "{} beside kernel {seed}: {same} of {all}", case.name());
            }
        }
    }
}

#[test]
fn an_interruption_takes_its_time_from_the_task() {
    let case = cases().into_iter().find(|case| case.name() == "hogs/fifo/1");
    let case = Case { duration_ns: 1_000_000_000, ..case.expect("is compared") };
    let interruption = Interruption { cpu: 0, at_ns: 100_000_000, for_ns: 250_000_000 };
    let beside = Beside { interruptions: vec![interruption], ..Beside::default() };
    let host = run(&case, &beside);
    // fifo: the first task has the CPU to the end, and goes on with its slice.
    assert!((host.numbers.share("one-0") - 0.75).abs() < 1e-9, "{:?}", host.numbers);
    assert_eq!(host.picks, [[0]]);
}

#[test]
fn groups_of_weights_ten_to_one_share_ten_to_one_in_both_hosts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("versus");
    let kept = Kept::read(&folder.join("recordings.jsonl")).unwrap();
    let cases = case::read(&folder.join("fair-cases.toml"), &policies()).unwrap();
    let text = std::fs::read_to_string(folder.join("groups-ten.json")).unwrap();
    let mut cpus = Vec::new();
    // Between domains groups move seldom, so five seconds of the kernel's own are up to 12 % off.
    let alike = |case: &&Case| case.workload == "groups-ten" && case.topology.is_empty();
    for case in cases.iter().filter(alike) {
        cpus.push(case.cpus);
        // The first rounds, in which loads are not known yet, count for less than in 5 s.
        let longer = Case { duration_ns: 20_000_000_000, ..case.clone() };
        for (nr, (kernel, beside)) in kept.of(case, &text).unwrap().iter().enumerate() {
            let simulated = (nr == 0).then(|| simulate(&longer, &text, beside, None).unwrap());
            for host in simulated.iter().chain([kernel]) {
                let [heavy, light] = ["game", "bench"].map(|kind| host.numbers.share_of_kind(kind));
                let off = (heavy / light / 10.0 - 1.0).abs();
                assert!(off < 0.03, "{}, timing {nr}: {heavy} and {light}", case.name());
            }
        }
    }
    assert_eq!(cpus, [2, 4]);
}
