// SPDX-License-Identifier: MIT OR Apache-2.0
//! `eevdf` on x86 CPUs of which the firmware prefers some, by the rules of Linux 7.2 (SD_ASYM_PACKING in
//! kernel/sched/fair.c): times derived by hand, with ticks each 4 ms. All CPUs balance first at the first
//! tick.

use crate::common::eevdf::{run_at, MS};
use crate::common::Tape;
use rota_machine::hardware::parts::CoreType;
use rota_machine::hardware::Hardware;
use rota_machine::topology::{Place, Topology};
use rota_workload::WorkClass;

/// A CPU of this core, of this rank.
type Cpu = (u32, u32);

/// As a laptop's: a core of two threads, and two small ones.
const LAPTOP: [Cpu; 4] = [(0, 64), (0, 64), (1, 39), (2, 39)];

/// All as fast as each other, and of one cache.
fn run(cpus: &[Cpu], tasks: &str, ms: u64) -> Tape {
    let place =
        |(core, _): &Cpu| Place { core: *core, cluster: *core, llc: 0, node: 0, package: 0 };
    let places: Vec<Place> = cpus.iter().map(place).collect();
    let kind = |(_, rank): &Cpu| CoreType {
        name: format!("r{rank}"),
        speed: 1024,
        capacity: 1024,
        rank: *rank,
        l2_kib: 1024,
        smt: None,
        clock: None,
        idle: Vec::new(),
        poll_ns: 0,
    };
    let hardware = Hardware {
        core_types: cpus.iter().map(kind).collect(),
        // As its core's first CPU.
        type_of_cpu: cpus
            .iter()
            .map(|(core, _)| cpus.iter().position(|(other, _)| other == core).unwrap_or(0))
            .collect(),
        cache: None,
        ipi: None,
        work: (WorkClass::Mixed, 0),
        timer_slack_ns: 0,
    };
    let load = format!(r#"{{"tasks": {{{tasks}}}}}"#);
    run_at(Topology::of_places(&places, &[]).unwrap(), hardware, &[], &load, ms)
}

/// An endless task that works 1 ms on a CPU, and may then use any of four.
fn let_go(name: &str, cpu: u32) -> String {
    format!(
        r#""{name}": {{"loop": 1, "phases": {{"tied": {{"cpus": [{cpu}], "run": 1000}},
            "free": {{"cpus": [0, 1, 2, 3], "run": 1000000}}}}}}"#
    )
}

fn starts(tape: &Tape, name: &str) -> Vec<(u64, u32)> {
    tape.starts(tape.pid(name))
}

#[test]
fn a_task_leaves_for_an_idle_preferred_cpu_at_the_next_tick() {
    // Nothing waits, but CPU 0 idles, with all of its core: CPU 2's tick sends it to balance
    // (nohz_balancer_kick), and it takes the running task at once (asym_active_balance).
    let tape = run(&LAPTOP, &let_go("t", 2), 100);
    assert_eq!(starts(&tape, "t-0"), [(0, 2), (4 * MS, 0)]);
}

#[test]
fn a_task_stays_where_all_cpus_are_of_one_rank_or_of_none() {
    for rank in [0, 64] {
        let cpus = LAPTOP.map(|(core, _)| (core, rank));
        let tape = run(&cpus, &let_go("t", 2), 100);
        assert_eq!(starts(&tape, "t-0"), [(0, 2)], "{rank}");
    }
}

#[test]
fn a_task_stays_on_a_preferred_cpu() {
    let tape = run(&LAPTOP, &let_go("t", 1), 100);
    assert_eq!(starts(&tape, "t-0"), [(0, 1)]);
}

#[test]
fn a_sibling_of_a_busy_cpu_is_not_preferred() {
    // CPU 1 idles, but its core does not until 50 ms (sched_use_asym_prio); the next tick is at 52.
    let hog = r#""hog": {"loop": 1, "cpus": [0], "run": 50000}"#;
    let tape = run(&LAPTOP, &format!("{hog}, {}", let_go("t", 2)), 100);
    assert_eq!(starts(&tape, "t-1"), [(0, 2), (52 * MS, 0)]);
}

#[test]
fn a_small_core_takes_one_of_two_that_share_a_preferred_one() {
    // Ranks do not count for a core with two busy siblings: one of them goes to an idle core of any
    // rank, at once. (smt_vs_nonsmt_groups, asym_active_balance)
    let tape = run(&LAPTOP, &format!("{}, {}", let_go("a", 0), let_go("b", 1)), 100);
    let last = |name| starts(&tape, name).last().copied();
    let (a, b) = (last("a-0"), last("b-1"));
    assert_eq!(b, Some((0, 1)));
    assert_eq!(a.map(|(ns, cpu)| (ns, cpu > 1)), Some((4 * MS, true)));
}

#[test]
fn of_several_cpus_that_work_the_least_preferred_gives_its_task() {
    // (update_sd_pick_busiest)
    let cpus = [(0, 64), (1, 50), (2, 39), (3, 45)];
    let all = [let_go("a", 1), let_go("b", 2), let_go("c", 3)].join(", ");
    let tape = run(&cpus, &all, 100);
    assert_eq!(starts(&tape, "b-1"), [(0, 2), (4 * MS, 0)]);
    assert_eq!(starts(&tape, "a-0"), [(0, 1)]);
    assert_eq!(starts(&tape, "c-2"), [(0, 3)]);
}
