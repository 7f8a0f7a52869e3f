// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rbpe` is CFS with the priority elevation of CAS §5: slices by eq. 19, levels by Table 1. One
//! ideal CPU, so slices end exactly.

use crate::common::hosted::Hosted;
use crate::common::{ideal, Tape};
use rota_machine::exit::ExitKind;

const MS: u64 = 1_000_000;

fn run(policy: &'static str, set: &[(&str, &str)], load: &str, ms: u64) -> Tape {
    let (outcome, tape) = Hosted::new(policy, set, ideal(1, ms * MS), load).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    tape
}

/// A server that is asked at 3 s, when eight endless tasks have made the load 8, and those.
fn asked(socket: &str, demand_us: u32) -> String {
    format!(
        r#"{{"sockets": {{"s": "{socket}"}},
        "customers": {{"c": {{"to": "s", "at": [3000000], "demand": {demand_us}}}}},
        "tasks": {{"server": {{"recv": "s", "run": {{"request": 1}}, "reply": "s"}},
                   "hog": {{"instance": 8, "run": 10000000}}}}}}"#
    )
}

/// Lengths of the turns of all tasks with this name within a time, in us.
fn turns(tape: &Tape, names: &[String], from_ms: u64, to_ms: u64) -> Vec<u64> {
    let all = names.iter().flat_map(|name| tape.spans(name));
    let within = all.filter(|(from, to)| *from >= from_ms * 1000 && *to <= to_ms * 1000);
    within.map(|(from, to)| to - from).collect()
}

#[test]
fn slices_are_those_of_equation_19() {
    // Load 8 × 2048 > 16000: 15 levels for a UNIX socket, 5 for a network's, one less each 0.6 s
    // [Table 1]. N = 9, a period of 20 ms that has room for 20 (a granularity of 1 ms). 1.25^15 is
    // 28.42, by the kernel's weights 29154 / 1024 = 28.47; 1.25^14 is 23254, 1.25^5 3121, 1.25^4
    // 2501 / 1024. So q of the server is 20 × 29154 / (8 × 1024 + 29154) = 15.613 ms, that of a
    // hog 20 × 1024 / 37346 = 0.548 ms; then 14.790 and 0.651; by network 5.518 and 1.810, then
    // 4.678 and 1.915. Without credit for sleep, of which the first turns would be.
    let set = [
        ("load_window_ns", "200ms"),
        ("sched_min_granularity_ns", "1ms"),
        ("no_new_fair_sleepers", "true"),
    ];
    let hogs: Vec<String> = (1..9).map(|at| format!("hog-{at}")).collect();
    let server = ["server-0".to_owned()];
    let due = [("unix", [(15_613, 548), (14_790, 651)]), ("tcp", [(5_518, 1_810), (4_678, 1_915)])];
    for (socket, levels) in due {
        let tape = run("rbpe", &set, &asked(socket, 4_000_000), 4200);
        for (at_ms, (mine, others)) in [3030, 3650].into_iter().zip(levels) {
            for (who, due_us) in [(&server[..], mine), (&hogs, others)] {
                let turns = turns(&tape, who, at_ms, at_ms + 540);
                assert!(turns.len() >= 20, "{socket}: {turns:?}");
                let off = turns.iter().filter(|us| us.abs_diff(due_us) > 1).count();
                assert_eq!(off, 0, "{socket} from {at_ms} ms: {turns:?}, expected {due_us}");
            }
        }
    }
}

#[test]
fn a_request_that_fits_its_credit_makes_nobody_unhappy_under_load() {
    // Who slept begins 20 ms of virtual time before the others, which at -15 last for 20 × 28.47 =
    // 569 ms of CPU time: a request of 100 ms is served at once [eq. 20]. Under cfs they last for
    // 20 ms, and the rest comes in turns with eight others.
    let ends = |policy| {
        let tape = run(
            policy,
            if policy == "rbpe" { &[("load_window_ns", "200ms")] } else { &[] },
            &asked("unix", 100_000),
            5000,
        );
        let spans = tape.spans("server-0");
        spans.into_iter().rfind(|(_, to)| *to >= 3_000_000).unwrap().1 - 3_000_000
    };
    assert_eq!(ends("rbpe"), 100_000);
    let cfs = ends("cfs");
    assert!(cfs > 20_000 + 80_000 * 7, "{cfs}");
}

#[test]
fn it_is_cfs_where_the_load_is_low() {
    // Three tasks at most in 5 s of a window of 60 s: a load of 0.25 × 2048 < 1600 [Table 1].
    let load = r#"{"sockets": {"s": "unix"},
        "customers": {"c": {"to": "s", "every": 30000, "demand": 7000}},
        "tasks": {"server": {"recv": "s", "run": {"request": 1}, "reply": "s"},
                  "a": {"run": 10000000}, "b": {"run": 9000, "sleep": 4000}}}"#;
    let [rbpe, cfs] = ["rbpe", "cfs"].map(|policy| run(policy, &[], load, 5000));
    for name in ["server-0", "a-1", "b-2"] {
        assert_eq!(rbpe.spans(name), cfs.spans(name), "{name}");
    }
}
