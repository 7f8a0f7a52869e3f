// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mixes of scheduling classes and policies as users report them, each with what Linux gives.

use crate::common::hosted::Hosted;
use crate::common::Tape;
use rota_machine::config::{Config, Costs};
use rota_machine::exit::ExitKind;
use rota_machine::topology::Topology;

const MS: u64 = 1_000_000;

/// With ticks each 4 ms; nothing takes time but the tasks.
fn run(policy: &str, cpus: u32, load: &str, ms: u64) -> (Hosted, Tape) {
    let mut config = Config::new(Topology::flat(cpus).unwrap(), ms * MS);
    config.costs = Costs::none();
    let mut hosted = Hosted::new(policy, &[], config, load);
    let (outcome, tape) = hosted.run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{policy}: {}", outcome.exit);
    (hosted, tape)
}

/// Milliseconds of CPU time of each of these tasks.
fn had(tape: &Tape, pids: std::ops::Range<u32>, ms: u64) -> Vec<f64> {
    pids.map(|pid| tape.cpu_ns(pid, ms * MS) as f64 / MS as f64).collect()
}

#[test]
fn a_task_behind_a_realtime_hog_has_a_twentieth_of_each_second() {
    // The ext server has 50 ms of each second, after the hog's 950: 3 s of 60. e leaves some of it,
    // as it sleeps 8 ms after each 2: at most what it would use next, 2 ms a second. No second
    // passes without, so no scheduler is ejected for a stall of 30 s. (ext_server, dl_server_start)
    for class in ["SCHED_FIFO", "SCHED_RR"] {
        // e on the hog's CPU, as there is but one, or as it is tied to that.
        for (cpus, tied) in [(1, ""), (4, r#""cpus": [0], "#)] {
            let load = format!(
                r#"{{"tasks": {{
                "rt": {{{tied} "policy": "{class}", "priority": 50, "run": 1000000}},
                "e": {{{tied} "run": 2000, "sleep": 8000}}}}}}"#
            );
            for policy in ["fifo", "eevdf", "wfq"] {
                let (_, tape) = run(policy, cpus, &load, 60_000);
                let e = tape.pid("e-1");
                let all = tape.cpu_ns(e, 60_000 * MS) / MS;
                assert!((2_880..=3_000).contains(&all), "{policy}, {class}: {all} ms");
                for second in 1..60 {
                    let until = |s: u64| tape.cpu_ns(e, s * 1_000 * MS) / MS;
                    let ms = until(second + 1) - until(second);
                    assert!((44..=56).contains(&ms), "{policy}, {class}: {ms} ms at {second} s");
                }
            }
        }
    }
}

#[test]
fn idle_tasks_have_what_their_weight_is_worth_of_a_game_and_a_browser() {
    // On each of two CPUs are three tasks of weight 1024, that always want to run (a game that asks
    // for 12 of each 16.7 ms has a third of a CPU), and four of SCHED_IDLE, of weight 3: each of
    // these has 3 / (3 x 1024 + 4 x 3) of 10 s, 9.7 ms, in turns of a tick.
    let load = r#"{"tasks": {
        "shader": {"instance": 8, "policy": "SCHED_IDLE", "run": 10000},
        "game": {"instance": 2, "run": 12000, "timer": {"ref": "unique", "period": 16667}},
        "browser": {"instance": 4, "run": 10000}}}"#;
    let (_, tape) = run("eevdf", 2, load, 10_000);
    for ms in had(&tape, 1001..1009, 10_000) {
        assert!((1.7..=17.7).contains(&ms), "{ms} ms");
    }
    for ms in had(&tape, 1009..1015, 10_000) {
        assert!((ms - 10_000.0 * 1024.0 / 3084.0).abs() < 10.0, "{ms} ms");
    }
}

#[test]
fn a_game_among_idle_tasks_waits_for_a_tick_at_most() {
    // Four CPUs full of SCHED_IDLE. Each of two games has a job of 12 ms at 100 ms + n x 20. A task
    // of SCHED_IDLE leaves at once for one that wakes up where it runs, and at the next tick, within
    // 4 ms, for one that comes from another CPU (resched_curr_lazy): each job is done after 16 ms.
    let load = r#"{"tasks": {
        "shader": {"instance": 8, "policy": "SCHED_IDLE", "run": 10000},
        "game": {"instance": 2, "delay": 100000, "run": 12000,
            "timer": {"ref": "unique", "period": 20000}}}}"#;
    let (_, tape) = run("eevdf", 4, load, 10_000);
    for name in ["game-8", "game-9"] {
        for (begin, end) in tape.spans(name) {
            let at = (begin % 20_000, (end - 1) % 20_000);
            assert!(at.0 < 16_000 && at.1 < 16_000, "{name} from {begin} to {end} us");
        }
        // 495 jobs of 12 ms
        assert_eq!(tape.cpu_ns(tape.pid(name), 10_000 * MS) / MS, 5_940, "{name}");
    }
}

#[test]
fn batch_tasks_preempt_only_where_a_request_is_over() {
    // Of a batch task's wakeups none preempts. (wakeup_preempt_fair) But each is a moment at which
    // the running task is charged, and leaves if the request that protects it is over: at most once
    // a request. Requests are of (1 + log2 4) x 0.7 = 2.1 ms, in 20 s of four CPUs 9,524; what was
    // left of them at each of the sleeps counts anew. Ordinary tasks preempt more often than that.
    let load = |policy: &str| {
        format!(
            r#"{{"tasks": {{
            "db": {{"instance": 6, "policy": "{policy}", "run": 700, "sleep": 300}},
            "clients": {{"instance": 6, "policy": "{policy}", "run": 150, "sleep": 350}}}}}}"#
        )
    };
    let preemptions = |policy: &str| run("eevdf", 4, &load(policy), 5_000).0.stat("preemptions");
    let (batch, other) = (preemptions("SCHED_BATCH"), preemptions("SCHED_OTHER"));
    assert!(batch <= 9_524, "{batch}");
    assert!(other > 9_524, "{other}");
}
