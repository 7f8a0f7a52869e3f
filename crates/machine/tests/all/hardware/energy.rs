// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy that busy CPUs take.

use super::{core_type, on, siblings, MS};
use crate::common::{run, shared_fifo, Tape};
use rota_machine::hardware::parts::{Clock, CoreType, Governor};
use rota_machine::hardware::Hardware;
use rota_trace::EventKind;

/// A clock that always has the only frequency that it has, at this power.
fn fixed(mhz: u32, power_uw: u32) -> Clock {
    Clock {
        idle_mhz: mhz,
        base_mhz: mhz,
        max_mhz: mhz,
        turbo: Vec::new(),
        opps_mhz: vec![mhz],
        domain_cores: 1,
        governor: Governor::Performance,
        power_uw: vec![power_uw],
    }
}

/// All energy of a run, in nanojoules.
fn energy_nj(tape: &Tape) -> u64 {
    let of = |kind: &EventKind| match kind {
        EventKind::Work { energy_nj, .. } => energy_nj.expect("all CPUs have power"),
        _ => 0,
    };
    tape.0.iter().map(|event| of(&event.kind)).sum()
}

/// CPUs of these speeds and powers, each of a kind of its own.
fn powered(cpus: &[(u32, u32)]) -> Hardware {
    let kind = |&(speed, power_uw): &(u32, u32)| CoreType {
        clock: Some(fixed(speed, power_uw)),
        ..core_type(speed)
    };
    Hardware {
        core_types: cpus.iter().map(kind).collect(),
        type_of_cpu: (0..cpus.len()).collect(),
        ..super::cores(&[])
    }
}

#[test]
fn the_placements_of_the_kernels_example_take_the_energy_that_it_says() {
    // Documentation/scheduler/sched-energy.rst: little CPUs 0 and 1 have 150 units of power at
    // capacity 341 and 300 at 512, big CPUs 2 and 3 have 800 at 768. Tasks use 200 or 100 (little
    // CPUs) and 600 and 500 (big CPUs); the task P uses 200. Energy of a CPU: utilization / capacity
    // * power. Case 1, P on CPU 1: 200/341*150 + 300/341*150 + 600/768*800 + 500/768*800 = 1364.
    // Case 2, P on CPU 3: 88 + 100/341*150 + 625 + 700/768*800 = 1485. Case 3, P stays on CPU 0:
    // 400/512*300 + 100/512*300 + 625 + 520 = 1437. With 1 unit = 1 mW that is the mean power.
    let case = |little: (u32, u32), used: [u32; 4]| {
        let cpus = [little, little, (768, 800_000), (768, 800_000)];
        let task = |(cpu, used): (usize, &u32)| {
            // every 10.24 ms so many 1/1024 of that, as work of the fastest CPU
            let run_us = used * 10;
            format!(
                r#""t{cpu}": {{"cpus": [{cpu}], "loop": 100, "run": {run_us},
                    "timer": {{"ref": "t{cpu}", "period": 10240, "mode": "absolute"}}}}"#
            )
        };
        let tasks: Vec<String> = used.iter().enumerate().map(task).collect();
        let load = format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(","));
        let (_, tape) = run(on(powered(&cpus), "", 1024 * MS), &load, &mut shared_fifo());
        // mean power, in mW: nJ of 1024 ms
        energy_nj(&tape) / 1024 / 1000
    };
    let cases = [
        case((341, 150_000), [200, 300, 600, 500]),
        case((341, 150_000), [200, 100, 600, 700]),
        case((512, 300_000), [400, 100, 600, 500]),
    ];
    // without the rounding of each summand: 87.98 + 131.96 + 625 + 520.83, 87.98 + 43.99 + 625 +
    // 729.17, 234.38 + 58.59 + 625 + 520.83
    assert_eq!(cases, [1365, 1486, 1438]);
}

#[test]
fn siblings_that_are_both_busy_share_the_power_of_their_core() {
    // alone 10 ms at 2 W: 20 mJ; two on a core: each 16 ms at 1 W
    let mut hardware = siblings(2);
    hardware.core_types[0].clock = Some(fixed(1000, 2_000_000));
    for (tasks, expected_nj) in [(1, 20_000_000), (2, 2 * 16_000_000)] {
        let load =
            format!(r#"{{"tasks": {{"a": {{"instance": {tasks}, "loop": 1, "run": 10000}}}}}}"#);
        let (_, tape) = run(on(hardware.clone(), "smt=2", 50 * MS), &load, &mut shared_fifo());
        assert_eq!(energy_nj(&tape), expected_nj, "{tasks}");
    }
}

#[test]
fn power_follows_the_frequency_while_it_rises() {
    // 1000 to 4000 MHz in eight steps of a millisecond: 8 ms at 2.3125 GHz on average, 5.375 ms
    // more at 4 GHz; without operating points 1 W at 4 GHz: 8 * 0.578125 + 5.375 = 10 mJ, as much
    // as the 10 ms of work take at 4 GHz
    let clock = Clock {
        idle_mhz: 1000,
        base_mhz: 2000,
        opps_mhz: Vec::new(),
        governor: Governor::Hardware { ramp_ns: 8 * MS, cool_ns: 5 * MS },
        ..fixed(4000, 1_000_000)
    };
    let mut hardware = powered(&[(1024, 0)]);
    hardware.core_types[0].clock = Some(clock);
    let load = r#"{"tasks": {"a": {"loop": 1, "run": 10000}}}"#;
    let (_, tape) = run(on(hardware, "", 50 * MS), load, &mut shared_fifo());
    assert_eq!(energy_nj(&tape), 10_000_000);
}

#[test]
fn what_was_done_before_the_end_of_the_warm_up_is_told_then() {
    // a hog at 1 W: 20 ms of warm-up, 30 ms that are measured
    let mut config = on(powered(&[(1024, 1_000_000)]), "", 50 * MS);
    config.warmup_ns = 20 * MS;
    let load = r#"{"tasks": {"a": {"run": 100000}}}"#;
    let (_, tape) = run(config, load, &mut shared_fifo());
    let told = tape.0.iter().filter_map(|event| match event.kind {
        EventKind::Work { done, energy_nj, .. } => Some((event.time_ns, done, energy_nj)),
        _ => None,
    });
    let (before_ns, after_ns) = (20 * MS, 30 * MS);
    let expected = [
        (before_ns, before_ns * 1024, Some(before_ns)),
        (50 * MS, after_ns * 1024, Some(after_ns)),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}
