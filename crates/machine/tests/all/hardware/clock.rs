// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frequencies: turbo, governors, and what the kernel says of them.

use super::{cores, end_ns, on, MS};
use crate::common::{run, shared_fifo, Native};
use rota_machine::config::Config;
use rota_machine::hardware::parts::{Clock, Governor};
use rota_machine::hardware::Hardware;
use rota_machine::ops::Op;

fn clock(governor: Governor) -> Clock {
    Clock {
        idle_mhz: 1000,
        base_mhz: 2000,
        max_mhz: 4000,
        turbo: Vec::new(),
        opps_mhz: Vec::new(),
        domain_cores: 1,
        governor,
        power_uw: Vec::new(),
    }
}

/// Cores of one kind.
fn clocked(cpus: usize, clock: Clock) -> Hardware {
    let mut hardware = cores(&[1024]);
    hardware.core_types[0].clock = Some(clock);
    hardware.type_of_cpu = vec![0; cpus];
    hardware
}

#[test]
fn turbo_falls_with_each_core_that_is_active() {
    // alone at 4000 MHz; two at 3000, 3/4 of it: 10 ms take 13.33 ms
    let turbo = vec![(1, 4000), (2, 3000)];
    let clock = || Clock { turbo: turbo.clone(), ..clock(Governor::Performance) };
    for (tasks, expected_ns) in [(1, 10 * MS), (2, 13_333_334)] {
        let load =
            format!(r#"{{"tasks": {{"a": {{"instance": {tasks}, "loop": 1, "run": 10000}}}}}}"#);
        let (_, tape) = run(on(clocked(2, clock()), "", 50 * MS), &load, &mut shared_fifo());
        assert_eq!(end_ns(&tape, 1001), expected_ns, "{tasks}");
    }
}

#[test]
fn siblings_are_one_active_core() {
    let clock = Clock { turbo: vec![(1, 4000), (2, 1000)], ..clock(Governor::Performance) };
    let load = r#"{"tasks": {"a": {"instance": 2, "loop": 1, "run": 10000}}}"#;
    let (_, tape) = run(on(clocked(2, clock), "smt=2", 50 * MS), load, &mut shared_fifo());
    assert_eq!(end_ns(&tape, 1001), 10 * MS);
}

#[test]
fn hardware_takes_its_time_from_idle_to_full_frequency() {
    // 1000 to 4000 MHz in eight steps over 8 ms: speeds 256, 352, 448 … 928, a millisecond each, then
    // 1024. In 8 ms that is (256 + 928) / 2 / 1024 * 8 = 4.625 of 10 ms of work.
    let governor = Governor::Hardware { ramp_ns: 8 * MS, cool_ns: 5 * MS };
    let load = r#"{"tasks": {"a": {"loop": 1, "run": 10000}}}"#;
    let (_, tape) = run(on(clocked(1, clock(governor)), "", 50 * MS), load, &mut shared_fifo());
    assert_eq!(end_ns(&tape, 1001), 8 * MS + 5_375_000);
}

#[test]
fn a_core_stays_fast_for_a_while_and_then_begins_anew() {
    // warm after 20 ms; 4 ms of sleep later still, 6 ms later not: then a millisecond each at 256 and
    // 352 of 1024, and what is left of 1 ms, 0.40625, at 448
    let governor = Governor::Hardware { ramp_ns: 8 * MS, cool_ns: 5 * MS };
    for (sleep_us, expected_ns) in [(4_000, MS), (6_000, 2 * MS + 928_572)] {
        let load = format!(
            r#"{{"tasks": {{"a": {{"loop": 1, "run": 20000, "sleep": {sleep_us}, "run1": 1000}}}}}}"#
        );
        let (_, tape) =
            run(on(clocked(1, clock(governor)), "", 90 * MS), &load, &mut shared_fifo());
        let began = tape.starts(1001).last().unwrap().0;
        assert_eq!(end_ns(&tape, 1001) - began, expected_ns, "{sleep_us}");
    }
}

#[test]
fn a_scheduler_that_asks_for_less_gets_less_after_the_transition() {
    // 1.25 * 512/1024 of 4000 MHz: 2500, the next is 3000. From 500 us on, so that 9.5 ms of work are
    // left at 3/4: 12,666,667 ns
    let governor = Governor::Schedutil { transition_ns: 500_000 };
    let clock = Clock { opps_mhz: vec![1000, 2000, 3000, 4000], ..clock(governor) };
    let mut asks = Native::new("asks", &[Op::Running], |_, system, op, _| {
        if op == Op::Running {
            system.native_cpuperf_set(0, 512);
        }
        Ok(0)
    });
    let load = r#"{"tasks": {"a": {"loop": 1, "run": 10000}}}"#;
    let (_, tape) = run(on(clocked(1, clock.clone()), "", 50 * MS), load, &mut asks);
    assert_eq!(end_ns(&tape, 1001), 500_000 + 12_666_667);
    // who asks for nothing has all (`SCX_CPUPERF_ONE`)
    let (_, tape) = run(on(clocked(1, clock), "", 50 * MS), load, &mut shared_fifo());
    assert_eq!(end_ns(&tape, 1001), 10 * MS);
}

#[test]
fn what_a_scheduler_asks_for_is_in_the_unit_of_capacities() {
    // 256 of a CPU of 512: 1.25 * 256/512 of 4000 MHz, so 5/8 of its speed. (get_next_freq)
    let clock = clock(Governor::Schedutil { transition_ns: 0 });
    let mut hardware = clocked(1, clock);
    hardware.core_types[0].capacity = 512;
    let mut asks = Native::new("asks", &[Op::Running], |_, system, op, _| {
        if op == Op::Running {
            system.native_cpuperf_set(0, 256);
        }
        Ok(0)
    });
    let load = r#"{"tasks": {"a": {"loop": 1, "run": 10000}}}"#;
    let (_, tape) = run(on(hardware, "", 50 * MS), load, &mut asks);
    assert_eq!(end_ns(&tape, 1001), 16 * MS);
}

/// CPUs of 1000 to 4000 MHz under schedutil, which takes half a millisecond.
fn governed(cpus: usize) -> Hardware {
    clocked(cpus, clock(Governor::Schedutil { transition_ns: 500_000 }))
}

/// A scheduler that asks so much of CPU 0 whenever a task of its begins to run.
fn asking(performance: u64) -> Native {
    let mut asks = Native::new("asks", &[Op::Running], |me, system, op, _| {
        if op == Op::Running {
            system.native_cpuperf_set(0, me.count as u32);
        }
        Ok(0)
    });
    asks.count = performance;
    asks
}

/// When the first task, or the one that starts later, ends on one such CPU.
fn end_if_asked_for(performance: u64, tasks: &str) -> u64 {
    let load = format!(r#"{{"tasks": {{{tasks}}}}}"#);
    let (_, tape) = run(on(governed(1), "", 50 * MS), &load, &mut asking(performance));
    end_ns(&tape, if tasks.contains("delay") { 1002 } else { 1001 })
}

#[test]
fn a_task_has_at_least_the_performance_that_it_asks_for() {
    // 512/1024 of 4000 MHz, without the margin: 500 us at full speed, 9.5 ms of work at half of it.
    // (sugov_effective_cpu_perf)
    let asks = r#""a": {"loop": 1, "run": 10000, "util_min": 512}"#;
    assert_eq!(end_if_asked_for(0, asks), 500_000 + 19 * MS);
    // nothing is asked for: 1000 MHz
    let silent = r#""a": {"loop": 1, "run": 10000}"#;
    assert_eq!(end_if_asked_for(0, silent), 500_000 + 38 * MS);
}

#[test]
fn a_task_has_at_most_the_performance_that_it_asks_for_unless_another_asks_for_more() {
    // 500 us at full speed, 9.5 ms of work at 1000 MHz
    let asks = r#""a": {"loop": 1, "run": 10000, "util_max": 256}"#;
    assert_eq!(end_if_asked_for(1024, asks), 500_000 + 38 * MS);
    let both = format!(r#"{asks}, "b": {{"loop": 1, "run": 1000}}"#);
    // the greatest upper clamp of all that are runnable counts: full speed until b ends at 11 ms
    assert_eq!(end_if_asked_for(1024, &both), 10 * MS);
}

#[test]
fn real_time_tasks_have_full_speed_unless_they_ask_for_less() {
    // b asks for nothing at 0, so that a begins at 1000 MHz: 125 us of its work in 500 us
    let (b, begins) = (r#""b": {"loop": 1, "run": 100}"#, r#""a": {"delay": 5000, "loop": 1"#);
    let rt = format!(r#"{begins}, "run": 10000, "policy": "SCHED_FIFO"}}, {b}"#);
    assert_eq!(end_if_asked_for(0, &rt), 5_500_000 + 9_875_000);
    // at 2000 MHz
    let rt = format!(r#"{begins}, "run": 10000, "policy": "SCHED_RR", "util_min": 512}}, {b}"#);
    assert_eq!(end_if_asked_for(0, &rt), 5_500_000 + 2 * 9_875_000);
}

#[test]
fn a_real_time_task_that_changes_its_clamps_as_it_runs_has_another_frequency() {
    // From 1000 MHz at 5 ms: 125 us of work in 500 us, 4.875 ms at half speed; then 250 us in 500 us, and
    // 4.75 ms at full speed.
    let rt = r#""a": {"delay": 5000, "loop": 1, "policy": "SCHED_FIFO", "phases": {
        "half": {"util_min": 512, "run": 5000}, "all": {"util_min": 1024, "run": 5000}}}"#;
    let b = r#""b": {"loop": 1, "run": 100}"#;
    let half_ns = 5_500_000 + 2 * 4_875_000;
    assert_eq!(end_if_asked_for(0, &format!("{rt}, {b}")), half_ns + 500_000 + 4_750_000);
}

#[test]
fn a_real_time_task_that_is_changed_while_it_sleeps_clamps_nothing() {
    // a asks for full speed and sleeps from 5 ms on; c has what is asked for, 1000 MHz
    let load = r#"{"tasks": {
        "a": {"delay": 5000, "loop": 1, "policy": "SCHED_FIFO", "util_min": 1024, "cpus": [0],
              "run": 100, "sleep": 40000},
        "b": {"loop": 1, "cpus": [0], "run": 100},
        "c": {"delay": 20000, "loop": 1, "cpus": [0], "run": 1000}},
        "events": [{"at": 10000, "task": "a", "cpus": [0, 1]}]}"#;
    let (_, tape) = run(on(governed(2), "", 50 * MS), load, &mut asking(0));
    assert_eq!(end_ns(&tape, 1003), 20 * MS + 4 * MS);
}

#[test]
fn a_real_time_task_that_another_cpu_pulls_takes_its_clamps_along() {
    // high takes CPU 0 from low at 5 ms, and CPU 1 pulls low as mid ends; c has what is asked for, 1000 MHz
    // (deactivate_task() and activate_task() of move_queued_task_locked())
    let load = r#"{"tasks": {
        "low": {"loop": 1, "policy": "SCHED_FIFO", "priority": 10, "util_min": 1024, "run": 50000},
        "mid": {"loop": 1, "policy": "SCHED_FIFO", "priority": 20, "cpus": [1], "run": 8000},
        "high": {"delay": 5000, "loop": 1, "policy": "SCHED_FIFO", "priority": 50, "cpus": [0],
                 "run": 10000},
        "b": {"delay": 20000, "loop": 1, "cpus": [0], "run": 100},
        "c": {"delay": 30000, "loop": 1, "cpus": [0], "run": 1000}}}"#;
    let config = Config { audit: true, ..on(governed(2), "", 50 * MS) };
    let (_, tape) = run(config, load, &mut asking(0));
    assert_eq!(tape.starts(1001).last().map(|start| start.1), Some(1), "it was pulled");
    // Some of what high used counts yet: 4 ms without that, and 1 ms with the clamps of low.
    let took_ns = end_ns(&tape, tape.pid("c-4")) - 30 * MS;
    assert!((3_800_000..=4_000_000).contains(&took_ns), "{took_ns}");
}

#[test]
fn tasks_with_a_reservation_have_what_they_reserved_at_least() {
    // half of the CPU: 2000 MHz (cpu_bw_dl)
    let b = r#""b": {"loop": 1, "run": 100}"#;
    let reserves = r#""policy": "SCHED_DEADLINE", "dl-runtime": 40000, "dl-period": 80000"#;
    let dl = format!(r#""a": {{"delay": 5000, "loop": 1, "run": 10000, {reserves}}}, {b}"#);
    assert_eq!(end_if_asked_for(0, &dl), 5_500_000 + 2 * 9_875_000);
}

#[test]
fn the_kernel_says_capacities_that_need_not_be_true() {
    // x86 hybrids with SMT say the same of all CPUs
    let mut hardware = cores(&[1024, 624]);
    hardware.core_types[1].capacity = 700;
    let mut reads = Native::new("reads", &[Op::Init], |me, system, _, _| {
        me.log = (0..2).map(|cpu| system.native_cpuperf_cap(cpu).to_string()).collect();
        Ok(0)
    });
    let load = r#"{"tasks": {"a": {"loop": 1, "run": 100}}}"#;
    run(on(hardware, "", MS), load, &mut reads);
    assert_eq!(reads.log, ["1024", "700"]);
}
