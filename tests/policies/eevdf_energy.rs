// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where `eevdf` wakes tasks up on CPUs whose power is known, by the rules of Linux 7.2
//! (find_energy_efficient_cpu() in kernel/sched/fair.c): places derived by hand, with ticks each 4 ms.

use crate::common::eevdf::{run_with, MS};
use crate::common::Tape;
use rota_machine::hardware::parts::{Clock, CoreType, Governor};
use rota_machine::hardware::Hardware;
use rota_workload::WorkClass;

/// What a CPU can do at a frequency, of 1024, and what each part of that costs in 0.1 uW.
type State = (u32, u32);

/// A quarter of the fastest one, and the fastest.
const SMALL: u32 = 256;
const BIG: u32 = 1024;

/// A kind of CPUs under schedutil, of one frequency: what it can do in MHz, too.
fn kind(states: &[State]) -> CoreType {
    let capacity = states.iter().map(|(performance, _)| *performance).max().expect("a state");
    let clock = Clock {
        idle_mhz: states[0].0,
        base_mhz: capacity,
        max_mhz: capacity,
        turbo: Vec::new(),
        opps_mhz: states.iter().map(|(performance, _)| *performance).collect(),
        domain_cores: 0,
        governor: Governor::Schedutil { transition_ns: 0 },
        power_uw: states.iter().map(|(performance, cost)| performance * cost / 10).collect(),
    };
    CoreType {
        name: format!("c{capacity}"),
        speed: capacity,
        capacity,
        rank: 0,
        l2_kib: 1024,
        smt: None,
        clock: Some(clock),
        idle: Vec::new(),
        poll_ns: 0,
    }
}

/// Two small CPUs and a big one, number 2.
fn run(small: &[State], big: &[State], set: &[(&str, &str)], tasks: &str, ms: u64) -> Tape {
    let hardware = Hardware {
        core_types: vec![kind(small), kind(big)],
        type_of_cpu: vec![0, 0, 1],
        cache: None,
        ipi: None,
        work: (WorkClass::Mixed, 0),
        timer_slack_ns: 0,
    };
    let set = [&[("no_balance_fork", "true"), ("no_sis_util", "true")], set].concat();
    run_with(hardware, &set, &format!(r#"{{"tasks": {{{tasks}}}}}"#), ms)
}

/// A task that works so many us in each 10 ms, for 300 ms on the big CPU, and then on any.
fn light(us: u64) -> String {
    let turn = format!(r#""run": {us}, "sleep": {}"#, 10_000 - us);
    format!(
        r#""light": {{"loop": 1, "phases": {{
            "tied": {{"cpus": [2], "loop": 30, {turn}}}, "free": {{"cpus": [0, 1, 2], "loop": 10, {turn}}}}}}}"#
    )
}

/// The CPU where it woke up first once it was free: at 300 ms it only learns that it is.
fn first_free(tape: &Tape) -> u32 {
    let starts = tape.starts(tape.pid("light-0"));
    let free = starts.iter().find(|(ns, _)| *ns > 305 * MS);
    free.map_or_else(|| panic!("it never woke up: {starts:?}"), |(_, cpu)| *cpu)
}

#[test]
fn a_light_task_wakes_up_where_it_takes_least_energy() {
    let place = |small, big, set: &[_]| {
        first_free(&run(&[(SMALL, small)], &[(BIG, big)], set, &light(1000), 400))
    };
    assert_eq!(place(100, 200, &[]), 0);
    assert_eq!(place(200, 100, &[]), 2);
    // As much on both: it stays.
    assert_eq!(place(100, 100, &[]), 2);
    // Its last CPU is idle, and large enough. (select_idle_sibling)
    assert_eq!(place(100, 200, &[("no_energy_aware", "true")]), 2);
}

#[test]
fn a_task_goes_to_no_cpu_that_it_does_not_fit() {
    // 2.5 ms of 10: at the end of its work it uses 1024 (1 - y^2.5) / (1 - y^10) = 276 of 1024, for y =
    // 2^(-1 / 32.77); 0.8 x 256 = 205. (fits_capacity)
    let tape = run(&[(SMALL, 1)], &[(BIG, 1000)], &[], &light(2500), 400);
    assert_eq!(first_free(&tape), 2);
}

#[test]
fn a_higher_frequency_than_is_worth_it_is_avoided() {
    // Small CPUs cost 100 up to 128 and 1000 above, the big one 500. At the end of its work a task uses
    // 1024 (1 - y^t) / (1 - y^10): 90 for t = 0.8 ms, which asks for 1.25 x 90 = 113, and 134 for 1.2
    // ms, which asks for 168. Both fit 205. (sugov_effective_cpu_perf, em_cpu_energy)
    let place =
        |us| first_free(&run(&[(128, 100), (SMALL, 1000)], &[(BIG, 500)], &[], &light(us), 400));
    assert_eq!(place(800), 0);
    assert_eq!(place(1200), 2);
}

#[test]
fn of_the_cpus_of_a_domain_the_one_with_most_to_spare_is_taken() {
    for (busy, free) in [(0, 1), (1, 0)] {
        let other = format!(r#""other": {{"cpus": [{busy}], "run": 200, "sleep": 9800}}"#);
        let tasks = format!("{}, {other}", light(1000));
        let tape = run(&[(SMALL, 100)], &[(BIG, 200)], &[], &tasks, 400);
        assert_eq!(first_free(&tape), free);
    }
}

#[test]
fn energy_does_not_count_once_a_cpu_has_more_to_do_than_it_can() {
    // A hog on CPU 1 outgrows 0.8 x 256 after 42 ms. (cpu_overutilized)
    let hog = r#""hog": {"cpus": [1], "run": 1000000}"#;
    let tape = run(&[(SMALL, 100)], &[(BIG, 200)], &[], &format!("{}, {hog}", light(1000)), 400);
    assert_eq!(first_free(&tape), 2);
}

#[test]
fn a_task_that_asks_for_more_than_a_small_cpu_has_goes_to_the_big_one_whatever_that_takes() {
    for (least, cpu) in [(SMALL, 0), (SMALL + 1, 2)] {
        let asks = light(1000).replacen('{', &format!(r#"{{"util_min": {least}, "#), 1);
        let tape = run(&[(SMALL, 100)], &[(BIG, 200)], &[], &asks, 400);
        assert_eq!(first_free(&tape), cpu, "{least}");
    }
}

#[test]
fn a_frequency_that_a_clamp_forbids_costs_nothing() {
    // As above, 1.2 ms asks for 168 of a small CPU, which is dear, so that the big one is taken; but
    // not if the task may have 128 only. (eenv_pd_max_util)
    for (most, cpu) in [(128, 0), (129, 2)] {
        let asks = light(1200).replacen('{', &format!(r#"{{"util_max": {most}, "#), 1);
        let tape = run(&[(128, 100), (SMALL, 1000)], &[(BIG, 500)], &[], &asks, 400);
        assert_eq!(first_free(&tape), cpu, "{most}");
    }
}

#[test]
fn a_hog_that_may_not_have_more_than_its_cpu_has_leaves_energy_aware_scheduling_on() {
    // Otherwise as the hog above, on the other small CPU. (cpu_overutilized)
    let hog = r#""hog": {"cpus": [1], "run": 1000000, "util_max": 200}"#;
    let tape = run(&[(SMALL, 100)], &[(BIG, 200)], &[], &format!("{}, {hog}", light(1000)), 400);
    assert_eq!(first_free(&tape), 0);
}
