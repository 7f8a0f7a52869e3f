// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deadline servers whose parameters are written while they serve
//! (`sched_server_write_common()`), and the bandwidth that they reserve.

use super::MS;
use crate::common::{ideal, run, shared_fifo, Tape};
use rota_machine::exit::ExitKind;
use rota_machine::run::Outcome;

/// A real-time task that never sleeps above one of sched_ext.
const HOG: &str = r#""hog": {"policy": "SCHED_FIFO", "run": 9000000}, "ext": {"run": 9000000}"#;

fn play(cpus: u32, ms: u64, tasks: &str, events: &str) -> (Outcome, Tape) {
    let mut config = ideal(cpus, ms * MS);
    config.audit = true;
    let load = format!(r#"{{"tasks": {{{tasks}}}, "events": [{events}]}}"#);
    run(config, &load, &mut shared_fifo())
}

/// When the task below the hog ran.
fn served(ms: u64, events: &str) -> Vec<(u64, u64)> {
    let (outcome, tape) = play(1, ms, HOG, events);
    assert_eq!(outcome.outside, []);
    tape.spans("ext-1")
}

#[test]
fn a_longer_runtime_begins_earlier_before_the_deadline() {
    // 100 of 1000 ms are due at 900. A period begins there, as in classes/server.rs, and is due at
    // 1900, so the next 100 ms come then.
    let spans = served(2500, r#"{"at": 0, "cpu": 0, "ext_server.runtime": "100ms"}"#);
    assert_eq!(spans, [(900_000, 1_000_000), (1_900_000, 2_000_000)]);
}

#[test]
fn a_shorter_period_comes_sooner() {
    // 50 of 400 ms: due at 350, then from the deadline of the period that begins there
    let spans = served(1400, r#"{"at": 0, "cpu": 0, "ext_server.period": "400ms"}"#);
    assert_eq!(spans, [(350_000, 400_000), (750_000, 800_000), (1_150_000, 1_200_000)]);
}

#[test]
fn a_write_begins_a_new_period() {
    // The first 50 ms by the defaults. The write at 1200 forgets the deadline of 1950: 100 ms
    // before 2200 begin at 2100, and those of the period from there on at 3100.
    let spans = served(3500, r#"{"at": "1200ms", "cpu": 0, "ext_server.runtime": "100ms"}"#);
    assert_eq!(spans, [(950_000, 1_000_000), (2_100_000, 2_200_000), (3_100_000, 3_200_000)]);
}

#[test]
fn a_runtime_of_0_switches_the_server_off_and_another_on_again() {
    let off = r#"{"at": 0, "cpu": 0, "ext_server.runtime": 0}"#;
    let mut config = ideal(1, 3000 * MS);
    config.audit = true;
    let load = format!(r#"{{"tasks": {{{HOG}}}, "events": [{off}]}}"#);
    let (outcome, tape) = run(config, &load, &mut shared_fifo().timeout_ms(1000));
    assert_eq!(outcome.exit.kind, ExitKind::ErrorStall);
    assert_eq!(tape.spans("ext-1"), []);
    // on again at 1500: 50 ms before 2500
    let on = r#"{"at": "1500ms", "cpu": 0, "ext_server.runtime": "50ms"}"#;
    assert_eq!(served(3000, &format!("{off}, {on}")), [(2_450_000, 2_500_000)]);
}

/// What came of events on a machine whose CPUs idle.
fn results(cpus: u32, tasks: &str, events: &str) -> Vec<String> {
    let (outcome, _) = play(cpus, 100, tasks, events);
    outcome.outside.into_iter().map(|happened| happened.result).collect()
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let events = r#"{"at": 0, "cpu": 0, "ext_server.runtime": "1001ms"},
        {"at": 1, "cpu": 0, "ext_server.period": 99},
        {"at": 2, "cpu": 0, "ext_server.period": "4194305us"},
        {"at": 3, "cpu": 1, "online": false},
        {"at": 10, "cpu": 1, "ext_server.runtime": "10ms"},
        {"at": 11, "cpu": 0, "ext_server.runtime": "951ms"},
        {"at": 12, "cpu": 0, "read": "total_bw"}"#;
    let mut config = ideal(2, 100 * MS);
    config.audit = true;
    let load = format!(r#"{{"tasks": {{"a": {{"run": 1}}}}, "events": [{events}]}}"#);
    let mut ops = shared_fifo();
    ops.add(&[rota_machine::ops::Op::CpuOffline]);
    let (outcome, _) = run(config, &load, &mut ops);
    let found: Vec<_> = outcome.outside.iter().map(|h| h.result.as_str()).collect();
    // dl_server_period_min is 100 us, dl_server_period_max 2^22 us; 951 of 1000 ms are 2^20 * 951 /
    // 1000 of 2^20, more than the 950 of sysctl_sched_rt_runtime; and what is left is 50 ms
    let expected = [
        "is refused (EINVAL): 1001000000 ns of each 1000000000 ns",
        "is refused (EINVAL): 50000000 ns of each 99000 ns",
        "is refused (EINVAL): 50000000 ns of each 4194305000 ns",
        "is refused (EBUSY): CPU 1 is offline",
        "is refused (EBUSY): 95.1 % of a CPU would be reserved, of 95.0 %",
        "is 52428",
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_bandwidth_is_that_of_servers_and_deadline_tasks() {
    // per CPU 50 ms of 1 s: 52428 of 2^20; the task 5 of 20 ms: 262144. Twice 50 ms: 104857
    let tasks = r#""dl": {"policy": "SCHED_DEADLINE", "dl-runtime": 5000, "dl-period": 20000,
        "run": 5000}"#;
    let events = r#"{"at": 1, "cpu": 0, "read": "total_bw"},
        {"at": 2, "cpu": 1, "ext_server.runtime": "100ms"},
        {"at": 3, "cpu": 1, "read": "total_bw"}"#;
    let of = |bandwidth: u64| format!("is {bandwidth}");
    let expected = [of(2 * 52_428 + 262_144), of(52_428 + 104_857 + 262_144)];
    assert_eq!(results(2, tasks, events), expected);
}

#[test]
fn a_kernel_without_the_server_has_no_file_of_it() {
    let mut config = ideal(1, 100 * MS);
    config.rules.ext_server = false;
    let load = r#"{"tasks": {"a": {"run": 1}}, "events": [
        {"at": 1, "cpu": 0, "ext_server.runtime": "100ms"}]}"#;
    let (outcome, _) = run(config, load, &mut shared_fifo());
    let found: Vec<_> = outcome.outside.iter().map(|h| h.result.as_str()).collect();
    assert_eq!(found, ["is refused (ENOENT): this kernel has no ext_server"]);
}
