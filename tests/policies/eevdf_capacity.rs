// SPDX-License-Identifier: MIT OR Apache-2.0
//! `eevdf` on CPUs of unequal capacity, by the rules of Linux 7.2 (kernel/sched/fair.c): times derived
//! by hand, with ticks each 4 ms. Averages have a half-life of 32 periods of 1.024 ms.

use crate::common::eevdf::{run_with, MS};
use crate::common::Tape;
use rota_machine::hardware::parts::{Clock, CoreType, Governor};
use rota_machine::hardware::Hardware;
use rota_trace::EventKind;
use rota_workload::WorkClass;

/// CPUs with these speeds, of which the kernel says the same; the last one with this clock.
fn cpus(speeds: &[u32], clock: Option<Clock>) -> Hardware {
    let core = |(at, speed): (usize, &u32)| CoreType {
        name: format!("c{at}"),
        speed: *speed,
        capacity: *speed,
        rank: 0,
        l2_kib: 1024,
        smt: None,
        clock: clock.clone().filter(|_| at + 1 == speeds.len()),
        idle: Vec::new(),
        poll_ns: 0,
    };
    Hardware {
        core_types: speeds.iter().enumerate().map(core).collect(),
        type_of_cpu: (0..speeds.len()).collect(),
        cache: None,
        ipi: None,
        work: (WorkClass::Mixed, 0),
        timer_slack_ns: 0,
    }
}

/// Tasks that begin their lives as tasks that slept for long: nothing is known of them.
fn run(hardware: Hardware, tasks: &str, ms: u64) -> Tape {
    let load = format!(r#"{{"tasks": {{{tasks}}}}}"#);
    // A wakeup looks at all CPUs.
    run_with(hardware, &[("no_balance_fork", "true"), ("no_sis_util", "true")], &load, ms)
}

/// A task on the slow CPU for 1 ms of work, and then on any of three.
const HEAVY: &str = r#""heavy": {"loop": 1, "phases": {
    "tied": {"cpus": [0], "run": 1000}, "free": {"cpus": [0, 1, 2], "run": 99000}}}"#;

#[test]
fn a_task_that_outgrows_its_cpu_moves_to_the_largest_idle_one() {
    // CPU 0 has a quarter of the full capacity, and its clock for averages runs at a quarter. The
    // task fits while it uses less than 0.8 x 256 = 204.8. From nothing, 1024 - 1024 x 2^(-t / 4 /
    // 32.77) is that after t = 42.2 ms; the next tick is at 44. (fits_capacity, update_misfit_status)
    let tape = run(cpus(&[256, 300, 1024], None), HEAVY, 200);
    let starts = tape.starts(tape.pid("heavy-0"));
    assert_eq!(starts, [(0, 0), (44 * MS, 2)]);
    // It did 11 ms of work in 44 ms, and the other 89 at full speed.
    assert_eq!(tape.spans("heavy-0"), [(0, 133_000)]);
}

#[test]
fn a_task_that_fits_nowhere_better_stays() {
    // Not 1.05 times as capable. (capacity_greater)
    let tape = run(cpus(&[256, 256, 260], None), HEAVY, 200);
    assert_eq!(tape.starts(tape.pid("heavy-0")), [(0, 0)]);
}

#[test]
fn a_light_task_stays_on_a_small_cpu() {
    // 1 ms of 10, so in the end less than 0.14 x 1024: fits 0.8 x 256.
    let light = r#""light": {"cpus": [0, 1], "run": 250, "sleep": 9000}"#;
    let tape = run(cpus(&[256, 1024], None), light, 500);
    assert!(tape.starts(tape.pid("light-0")).iter().all(|(_, cpu)| *cpu == 0));
}

#[test]
fn a_task_that_wakes_up_goes_where_it_fits() {
    // It needs more than CPU 0 has when it sleeps, and CPU 1 has less than it needs, too.
    // (asym_fits_cpu, select_idle_capacity)
    let periodic = r#""t": {"loop": 1, "phases": {
        "tied": {"cpus": [0], "run": 15000},
        "free": {"cpus": [0, 1, 2], "sleep": 1000, "run": 5000}}}"#;
    let tape = run(cpus(&[256, 300, 1024], None), periodic, 100);
    // 1024 - 1024 x 2^(-60 / 4 / 32.77) = 278 after 60 ms; 0.8 x 300 = 240.
    assert_eq!(tape.starts(tape.pid("t-0")), [(0, 0), (61 * MS, 2)]);
}

/// A task that wakes up on CPU 0 first, and uses next to nothing.
fn light(clamps: &str) -> String {
    format!(
        r#""t": {{{clamps}, "loop": 1, "phases": {{
        "tied": {{"cpus": [0], "run": 100}},
        "free": {{"cpus": [0, 1, 2], "sleep": 9000, "run": 100}}}}}}"#
    )
}

#[test]
fn a_light_task_wakes_up_where_it_has_the_performance_that_it_asks_for() {
    // (util_fits_cpu, select_idle_capacity)
    for (clamps, cpu) in [
        (r#""util_min": 0"#, 0),
        (r#""util_min": 256"#, 0),
        (r#""util_min": 257"#, 1),
        (r#""util_min": 301"#, 2),
        // the least counts up to the most only
        (r#""util_min": 250, "util_max": 250"#, 0),
    ] {
        let tape = run(cpus(&[256, 300, 1024], None), &light(clamps), 100);
        let starts = tape.starts(tape.pid("t-0"));
        assert_eq!(starts.last().map(|(_, cpu)| *cpu), Some(cpu), "{clamps}");
    }
    // it fits on none, but for that: the most capable one
    let tape = run(cpus(&[256, 300, 290], None), &light(r#""util_min": 1024"#), 100);
    assert_eq!(tape.starts(tape.pid("t-0")).last().map(|(_, cpu)| *cpu), Some(1));
}

#[test]
fn a_task_that_may_not_have_more_than_its_cpu_has_does_not_outgrow_it() {
    for (most, starts) in [(256, vec![(0, 0)]), (257, vec![(0, 0), (44 * MS, 2)])] {
        let heavy = HEAVY.replacen('{', &format!(r#"{{"util_max": {most}, "#), 1);
        let tape = run(cpus(&[256, 300, 1024], None), &heavy, 200);
        assert_eq!(tape.starts(tape.pid("heavy-0")), starts, "{most}");
    }
}

#[test]
fn equal_capacities_change_nothing() {
    let tasks = r#""hog": {"instance": 3, "run": 100000},
        "s": {"instance": 3, "run": 1000, "sleep": 3000}"#;
    let with = |capacity: u32| {
        let mut hardware = cpus(&[1024, 1024], None);
        hardware.core_types.iter_mut().for_each(|core| core.capacity = capacity);
        let tape = run(hardware, tasks, 500);
        (0..2).map(|cpu| tape.timed_picks(cpu)).collect::<Vec<_>>()
    };
    assert_eq!(with(512), with(1024));
}

/// Work of a lone task with these settings on a CPU under schedutil in so many ms from idle, in ns at
/// full speed.
fn work_of(setting: &str, ms: u64) -> u64 {
    let clock = Clock {
        idle_mhz: 200,
        base_mhz: 2000,
        max_mhz: 2000,
        turbo: Vec::new(),
        opps_mhz: Vec::new(),
        domain_cores: 1,
        governor: Governor::Schedutil { transition_ns: 0 },
        power_uw: Vec::new(),
    };
    let hog = format!(r#""hog": {{"cpus": [1], {setting} "run": 1000000}}"#);
    let tape = run(cpus(&[512, 1024], Some(clock)), &hog, ms);
    let work = |event: &rota_trace::Event| match event.kind {
        EventKind::Work { done, .. } => Some(done / 1024),
        _ => None,
    };
    tape.0.iter().filter_map(work).sum()
}

fn work_ns(ms: u64) -> u64 {
    work_of("", ms)
}

#[test]
fn a_hog_under_schedutil_has_full_speed_after_200_ms() {
    // At full speed use grows from nothing to 0.8, which asks for all (1.25 x 0.8), in 32.77 ms x
    // log2(5) = 76 ms. But averages grow by what was done, and so slower at low frequencies: from
    // nothing to 0.08 at the lowest, a tenth, for 39 ms; from there the frequency is 1.25 x use, and
    // use x' = 1.25 x (1 - x) ln 2 / 32.77 ms: 145 ms. As frequencies change at ticks only, it is a
    // little more than those 184. ("~200ms", Documentation/scheduler/sched-util-clamp.rst)
    assert_eq!(work_ns(210) - work_ns(206), 4 * MS);
    assert!(work_ns(180) - work_ns(176) < 4 * MS);
    assert_eq!(work_ns(36) - work_ns(32), 4 * MS * 102 / 1024);
}

#[test]
fn a_hog_that_asks_for_full_speed_has_it_at_once_and_one_that_forgoes_it_never() {
    // The first decision chooses the frequency (sched-util-clamp.rst, "boost"); 512 is half of it.
    let [from, to] = [8, 200];
    let gained = |setting| work_of(setting, to) - work_of(setting, from);
    assert_eq!(gained(r#""util_min": 1024,"#), (to - from) * MS);
    // all in all no more than at 1000 of 2000 MHz
    assert!(gained(r#""util_max": 512,"#) <= (to - from) * MS / 2);
    assert_eq!(work_of(r#""util_max": 512,"#, 400) - work_of(r#""util_max": 512,"#, 396), 2 * MS);
}
