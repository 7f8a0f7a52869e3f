// SPDX-License-Identifier: MIT OR Apache-2.0
//! Published effects of placement come out in direction and size on a preset machine: within a factor
//! of two of the change, or within ten points. Tasks are placed by affinity, or left to `eevdf`.

use crate::common::hosted::Hosted;
use rota_machine_file::preset;
use rota_measure::{Numbers, Summary};

const MS: u64 = 1_000_000;

/// Numbers of a run of tasks under `eevdf` on a preset, of at most so long.
fn on(machine: &str, tasks: &str, seconds: u64) -> Numbers {
    let mut config = preset(machine).expect("a preset").config(seconds * 1000 * MS);
    config.audit = false;
    let mut summary = Summary::new(config.topology.cpus());
    let load = format!(
        r#"{{"sockets": {{"s": {{"kind": "unix", "backlog": 64}}}}, "tasks": {{{tasks}}}}}"#
    );
    let end_ns = Hosted::new("eevdf", &[], config, &load).run_into(&mut summary).end_ns;
    summary.finish(end_ns)
}

/// Milliseconds until all these tasks ended on the server.
fn makespan_ms(tasks: &str) -> f64 {
    let totals = on("server", tasks, 20).totals;
    totals.makespan_ns.expect("all end") as f64 / MS as f64
}

fn assert_within(found: f64, least: f64, most: f64) {
    assert!((least..=most).contains(&found), "{found}, not {least} to {most}");
}

#[test]
fn hackbench_gains_by_staying_behind_one_cache() {
    // T. Chen, C. Yu, Cache aware scheduling, LKML, October 2025: a group that fits a last-level
    // cache takes 26.7 s there, and 38.5 s spread over two, 30 % less. Here a group of 4 and 4 on a
    // cache of 16 CPUs, or its two halves behind one each: 15 to 60 % less.
    let group = |senders: &str, receivers: &str| {
        makespan_ms(&format!(
            r#""sender": {{"instance": 4, "cpus": {senders}, "loop": 2000, "run": 2, "send": "s"}},
               "receiver": {{"instance": 4, "cpus": {receivers}, "loop": 2000, "recv": "s", "run": 2}}"#
        ))
    };
    let [first, second] =
        [0, 16].map(|from| format!("{:?}", (from..from + 16).collect::<Vec<_>>()));
    let (together, spread) = (group(&first, &first), group(&first, &second));
    assert_within(together / spread, 0.40, 0.85);
}

#[test]
fn a_pair_that_talks_is_faster_on_one_cpu_and_slowest_behind_two_caches() {
    // A. Vagin, LKML, October 2022: a round trip through a pipe takes 3.7 us on one CPU and 8.8 us on
    // two, 42 %: 21 to 84 %. Rounds of 2 x (1 us of work and the way).
    let rounds = |a: u32, b: u32| {
        makespan_ms(&format!(
            r#""a": {{"loop": 4000, "cpus": [{a}], "run": 1, "sem_post": "p", "sem_wait": "q"}},
               "b": {{"loop": 4000, "cpus": [{b}], "sem_wait": "p", "run": 1, "sem_post": "q"}}"#
        ))
    };
    let [one, two, far] = [(0, 0), (0, 2), (0, 16)].map(|(a, b)| rounds(a, b));
    assert_within(one / two, 0.21, 0.84);
    assert!(far > two * 1.1, "{far} {two}");
}

#[test]
fn work_that_follows_work_is_faster_on_a_core_that_is_warm() {
    // Lawall et al., Scheduling with Nest, EuroSys 2022: keeping few tasks on cores that are in use
    // makes them 1.1 to 2 times as fast. Here 5 ms of work that goes around 16 cores, or stays.
    let ring = |core: fn(u32) -> u32| {
        let task = |at: u32| {
            format!(
                r#""r{at}": {{"loop": 10, "cpus": [{}], "sem_wait": "s{at}", "run": 5000,
                    "sem_post": "s{}"}}"#,
                2 * core(at),
                (at + 1) % 16
            )
        };
        let tasks: Vec<String> = (0..16).map(task).collect();
        makespan_ms(&format!(
            r#"{}, "start": {{"loop": 1, "cpus": [0], "run": 1, "sem_post": "s0"}}"#,
            tasks.join(",")
        ))
    };
    let (spread, warm) = (ring(|at| at), ring(|_| 0));
    assert_within(spread / warm, 1.1, 2.0);
}

#[test]
fn hogs_gain_by_cores_of_their_own_and_linux_gives_them_that() {
    // A. Righi, LKML, 2026: as many hogs as cores with two threads, idle cores first: up to 60 % more
    // work than with two on each of half of the cores. Here 1024 / 640 of a mixed load is the same,
    // less what turbo allows to 16 cores, 3200 MHz, and not to 8, 3500: 1.463.
    let hogs = |cpu: Option<u32>| {
        let task = |at: u32| {
            let cpus = cpu.map_or_else(String::new, |each| format!(r#""cpus": [{}], "#, at * each));
            format!(r#""h{at}": {{{cpus}"run": 100000000}}"#)
        };
        let tasks: Vec<String> = (0..16).map(task).collect();
        let work = on("server", &tasks.join(","), 1).totals.work.expect("it is not flat");
        work.full_speed_ns as f64
    };
    let (paired, alone, by_linux) = (hogs(Some(1)), hogs(Some(2)), hogs(None));
    assert_within(alone / paired, 1.45, 1.48);
    assert_within(by_linux / alone, 0.99, 1.01);
}
