// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota fluid pbs`.

use crate::support::{rota, Scratch};

/// The paper's four tasks [PBS §3.1].
const FOUR: [&str; 8] =
    ["--task", "0s:4.5s", "--task", "1s:2.5s", "--task", "3s:3s", "--task", "5s:2s"];

fn four(more: &[&str]) -> crate::support::Run {
    let words: Vec<&str> = ["fluid", "pbs"].iter().chain(&FOUR).chain(more).copied().collect();
    rota(&words)
}

#[test]
fn completion_times_are_those_of_independent_models() {
    let expected = [
        ("0.01", [4.5, 7.0, 10.0, 12.0]),
        ("1", [12.0, 8.28, 11.55, 10.88]),
        ("100", [12.0, 9.50, 10.51, 8.05]),
    ];
    for (alpha, ends) in expected {
        let json = four(&["--alpha", alpha, "--json"]).ok().json();
        assert_eq!(json["schema"], "rota.fluid/1");
        for (task, end) in ends.into_iter().enumerate() {
            let found = json["tasks"][task]["completion_s"].as_f64().expect("it ends");
            assert!((found - end).abs() < 0.0051, "alpha {alpha}, task {task}: {found}");
        }
        let rows = json["shares"]["rows"].as_array().expect("rows");
        for row in rows {
            let shares = row.as_array().expect("shares").iter();
            let sum: f64 = shares.map(|share| share.as_f64().expect("a number")).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{row}");
        }
    }
}

#[test]
fn a_file_is_the_same_as_arguments() {
    let scratch = Scratch::new();
    let task = |name: &str, delay, run| {
        format!(r#""{name}": {{"loop": 1, "delay": {delay}, "run": {run}}}"#)
    };
    let tasks = [
        task("a", 0, 4_500_000),
        task("b", 1_000_000, 2_500_000),
        task("c", 3_000_000, 3_000_000),
        task("d", 5_000_000, 2_000_000),
    ];
    let file = scratch.file("four.json", format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", ")));
    let of_file = rota(&["fluid", "pbs", &file, "--alpha", "0.4", "--json"]).ok().json();
    let of_words = four(&["--alpha", "0.4", "--json"]).ok().json();
    // Weights are 100 and 1: sums are rounded differently.
    let ends = |json: &serde_json::Value| {
        let end = |task: usize| json["tasks"][task]["completion_s"].as_f64().expect("it ends");
        [0, 1, 2, 3].map(end)
    };
    for (file, words) in ends(&of_file).into_iter().zip(ends(&of_words)) {
        assert!((file - words).abs() < 1e-9, "{file} {words}");
    }
    assert_eq!(of_file["tasks"][0]["name"], "a-0");
}

#[test]
fn shares_of_a_shipped_workload_are_its_shares() {
    let json = rota(&["fluid", "pbs", "workloads/shares321.json", "--json"]).ok().json();
    // A, B and C come together: 3/6, 2/6 and 1/6 of 10 s.
    for (task, expected) in [5.0, 10.0 / 3.0, 5.0 / 3.0].into_iter().enumerate() {
        let received = json["tasks"][task]["received_s"].as_f64().expect("a number");
        assert!((received - expected).abs() < 1e-9, "{received}");
    }
}

#[test]
fn the_picture_is_an_svg_with_a_band_for_each_task() {
    let scratch = Scratch::new();
    let path = scratch.path("shares.svg");
    let text = four(&["--picture", &path]).ok().stdout;
    assert!(text.contains("shares of the processor"), "{text}");
    let svg = std::fs::read_to_string(&path).expect("it is written");
    assert_eq!(svg.matches("<polygon").count(), 4);
}

#[test]
fn bad_input_is_named() {
    four(&["--alpha", "x"]).refused(&["--alpha", "expected a number, or inf"]);
    four(&["--alpha", "0.0001"]).refused(&["alpha = 0.0001", "0.001"]);
    four(&["--beta", "--3"]).refused(&["beta", "--3"]);
    four(&["--task", "1s"]).refused(&["1s", "ARRIVAL:DEMAND"]);
    four(&["--step", "1ns"]).refused(&["--step", "rows"]);
    rota(&["fluid", "pbs"]).refused(&["WORKLOAD.json"]);
    rota(&["fluid", "vtrr"]).refused(&["vtrr"]);
    rota(&["fluid", "pbs", "workloads/webserver.json"]).refused(&["webserver.json", "requests"]);
    let scratch = Scratch::new();
    let file = scratch.file("busy.json", r#"{"tasks": {"t": {"loop": 1, "runtime": 5}}}"#);
    rota(&["fluid", "pbs", &file]).refused(&["busy.json: task t-0: runtime"]);
    let file = scratch.file("endless.json", r#"{"tasks": {"t": {"run": 5}}}"#);
    rota(&["fluid", "pbs", &file]).refused(&["events by"]);
}
