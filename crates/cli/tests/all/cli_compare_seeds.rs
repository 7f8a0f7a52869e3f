// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota compare --seeds auto`: as many seeds as it takes.

use crate::support::{rota, Run, Scratch};
use serde_json::Value;

const LOAD: &str = r#"{ "tasks": {
    "talk": { "instance": 8, "run": {"dist": "exp", "mean": 1000},
              "sleep": {"dist": "exp", "mean": 1000} }
} }"#;

fn compare<'a>(load: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["compare", load, "rr", "wfq", "--duration", "200ms"];
    words.extend(["--metrics", "wakeup_p50"]);
    words.extend(more);
    words
}

/// It works, and says how many seeds it took.
fn told(words: &[&str]) -> Run {
    let run = rota(words);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run
}

/// Half of the interval of wfq's differences from rr, as a part of rr's mean.
fn precision(json: &Value) -> f64 {
    let policies = &json["comparisons"][0]["policies"];
    let half = &policies[1]["measures"]["wakeup_p50"]["to_baseline"]["difference"]["half_width"];
    let mean = &policies[0]["measures"]["wakeup_p50"]["mean"];
    half.as_f64().expect("a half width") / mean.as_f64().expect("a mean")
}

#[test]
fn seeds_are_added_until_the_columns_are_precise() {
    let scratch = Scratch::new();
    let load = scratch.file("talk.json", LOAD);
    let auto = ["--baseline", "rr", "--json", "--seeds", "auto", "--precision", "12%"];
    let found = told(&compare(&load, &auto));
    let json = found.json();
    let seeds = json["seeds"].as_array().expect("seeds").len();
    // Half as many more each time.
    let steps = [10, 15, 23, 35, 53, 80, 120, 180, 200];
    let step = steps.iter().position(|step| *step == seeds).expect("a step");
    assert!(step > 0, "10 seeds were enough: the test says nothing");
    assert!(precision(&json) <= 0.12, "{}", precision(&json));
    let note = format!("note: {seeds} seeds: all columns are known within 12 %\n");
    assert!(found.stderr.ends_with(&note), "{}", found.stderr);
    // It is what so many seeds are otherwise, and fewer would not have been enough.
    let of = |seeds: usize| {
        let seeds = seeds.to_string();
        rota(&compare(&load, &["--baseline", "rr", "--json", "--seeds", &seeds])).ok()
    };
    assert_eq!(of(seeds).stdout, found.stdout);
    assert!(precision(&of(steps[step - 1]).json()) > 0.12);
}

#[test]
fn what_is_not_random_has_ten_seeds() {
    let scratch = Scratch::new();
    let load = r#"{ "tasks": { "hog": { "instance": 3, "run": 5000, "sleep": 1000 } } }"#;
    let load = scratch.file("even.json", load);
    let json = told(&compare(&load, &["--seeds", "auto", "--json"])).json();
    assert_eq!(json["seeds"].as_array().map(Vec::len), Some(10));
}

#[test]
fn what_stays_wide_is_named_after_two_hundred_seeds() {
    let scratch = Scratch::new();
    let load = scratch.file("talk.json", LOAD);
    let words = ["--baseline", "none", "--seeds", "auto", "--precision", "0.01%"];
    let mut words = compare(&load, &words);
    words[5] = "20ms";
    let run = told(&words);
    let warning = "warning: 200 seeds, and no more are run: wakeup p50 of ";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
    assert!(run.stderr.contains(" % only, not within 0.01 %\n"), "{}", run.stderr);
    assert!(run.stdout.contains("seeds 1 to 200"), "{}", run.stdout);
}

#[test]
fn a_precision_is_a_percentage() {
    let run = rota(&compare("load.json", &["--seeds", "auto", "--precision", "2"]));
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("expected a percentage from 0.01% to 100%, as 2%"),
        "{}",
        run.stderr
    );
}
