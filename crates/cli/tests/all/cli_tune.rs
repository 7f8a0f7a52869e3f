// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota tune`.

use crate::support::{rota, Scratch};

/// One long job and short ones that come all the time: least attained service, a large alpha, has
/// the short ones wait the least.
const MIX: &str = r#"{"tasks": {
    "long": {"loop": 1, "run": 4000000},
    "short": {"loop": 40, "delay": 50000, "run": 20000, "sleep": {"dist": "exp", "mean": 60000}},
    "other": {"loop": 40, "delay": 50000, "run": 20000, "sleep": {"dist": "exp", "mean": 60000}}}}"#;

fn tune(file: &str, more: &[&str]) -> crate::support::Run {
    let words = ["tune", "pbs", file, "--cpus", "1", "--duration", "3s", "--seeds", "2"];
    let words: Vec<&str> = words.iter().chain(more).copied().collect();
    rota(&words)
}

#[test]
fn short_jobs_beside_a_long_one_want_a_large_alpha() {
    let scratch = Scratch::new();
    let file = scratch.file("mix.json", MIX);
    let picture = scratch.path("curve.svg");
    let grid = ["--alphas", "0.1,1,10", "--betas", "0"];
    let words = ["--minimise", "mean_turnaround", "--json", "--picture", &picture];
    let json = tune(&file, &[&grid[..], &words[..]].concat()).ok().json();
    assert_eq!(json["schema"], "rota.tune/1");
    assert_eq!(json["measure"], "turnaround_mean");
    assert!(json["best"]["alpha"].as_f64().expect("a number") > 1.0, "{}", json["best"]);
    let points = json["points"].as_array().expect("a curve");
    let mean = |alpha: f64| {
        let of = |point: &&serde_json::Value| point["alpha"] == alpha;
        let values = points.iter().find(of).expect("on the grid")["values"].as_array();
        values.expect("values")[0].as_f64().expect("a number")
    };
    assert!(mean(0.1) > mean(10.0));
    let svg = std::fs::read_to_string(&picture).expect("it is written");
    assert!(svg.contains("beta 0"));
    // The same again, whatever the number of threads.
    let words = ["--minimise", "turnaround_mean", "--json", "-j", "3"];
    assert_eq!(tune(&file, &[&grid[..], &words[..]].concat()).ok().json(), json);
}

#[test]
fn what_cannot_be_tuned_is_refused() {
    let scratch = Scratch::new();
    let file = scratch.file("mix.json", MIX);
    tune(&file, &[]).refused(&["--minimise"]);
    tune(&file, &["--minimise", "speed"]).refused(&["--minimise speed", "response_p99"]);
    let aim = ["--minimise", "jain"];
    tune(&file, &[&aim[..], &["--alphas", "2,1"]].concat()).refused(&["--alphas 2,1", "rising"]);
    tune(&file, &[&aim[..], &["--betas", "x"]].concat()).refused(&["beta = x"]);
    rota(&["tune", "vtrr", &file, "--minimise", "jain"]).refused(&["alpha"]);
    let none = tune(&file, &["--minimise", "p99_response", "--alphas", "1", "--betas", "0"]);
    none.refused(&["response_p99", "expected a metric"]);
}
