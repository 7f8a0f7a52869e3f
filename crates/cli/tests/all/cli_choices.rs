// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota sim --record-choices` and `--replay-choices`.

use crate::support::{rota, Scratch};
use serde_json::Value;

const RANDOM: &str = "workloads/random.json";

/// `rota sim` for a quarter of a second.
fn sim(policy: &str, workload: &str, more: &[&str]) -> crate::support::Run {
    let mut words = vec!["sim", policy, workload, "--duration", "250ms"];
    words.extend(more);
    rota(&words)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).expect("was written")
}

#[test]
fn a_replay_writes_the_trace_of_the_recorded_run_with_any_seed() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.path(name);
    for (policy, workload, ties) in [
        ("lottery", RANDOM, &[][..]),
        ("eevdf", "workloads/webserver.json", &["--shuffle-ties"]),
        ("mlfq", "workloads/web.json", &["--shuffle-ties", "--ideal"]),
    ] {
        let (plain, first, second) = (path("plain.csv"), path("first.csv"), path("second.csv"));
        let (choices, again) = (path("choices"), path("again"));
        let seed = ["--seed", "7"];
        let ideal = &ties[ties.len().min(1)..];

        sim(policy, workload, &[&seed, ties, &["--trace", &plain]].concat()).ok();
        let record = ["--record-choices", &choices, "--trace", &first];
        let told = sim(policy, workload, &[&seed, ties, &record].concat()).ok().stdout;
        assert_eq!(read(&first), read(&plain), "{policy}: recording changes nothing");

        let replay = ["--replay-choices", &choices, "--record-choices", &again, "--trace", &second];
        let replayed = sim(policy, workload, &[ideal, &replay].concat()).ok().stdout;
        assert_eq!(read(&second), read(&first), "{policy}: replayed");
        let body = |text: &str| text.split_once('\n').map(|(_, rest)| rest.to_owned());
        assert_eq!(body(&replayed), body(&told), "{policy}: all but the first line");
        assert!(replayed.lines().next().is_some_and(|line| line.contains(&choices)), "{replayed}");
        let without_comment = |file: &str| read(file).lines().skip(2).collect::<String>();
        assert_eq!(without_comment(&again), without_comment(&choices), "{policy}");
    }
}

#[test]
fn a_recording_says_what_it_is_of_and_a_replay_has_no_seed() {
    let scratch = Scratch::new();
    let choices = scratch.path("choices");
    sim("rr", RANDOM, &["--seed", "3", "--record-choices", &choices]).ok();
    let text = read(&choices);
    let about = "# rr, workloads/random.json: 4 CPUs at 250 Hz, 250ms, seed 3";
    assert_eq!(text.lines().take(2).collect::<Vec<_>>(), ["rota.choices/1", about]);
    assert_eq!(text.lines().last(), Some("end"));

    let replay = sim("rr", RANDOM, &["--replay-choices", &choices, "--json"]).ok().json();
    assert_eq!(replay["seed"], Value::Null);
}

#[test]
fn choices_that_do_not_fit_are_refused_and_leave_outputs_alone() {
    let scratch = Scratch::new();
    let (choices, trace) = (scratch.path("choices"), scratch.path("trace.csv"));
    sim("rr", RANDOM, &["--record-choices", &choices]).ok();
    std::fs::write(&trace, "old").expect("written");
    let replay = ["--replay-choices", &choices, "--trace", &trace];

    let line = format!("{choices}:3: ");
    sim("rr", "workloads/hogs.json", &replay).refused(&[&line, "another workload"]);
    sim("rr", RANDOM, &[&replay[..], &["--cpus", "2"]].concat())
        .refused(&[&choices, "the run chooses"]);
    assert_eq!(read(&trace), "old");
}

#[test]
fn damaged_files_are_refused_with_the_line() {
    let scratch = Scratch::new();
    let choices = scratch.path("choices");
    sim("rr", RANDOM, &["--record-choices", &choices]).ok();
    let text = read(&choices);
    let lines: Vec<&str> = text.lines().collect();
    let replayed = |text: &str| {
        std::fs::write(&choices, text).expect("written");
        sim("rr", RANDOM, &["--replay-choices", &choices])
    };
    replayed("").refused(&[":1: ", "no recorded choices"]);
    replayed(&text.replacen("choices/1", "choices/9", 1)).refused(&[":1: ", "another version"]);
    let cut = format!(":{}: ", lines.len());
    replayed(&lines[..lines.len() - 1].join("\n")).refused(&[&cut, "cut off"]);
    replayed(&text.replacen("0x", "0y", 1)).refused(&[":3: ", "expected 0x and 16 digits"]);
    // One choice less: the next one is asked for in its place.
    let fewer = [&lines[..2], &lines[3..]].concat().join("\n");
    replayed(&fewer).refused(&["the run chooses"]);
    sim("rr", RANDOM, &["--replay-choices", &scratch.path("none")]).refused(&["cannot read"]);
}

#[test]
fn where_they_have_no_effect_the_options_are_refused() {
    let scratch = Scratch::new();
    let choices = scratch.path("choices");
    let (record, replay) = (["--record-choices", &choices], ["--replay-choices", &choices]);
    sim("rr", RANDOM, &[&replay[..], &["--shuffle-ties"]].concat()).refused(&["--shuffle-ties"]);
    for options in [record, replay] {
        sim("rr", RANDOM, &[&options[..], &["--help-tunables"]].concat())
            .refused(&["--help-tunables"]);
        let compare = ["compare", RANDOM, "--duration", "10ms", options[0], options[1]];
        rota(&compare).refused(&[options[0]]);
    }
}

#[test]
fn choices_that_cannot_be_written_are_told_before_the_run() {
    let scratch = Scratch::new();
    let nowhere = scratch.path("none/choices");
    sim("rr", RANDOM, &["--record-choices", &nowhere]).refused(&["cannot create", &nowhere]);
}
