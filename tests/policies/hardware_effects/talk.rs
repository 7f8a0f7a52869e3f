// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that wake each other or send each other messages, near and far.

use super::{
    assert_within, cpus, described, machine, makespan_ms, measured, natively, taped, EIGHT_CACHES,
};
use crate::common::hosted::Hosted;
use crate::common::native::Native;
use rota_machine::config::Config;
use rota_machine::consts::DSQ_LOCAL;
use rota_machine::ops::Op;
use rota_measure::Summary;
use rota_trace::EventKind;
use std::collections::BTreeMap;

/// Milliseconds until tasks that use the sockets `s0`, `s1` … ended.
fn with_sockets(config: Config, sockets: usize, tasks: &str) -> f64 {
    let socket = |at| format!(r#""s{at}": {{"kind": "unix", "backlog": 64}}"#);
    let all: Vec<String> = (0..sockets).map(socket).collect();
    let load = format!(r#"{{"sockets": {{{}}}, "tasks": {{{tasks}}}}}"#, all.join(","));
    let mut summary = Summary::new(config.topology.cpus());
    let end_ns = Hosted::new("eevdf", &[], config, &load).run_into(&mut summary).end_ns;
    makespan_ms(&summary.finish(end_ns))
}

#[test]
fn hackbench_gains_by_staying_behind_one_cache() {
    // T. Chen, C. Yu, Cache aware scheduling, LKML, October 2025: a group that fits a last-level
    // cache takes 26.7 s there, and 38.5 s spread over two, 30 % less. Here a group of 4 and 4 on a
    // cache of 16 CPUs, or its two halves behind one each: 15 to 60 % less.
    let group = |senders: &str, receivers: &str| {
        let tasks = format!(
            r#""sender": {{"instance": 4, "cpus": {senders}, "loop": 2000, "run": 2, "send": "s0"}},
               "receiver": {{"instance": 4, "cpus": {receivers}, "loop": 2000, "recv": "s0", "run": 2}}"#
        );
        with_sockets(machine("server", 20_000), 1, &tasks)
    };
    let (first, second) = (cpus(0..16), cpus(16..32));
    let (together, spread) = (group(&first, &first), group(&first, &second));
    assert_within(together / spread, 0.40, 0.85);
}

/// Microseconds of a round of a pair that talks, with 1 us of work each, of so many pairs at a time:
/// each on these two CPUs, the next pair so many later.
fn round_us(pairs: u32, first: (u32, u32), next: u32) -> f64 {
    let pair = |at: u32| {
        let (a, b) = (first.0 + at * next, first.1 + at * next);
        format!(
            r#""a{at}": {{"loop": 10000, "cpus": [{a}], "run": 1, "sem_post": "p{at}",
                "sem_wait": "q{at}"}},
               "b{at}": {{"loop": 10000, "cpus": [{b}], "sem_wait": "p{at}", "run": 1,
                "sem_post": "q{at}"}}"#
        )
    };
    let tasks: Vec<String> = (0..pairs).map(pair).collect();
    makespan_ms(&measured("eevdf", machine("server", 20_000), &tasks.join(","))) / 10.0
}

#[test]
fn a_pair_that_talks_is_faster_on_one_cpu_and_slowest_behind_two_caches() {
    // A. Vagin, LKML, October 2022: a round trip through a pipe takes 3.7 us on one CPU and 8.8 us on
    // two, 42 %: 21 to 84 %.
    let [one, two, far] = [(0, 0), (0, 2), (0, 16)].map(|first| round_us(1, first, 0));
    assert_within(one / two, 0.21, 0.84);
    assert!(far > two * 1.1, "{far} {two}");
}

#[test]
fn clients_and_servers_are_faster_on_the_wakers_cpus_while_there_are_few() {
    // The same: tbench on 8 CPUs goes from 260 to 462 MB/s with 1 client, 78 % more: 39 to 156 %; and
    // from 733 to 1779 with 4, 143 % more: 71 to 286 %. Here pairs, where turbo has fewer active
    // cores for four on a CPU each than for four on two.
    let gain = |pairs: u32| round_us(pairs, (0, 2), 4) / round_us(pairs, (0, 0), 4);
    assert_within(gain(1), 1.39, 2.56);
    assert_within(gain(4), 1.71, 3.86);
}

#[test]
fn a_request_that_is_served_on_the_wakers_cpu_is_done_sooner() {
    // sched-ext/scx, commit 8e33edd5e: Redis and MySQL gain 2.5 to 5 % if a thread that is woken by
    // one of its own process runs on that one's CPU: 1 to 10 %. Here a thread hands each request to
    // another one and waits, 100 us of work each.
    let takes = |other: u32| {
        let tasks = format!(
            r#""io": {{"loop": 1000, "cpus": [0], "run": 100, "sem_post": "p", "sem_wait": "q"}},
               "worker": {{"loop": 1000, "cpus": [{other}], "sem_wait": "p", "run": 100,
                "sem_post": "q"}}"#
        );
        makespan_ms(&measured("eevdf", machine("server", 20_000), &tasks))
    };
    assert_within(takes(2) / takes(0), 1.01, 1.10);
}

#[test]
fn workers_behind_their_wakers_cache_start_sooner() {
    // T. Chen, C. Yu, LKML, October 2025: schbench with 2 to 64 workers, 99th percentile of wakeups,
    // is 22 to 38 % less if all are behind one last-level cache: 12 to 69 %. As in schbench, from the
    // wakeup to the first work: here a worker has 1 us of it.
    let late_ns = |workers: u32, caches: u32| {
        let worker = |at: u32| {
            let first = at % caches * 16;
            format!(
                r#""w{at}": {{"cpus": {}, "sem_wait": "s{at}", "run": 1}}"#,
                cpus(first..first + 16)
            )
        };
        let posts: Vec<String> =
            (0..workers).map(|at| format!(r#""sem_post{at}": "s{at}""#)).collect();
        let tasks: Vec<String> = (0..workers).map(worker).collect();
        let load = format!(
            r#"{{"tasks": {{"messenger": {{"cpus": {}, "sleep": 100, {}}}, {}}}}}"#,
            cpus(0..16),
            posts.join(","),
            tasks.join(",")
        );
        let tape = taped(machine("server", 500), &load);
        let (messenger, mut woken, mut took_ns) =
            (tape.pid("messenger-0"), BTreeMap::new(), Vec::new());
        for event in &tape.0 {
            match event.kind {
                EventKind::Wakeup { pid, .. } if pid != messenger => {
                    woken.insert(pid, event.time_ns);
                }
                EventKind::SwitchOut { pid, .. } => {
                    took_ns.extend(woken.remove(&pid).map(|at_ns| event.time_ns - at_ns));
                }
                _ => {}
            }
        }
        took_ns.sort_unstable();
        took_ns[took_ns.len() * 99 / 100] as f64 - 1000.0
    };
    for workers in [2, 4, 8] {
        assert_within(late_ns(workers, 1) / late_ns(workers, 2), 0.31, 0.88);
    }
}

#[test]
fn threads_that_exchange_small_parts_are_faster_behind_one_cache_than_behind_eight() {
    // Y. Chen, reply to cache aware scheduling, LKML, June 2025: a program of 8 threads with
    // fine-grained synchronization takes 49.3 s on eight caches, 24.2 s behind one; later 50.9 and
    // 28.3: 1.4 to 3 times. Here a ring of 8 threads, each with a core, with 24 messages under way
    // for each, and 1 us of work for a message.
    let takes = |next_cpu: u32| {
        let thread = |at: u32| {
            let (cpu, to) = (at * next_cpu, (at + 1) % 8);
            let sends: Vec<String> = (0..24).map(|n| format!(r#""send{n}": "s{to}""#)).collect();
            format!(
                r#""t{at}": {{"loop": 1, "cpus": [{cpu}], "phases": {{
                    "first": {{"run": 1, {}}},
                    "rest": {{"loop": 4000, "recv": "s{at}",
                        "run": {{"dist": "uniform", "min": 0.5, "max": 1.5}}, "send": "s{to}"}}}}}}"#,
                sends.join(",")
            )
        };
        let tasks: Vec<String> = (0..8).map(thread).collect();
        with_sockets(described(EIGHT_CACHES, 20_000), 8, &tasks.join(","))
    };
    assert_within(takes(16) / takes(2), 1.4, 3.0);
}

/// As HiKey 960: 4 small and 4 large cores, each with its highest frequency.
const BIG_LITTLE: &str = r#"
    schema = 1
    topology = { cpus = 8, llc = 8, node = 8 }
    cost_ns = { switch = 1200, wakeup = 800, tick = 1000, idle_exit = 500, ipi = { llc = 1000 } }
    task = { working_set_kib = 16 }
    cache = { llc_kib = 2048, mlp = 2, refill_ns = { llc = 25 }, c2c_ns = { llc = 50 }, reuse_ns = 15, handoff_lines = 16 }
    [[core_type]]
    name = "a53"
    cpus = "0-3"
    speed = 462
    l2_kib = 128
    [[core_type]]
    name = "a73"
    cpus = "4-7"
    speed = 1024
    l2_kib = 512
"#;

/// Puts a task that wakes up onto its last CPU, or onto the next one that is idle (`count`: CPUs to
/// look at).
fn wakes(rotates: bool) -> Native {
    let ops = [Op::SelectCpu, Op::Enqueue];
    let mut scheduler = Native::new("wakes", &ops, |me, system, op, args| match op {
        Op::SelectCpu => {
            let mut others = (1..me.count).map(|step| (args[1] + step) % me.count);
            let idle = others.find(|cpu| {
                system.native_may_use(args[0], *cpu as u32)
                    && system.native_test_and_clear_idle(*cpu as i32)
            });
            Ok(idle.unwrap_or(args[1]))
        }
        Op::Enqueue => system.native_insert(args[0], DSQ_LOCAL, me.slice_ns, args[1]).map(|()| 0),
        _ => Ok(0),
    });
    scheduler.count = if rotates { 8 } else { 1 };
    scheduler
}

#[test]
fn a_pair_that_stays_on_its_cpus_is_faster_than_one_that_goes_around() {
    // V. Guittot, sched/fair: prefer prev cpu in asymmetric wakeup path, LKML, October 2020: perf
    // bench sched pipe on HiKey 960 does 22 % more rounds if tasks wake up on their last CPU, not on
    // the next idle one: 11 to 44 %. Here on the large cores only.
    let takes = |rotates: bool| {
        let tasks = r#"
            "a": {"loop": 1, "phases": {"first": {"cpus": [4], "run": 1}, "rest": {"loop": 10000,
                "cpus": [4, 5, 6, 7], "run": 1, "sem_post": "p", "sem_wait": "q"}}},
            "b": {"loop": 1, "phases": {"first": {"cpus": [5], "run": 1}, "rest": {"loop": 10000,
                "cpus": [4, 5, 6, 7], "sem_wait": "p", "run": 1, "sem_post": "q"}}}"#;
        makespan_ms(&natively(described(BIG_LITTLE, 20_000), tasks, &mut wakes(rotates)))
    };
    assert_within(takes(true) / takes(false), 1.11, 1.44);
}
