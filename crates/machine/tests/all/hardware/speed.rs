// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cores of different speeds: work takes longer on a slow one, time does not.

use super::{cores, end_ns, on, MS};
use crate::common::{run, shared_fifo};
use rota_machine::config::{Config, Costs};
use rota_machine::topology::Topology;

#[test]
fn work_takes_as_many_times_longer_as_the_cpu_is_slower() {
    // 10 ms at 624/1024 (the E-cores of an i7-1370P): 10^7 * 1024 / 624 = 16,410,256.4 ns
    let load = r#"{"tasks": {"a": {"loop": 1, "cpus": [1], "run": 10000}}}"#;
    let (_, tape) = run(on(cores(&[1024, 624]), "", 50 * MS), load, &mut shared_fifo());
    assert_eq!(end_ns(&tape, 1001), 16_410_257);
}

#[test]
fn a_time_is_as_long_on_every_cpu() {
    let load = r#"{"tasks": {"a": {"loop": 1, "cpus": [1], "runtime": 10000}}}"#;
    let (_, tape) = run(on(cores(&[1024, 624]), "", 50 * MS), load, &mut shared_fifo());
    assert_eq!(end_ns(&tape, 1001), 10 * MS);
}

#[test]
fn a_task_that_moves_to_a_faster_cpu_takes_what_is_left_along() {
    // 5 ms on the slow one do 5 * 256/1024 = 1.25 of 10 ms; the other 8.75 take as long at full
    // speed
    let load = r#"{
        "tasks": {"a": {"loop": 1, "cpus": [0], "run": 10000}},
        "events": [{"at": 5000, "task": "a", "cpus": [1]}]
    }"#;
    let (_, tape) = run(on(cores(&[256, 1024]), "", 50 * MS), load, &mut shared_fifo());
    assert_eq!(end_ns(&tape, 1001), 13_750_000);
}

#[test]
fn what_the_kernel_does_takes_longer_on_a_slow_cpu() {
    // a switch of 1.2 us and 1.5 us to leave idle at half speed: 5.4 us; then 1 ms of work, 2 ms.
    // Callbacks have one instruction, which costs nothing.
    let load = r#"{"tasks": {"a": {"loop": 1, "run": 1000}}}"#;
    let slow = on(cores(&[512]), "", 50 * MS);
    let config = Config { costs: Costs::typical(), ..slow };
    let (_, tape) = run(config, load, &mut shared_fifo());
    assert_eq!(end_ns(&tape, 1001), 2 * MS + 5_400);
}

#[test]
fn a_tick_takes_longer_on_a_slow_cpu() {
    // 4 ms at half speed with ticks at 4 ms (1 us: 2 us at half speed); the one at 8 ms comes
    // before the end, too
    let load = r#"{"tasks": {"a": {"loop": 1, "run": 4000}}}"#;
    let slow = on(cores(&[512]), "", 50 * MS);
    let costs = Costs { tick_ns: 1_000, ..Costs::none() };
    let config = Config { costs, exact_slices: false, ..slow };
    let (_, tape) = run(config, load, &mut shared_fifo());
    assert_eq!(end_ns(&tape, 1001), 8 * MS + 2_000 + 2_000);
}

#[test]
fn hardware_of_another_machine_is_refused() {
    let machine = |kinds: &[usize], topology: &str| {
        let mut hardware = cores(&[1024, 512]);
        hardware.type_of_cpu = kinds.to_vec();
        hardware.check(&Topology::parse(2, topology).unwrap()).map_err(|what| what.to_string())
    };
    assert_eq!(machine(&[0, 1], ""), Ok(()));
    for (kinds, topology, what) in [
        (&[0][..], "", "hardware has 1 CPUs, but the machine has 2"),
        (&[0, 2], "", "hardware says nothing of the core type of CPU 1"),
        (&[0, 1], "smt=2", "CPUs 0 and 1 of one core have two core types"),
    ] {
        assert_eq!(machine(kinds, topology), Err(what.to_string()));
    }
}
