// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota set`, `rota run --monitor` and `rota check`. The running policy is played by the
//! test, which speaks the protocol of docs/control.md by hand.

use crate::support::schema::fits;
use crate::support::{rota, Scratch};
use serde_json::{json, Value};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;

/// Gives one client these answers, and hangs up; returns what was asked.
fn play(socket: &str, answers: Vec<Value>) -> JoinHandle<Vec<Value>> {
    let listener = UnixListener::bind(socket).expect("socket");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut lines = BufReader::new(stream.try_clone().expect("stream")).lines();
        let mut asked = Vec::new();
        for answer in answers {
            let Some(Ok(line)) = lines.next() else { break };
            asked.push(serde_json::from_str(&line).expect("a line is JSON"));
            writeln!(stream, "{answer}").expect("answered");
        }
        asked
    })
}

#[test]
fn changes_go_out_together_and_their_result_is_printed() {
    let scratch = Scratch::new();
    let socket = scratch.path("socket");
    let changed = json!({
        "tunables": [["quantum_ns", "10000000", "2000000"]],
        "shares": [{ "pid": 12, "share": 300 }, { "pid": 13, "share": null }],
    });
    let answer = json!({ "version": 1, "changed": changed });
    let for_programs = scratch.path("json");
    let player = play(&for_programs, vec![answer.clone()]);
    fits(&rota(&["set", "a=1", "--json", "--control", &for_programs]).ok().json());
    player.join().expect("player");
    let player = play(&socket, vec![answer]);
    let arguments = ["quantum_ns=2ms", "--share", "12=300", "--share", "13=none"];
    let run = rota(&[&["set", "--control", &socket], &arguments[..]].concat()).ok();
    let expected =
        "quantum_ns: 10000000 -> 2000000\nshare of 12: 300\nshare of 13: none, its weight counts\n";
    assert_eq!(run.stdout, expected);
    let request = json!({
        "version": 1,
        "request": "set",
        "tunables": [["quantum_ns", "2ms"]],
        "shares": [{ "pid": 12, "share": 300 }, { "pid": 13, "share": null }],
    });
    assert_eq!(player.join().expect("player"), [request]);
}

#[test]
fn refused_value_is_bad_input() {
    let scratch = Scratch::new();
    let socket = scratch.path("socket");
    let error = json!({ "kind": "input", "message": "tie: is fixed when the policy is loaded" });
    let player = play(&socket, vec![json!({ "version": 1, "error": error })]);
    rota(&["set", "tie=rr", "--control", &socket]).refused(&["tie: is fixed"]);
    player.join().expect("player");
}

#[test]
fn without_changes_the_present_values_are_printed() {
    let scratch = Scratch::new();
    let policy = json!({
        "policy": "wfq", "source": "shipped", "pid": 77,
        "tunables": [{
            "name": "quantum_ns", "value": "5000000", "live": true, "ctype": "u64",
            "min": "1", "max": null, "unit": "ns", "values": [], "help": "a turn",
        }],
    });
    let answer = json!({ "version": 1, "policy": policy });
    let socket = scratch.path("text");
    let player = play(&socket, vec![answer.clone()]);
    let text = rota(&["set", "--control", &socket]).ok().stdout;
    assert_eq!(text, "wfq (shipped), pid 77\n  quantum_ns=5000000  live  a turn\n");
    assert_eq!(player.join().expect("player"), [json!({ "version": 1, "request": "get" })]);

    let socket = scratch.path("json");
    let player = play(&socket, vec![answer]);
    let printed = rota(&["set", "--json", "--control", &socket]).ok().json();
    fits(&printed);
    assert_eq!((&printed["schema"], &printed["pid"]), (&json!("rota.get/1"), &json!(77)));
    player.join().expect("player");
}

#[test]
fn monitor_prints_what_happened_between_two_answers() {
    let scratch = Scratch::new();
    let socket = scratch.path("socket");
    let sample = |n: u64| {
        json!({ "version": 1, "stats": {
            "policy": "p", "enable_seq": 3, "time_ns": n * 500_000_000,
            "counters": [{
                "name": "picks", "value": n * 100, "bits": 64, "gauge": false,
                "unit": null, "help": "decisions",
            }],
            "callbacks": [{ "op": "dispatch", "runs": n * 10, "time_ns": n * 4_000 }],
            "kernel": [{ "name": "nr_rejected", "count": 0 }],
        }})
    };
    let player = play(&socket, (1..=3).map(sample).collect());
    let run = rota(&["run", "--monitor", "100ms", "--json", "--control", &socket]);
    assert_eq!(run.code, 1, "the policy went away: {}", run.stderr);
    assert!(run.stderr.contains("the policy is no longer running"), "{}", run.stderr);
    let lines: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 2, "three samples, two intervals");
    lines.iter().for_each(fits);
    for line in &lines {
        assert_eq!(
            (&line["schema"], &line["interval_ns"]),
            (&json!("rota.stats/1"), &json!(500_000_000))
        );
        assert_eq!(line["counters"][0]["delta"], 100);
        let callback = json!({ "op": "dispatch", "runs": 10, "time_ns": 4_000, "mean_ns": 400.0 });
        assert_eq!(line["callbacks"], json!([callback]));
    }
    assert_eq!(player.join().expect("player").len(), 3);
}

#[test]
fn nobody_at_the_socket_is_said_once() {
    let scratch = Scratch::new();
    let socket = scratch.path("nobody");
    for command in [&["set", "a=1"][..], &["set"], &["run", "--monitor", "1"]] {
        let run = rota(&[command, &["--control", &socket]].concat());
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{command:?}");
        assert!(run.stderr.contains("no policy is running") && run.stderr.contains(&socket));
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    }
}

#[test]
fn run_needs_a_policy_or_one_to_monitor() {
    let run = rota(&["run"]);
    assert_eq!(run.code, 2);
    rota(&["run", "fifo", "--stats", "1", "--monitor", "1"]).refused(&["--monitor"]);
    rota(&["run", "fifo", "--stats", "10ms"]).refused(&["100ms or more"]);
}

/// Whatever machine this is: text, JSON and exit code say the same about it.
#[test]
fn check_says_the_same_in_all_its_forms() {
    let (text, json) = (rota(&["check"]), rota(&["check", "--json"]));
    let report = json.json();
    let facts = report["facts"].as_array().expect("facts");
    let missing: Vec<&Value> = facts.iter().filter(|fact| fact["state"] == "missing").collect();
    assert_eq!(report["ready"], missing.is_empty());
    let code = i32::from(!missing.is_empty());
    assert_eq!((text.code, json.code), (code, code), "{}", text.stderr);
    for fact in facts {
        let found = fact["found"].as_str().expect("text");
        assert!(text.stdout.contains(found), "{found}");
        assert_eq!(fact["how"].is_null(), fact["state"] == "ok", "{fact}");
    }
    // `rota run` gives the same reasons before it touches anything.
    if !missing.is_empty() {
        let run = rota(&["run", "fifo", "--duration", "1ms"]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""));
        for fact in missing {
            assert!(run.stderr.contains(fact["found"].as_str().expect("text")), "{}", run.stderr);
        }
    }
}
