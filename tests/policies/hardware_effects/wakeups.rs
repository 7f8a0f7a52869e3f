// SPDX-License-Identifier: MIT OR Apache-2.0
//! Idle states and frequencies: cores that are warm, and cores that sleep deep.

use super::{assert_within, machine, makespan_ms, measured};
use rota_machine::config::Config;
use std::sync::Arc;

/// Milliseconds of 5 ms of work that goes around 16 tasks, each on the core that this says, ten times.
fn ring_ms(core: fn(u32) -> u32) -> f64 {
    let task = |at: u32| {
        format!(
            r#""r{at}": {{"loop": 10, "cpus": [{}], "sem_wait": "s{at}", "run": 5000,
                "sem_post": "s{}"}}"#,
            2 * core(at),
            (at + 1) % 16
        )
    };
    let tasks: Vec<String> = (0..16).map(task).collect();
    let tasks = format!(
        r#"{}, "start": {{"loop": 1, "cpus": [0], "run": 1, "sem_post": "s0"}}"#,
        tasks.join(",")
    );
    makespan_ms(&measured("eevdf", machine("server", 20_000), &tasks))
}

#[test]
fn work_that_follows_work_is_faster_on_a_core_that_is_warm() {
    // Lawall et al., Scheduling with Nest, EuroSys 2022: keeping few tasks on cores that are in use
    // makes them 1.1 to 2 times as fast. Here 5 ms of work that goes around 16 cores, or stays.
    assert_within(ring_ms(|at| at) / ring_ms(|_| 0), 1.1, 2.0);
}

/// The median wakeup in ns of a task that sleeps for 1 ms each time.
fn median_ns(config: Config) -> f64 {
    let numbers = measured("eevdf", config, r#""t": {"run": 100, "sleep": 1000}"#);
    numbers.totals.wakeup_latency_ns.p50.expect("wakeups") as f64
}

#[test]
fn without_the_deep_state_the_median_wakeup_is_sooner_by_what_it_takes_to_leave() {
    // C6 takes 190 us to leave, and is worth it for 600 us; without it C1E takes 2 us: 188 us. The
    // median is that of a histogram, which is within 1 %.
    let mut shallow = machine("server", 1_000);
    let hardware = Arc::make_mut(shallow.hardware.as_mut().expect("it is not flat"));
    hardware.core_types.iter_mut().for_each(|kind| kind.idle.retain(|state| state.name != "C6"));
    let sooner_ns = median_ns(machine("server", 1_000)) - median_ns(shallow);
    assert_within(sooner_ns, 186_000.0, 190_000.0);
}
