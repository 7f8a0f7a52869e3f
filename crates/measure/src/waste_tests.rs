// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wasted idle time worked out by hand, and against all possible pairings.

use super::*;
use crate::fluid::Fluid;
use proptest::prelude::*;

/// A tie to these CPUs of a machine.
fn tie(fluid: &mut Fluid, waste: &mut Waste, cpus: &[u32]) -> Tie {
    let tie = fluid.tie(cpus.iter().copied());
    waste.learn(tie, fluid.mask(tie));
    tie
}

/// The example of docs/measures.md:
///
/// ```text
/// CPU 0: runs a task all the time
/// CPU 1: idle all the time          CPU 2: idle 0-30
/// a (may use CPU 0 only) waits 0-40; b (CPUs 0 and 1) waits 10-40; c (all) waits 20-40
/// ```
#[test]
fn pairs_worked_out_by_hand() {
    let (mut fluid, mut waste) = (Fluid::new(3), Waste::new(3));
    let (on_0, on_01) = (tie(&mut fluid, &mut waste, &[0]), tie(&mut fluid, &mut waste, &[0, 1]));
    let all = Tie::default();
    waste.set_idle(0, false, 0);
    assert_eq!(waste.begin_wait(on_0, 0), 0);
    assert_eq!(waste.begin_wait(on_01, 10), 0);
    assert_eq!(waste.begin_wait(all, 20), 0);
    waste.set_idle(2, false, 30);
    // a can use no idle CPU: 0. b can use CPU 1: 10-40. c can use CPU 1 or 2: 20-40.
    assert_eq!([on_0, on_01, all].map(|tie| waste.end_wait(tie, 40)), [0, 30, 20]);
    // 10-20: b with CPU 1. 20-30: b with CPU 1, c with CPU 2. 30-40: CPU 1 with b or c.
    // 10 + 20 + 10 = 40. CPU 1 is wasted 10-40, CPU 2 20-30.
    assert_eq!(waste.finish(50), (40, vec![0, 30, 10]));
}

#[test]
fn an_offline_cpu_is_not_idle() {
    let mut waste = Waste::new(2);
    waste.set_idle(0, false, 0);
    waste.begin_wait(Tie::default(), 0);
    waste.set_online(1, false, 10);
    waste.set_online(1, true, 30);
    // 0-10 and 30-35.
    assert_eq!(waste.finish(35), (15, vec![0, 15]));
}

#[test]
fn a_warm_up_is_left_out() {
    let mut waste = Waste::new(1);
    waste.begin_wait(Tie::default(), 0);
    waste.restart(10);
    assert_eq!(waste.finish(25), (15, vec![15]));
}

/// The most pairs, by trying all: each task takes one of its CPUs or none.
fn most_pairs(free: u32, masks: &[u32]) -> u32 {
    let Some((mask, others)) = masks.split_first() else { return 0 };
    let mut most = most_pairs(free, others);
    for cpu in (0..5).filter(|cpu| mask & free & (1 << cpu) != 0) {
        most = most.max(1 + most_pairs(free & !(1 << cpu), others));
    }
    most
}

proptest! {
    /// With any idle CPUs and any ties, it is the most that any pairing has.
    #[test]
    fn no_pairing_has_more(idle in 0..32u32, masks in proptest::collection::vec(1..32u32, 0..6)) {
        let (mut fluid, mut waste) = (Fluid::new(5), Waste::new(5));
        for cpu in (0..5).filter(|cpu| idle & (1 << cpu) == 0) {
            waste.set_idle(cpu, false, 0);
        }
        for mask in &masks {
            let cpus: Vec<u32> = (0..5).filter(|cpu| mask & (1 << cpu) != 0).collect();
            let tie = tie(&mut fluid, &mut waste, &cpus);
            waste.begin_wait(tie, 0);
        }
        let (wasted_ns, by_cpu) = waste.finish(10);
        prop_assert_eq!(wasted_ns, 10 * u64::from(most_pairs(idle, &masks)));
        prop_assert!(wasted_ns <= by_cpu.iter().sum());
    }
}
