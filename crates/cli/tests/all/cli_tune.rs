// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota tune`.

use crate::support::{rota, Run, Scratch};

/// One long job and short ones that come all the time: least attained service, a large alpha, has
/// the short ones wait the least.
const MIX: &str = r#"{"tasks": {
    "long": {"loop": 1, "run": 4000000},
    "short": {"loop": 40, "delay": 50000, "run": 20000, "sleep": {"dist": "exp", "mean": 60000}},
    "other": {"loop": 40, "delay": 50000, "run": 20000, "sleep": {"dist": "exp", "mean": 60000}}}}"#;

fn tune_of(policy: &str, file: &str, more: &[&str]) -> Run {
    let words = ["tune", policy, file, "--cpus", "1", "--duration", "3s", "--seeds", "2"];
    rota(&[&words[..], more].concat())
}

fn tune(file: &str, more: &[&str]) -> Run {
    tune_of("pbs", file, more)
}

#[test]
fn short_jobs_beside_a_long_one_want_a_large_alpha() {
    let scratch = Scratch::new();
    let file = scratch.file("mix.json", MIX);
    let picture = scratch.path("curve.svg");
    let grid = ["--alphas", "0.1,1,10", "--betas", "0"];
    let words = ["--minimise", "mean_turnaround", "--json", "--picture", &picture];
    let json = tune(&file, &[&grid[..], &words[..]].concat()).ok().json();
    assert_eq!(json["schema"], "rota.tune/2");
    assert_eq!(json["measure"], "turnaround_mean");
    let best = &json["best"];
    assert!(best["set"]["alpha"].as_f64().expect("a number") > 1.0, "{best}");
    let points = json["points"].as_array().expect("a curve");
    let mean = |alpha: f64| {
        let of = |point: &&serde_json::Value| point["set"]["alpha"] == alpha;
        let values = points.iter().find(of).expect("on the grid")["values"].as_array();
        values.expect("values")[0].as_f64().expect("a number")
    };
    assert!(mean(0.1) > mean(10.0));
    // Three of the grid, and three looks between the neighbours of the best.
    assert!(points.len() > 3 + 3, "{}", points.len());
    let svg = std::fs::read_to_string(&picture).expect("it is written");
    assert!(svg.contains("beta 0"));
    // The same again, whatever the number of threads.
    let words = ["--minimise", "turnaround_mean", "--json", "-j", "3"];
    assert_eq!(tune(&file, &[&grid[..], &words[..]].concat()).ok().json(), json);
}

/// Of a round robin, short quanta are what short jobs want, and they cost switches.
#[test]
fn any_tunable_of_any_policy_is_searched_and_what_the_best_costs_is_told() {
    let scratch = Scratch::new();
    let file = scratch.file("mix.json", MIX);
    let quanta = ["--tunable", "quantum_ns=2000000,20000000", "--minimise", "turnaround_mean"];
    let text = tune_of("wrr", &file, &quanta).ok().stdout;
    let lines: Vec<&str> = text.lines().collect();
    let best = lines.iter().find(|line| line.starts_with("best: ")).expect("a best one");
    assert!(best.starts_with("best: quantum_ns=2000000: "), "{text}");
    // Two numbers are choices: none between them is tried.
    assert_eq!(lines[2].split_whitespace().next(), Some("quantum_ns"));
    assert_eq!(lines[3..].iter().take_while(|line| !line.is_empty()).count(), 2, "{text}");
    let of = |word: &str| {
        let begin = format!("{word} than the defaults: ");
        lines.iter().find_map(|line| line.strip_prefix(&begin)).expect("a line").to_owned()
    };
    assert!(of("worse").contains("context switches"), "{text}");
    of("better");
    let json = tune_of("wrr", &file, &[&quanta[..], &["--json"]].concat()).ok().json();
    let switches = |what: &str| json[what]["metrics"]["context_switches"]["mean"].as_f64();
    assert!(switches("best") > switches("shipped"));
    assert!(json["best"]["metrics"]["context_switches"]["ratio"].as_f64() > Some(1.0));
}

#[test]
fn what_does_not_fulfil_a_condition_is_not_chosen() {
    let scratch = Scratch::new();
    let file = scratch.file("mix.json", MIX);
    let words = ["--tunable", "quantum_ns=2000000,20000000", "--minimise", "turnaround_mean"];
    let switches = ["--subject-to", "context_switches <= baseline"];
    let best = tune_of("wrr", &file, &[&words[..], &switches[..]].concat()).ok().stdout;
    assert!(best.contains("\nbest: quantum_ns=20000000: "), "{best}");
    assert!(best.contains("\ncontext_switches <= baseline: holds\n"), "{best}");
    let never = ["--subject-to", "turnaround_mean < 1ns"];
    let run = tune_of("wrr", &file, &[&words[..], &never[..]].concat());
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("none of 2 settings can be chosen"), "{}", run.stderr);
}

#[test]
fn what_cannot_be_tuned_is_refused() {
    let scratch = Scratch::new();
    let file = scratch.file("mix.json", MIX);
    tune(&file, &[]).refused(&["--minimise"]);
    tune(&file, &["--minimise", "haste"])
        .refused(&["minimise: no metric is called \"haste\"", "response_p99"]);
    let aim = ["--minimise", "jain"];
    let refused = |policy: &str, words: &[&str], parts: &[&str]| {
        tune_of(policy, &file, &[&aim[..], words].concat()).refused(parts);
    };
    refused("pbs", &["--alphas", "2,1"], &["--alphas 2,1", "rising"]);
    refused("pbs", &["--betas", "x"], &["[set.pbs]", "beta", "x"]);
    refused("wrr", &[], &["wrr has no tunable 'alpha'", "--tunable NAME=VALUE,…", "quantum_ns"]);
    refused("wrr", &["--tunable", "quantm_ns=1"], &["quantm_ns", "quantum_ns"]);
    refused(
        "wrr",
        &["--tunable", "quantum_ns=1000000,1e6"],
        &["quantum_ns: 1000000 is the same value as 1000000 before it"],
    );
    refused(
        "pbs",
        &["--tunable", "alpha=1", "--alphas", "2"],
        &["alpha is searched twice, expected it once"],
    );
    let none = tune(&file, &["--minimise", "p99_response", "--alphas", "1", "--betas", "0"]);
    none.refused(&["minimise: no run can have response_p99", "no workload has a socket"]);
}
