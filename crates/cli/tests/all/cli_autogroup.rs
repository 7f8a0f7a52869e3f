// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--no-autogroup` of `rota sim` and `rota compare`.

use crate::support::{rota, Scratch};
use serde_json::Value;

/// A game of nice -10, weight 9548, and sixteen compilers, 1024 each, in sessions of their own.
/// Without autogroups the game has 9548 of 9548 + 16 × 1024: 36.8 %. With them it has a half.
const LOAD: &str = r#"{"tasks": {
    "game": {"session": 10, "priority": -10, "run": 10000},
    "make": {"session": 11, "instance": 16, "run": 10000}}}"#;

/// The same, in the fair class above a policy that has one task.
const PARTIAL: &str = r#"{"tasks": {
    "game": {"session": 10, "priority": -10, "run": 10000},
    "make": {"session": 11, "instance": 16, "run": 10000},
    "ext": {"policy": "SCHED_EXT", "loop": 1, "run": 1000}}}"#;

/// Percent of the CPU that the game has.
fn game(run: &Value) -> f64 {
    let tasks = run["tasks"].as_array().expect("tasks");
    let game = tasks.iter().find(|task| task["name"] == "game-0").expect("the game");
    100.0 * game["cpu_ns"].as_f64().expect("a time") / 10e9
}

#[test]
fn sim_without_autogroups_has_tasks_compete_by_weight() {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", LOAD);
    let sim = |more: &[&str]| {
        rota(&[&["sim", "eevdf", &load, "--cpus", "1", "--json"], more].concat()).ok().json()
    };
    let (with, without) = (game(&sim(&[])), game(&sim(&["--no-autogroup"])));
    assert!((49.0..51.0).contains(&with), "{with}");
    assert!((35.8..37.8).contains(&without), "{without}");
    let run = sim(&["--no-autogroup"]);
    assert_eq!(run["policy"]["tunables"]["autogroup"], false);
    // What is set comes last.
    let set = game(&sim(&["--no-autogroup", "--set", "autogroup=true"]));
    assert!((49.0..51.0).contains(&set), "{set}");
}

#[test]
fn the_fair_class_has_no_autogroups_then_either() {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", PARTIAL);
    let sim = |more: &[&str]| {
        let usual = ["sim", "fifo", &load, "--cpus", "1", "--partial", "--json"];
        rota(&[&usual, more].concat()).json()
    };
    let (with, without) = (game(&sim(&[])), game(&sim(&["--no-autogroup"])));
    assert!((49.0..51.0).contains(&with), "{with}");
    assert!((35.8..37.8).contains(&without), "{without}");
}

#[test]
fn a_policy_without_autogroups_is_named() {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", LOAD);
    let usual = ["--cpus", "1", "--duration", "100ms", "--no-autogroup"];
    let sim = rota(&[&["sim", "wfq", &load][..], &usual].concat());
    let note = "note: wfq has no autogroups: --no-autogroup does not change it\n";
    assert!(sim.stderr.contains(note), "{}", sim.stderr);
    let compare = ["compare", &load, "wfq", "--seeds", "2"];
    let compare = rota(&[&compare[..], &usual].concat());
    assert!(compare.stderr.contains(note), "{}", compare.stderr);
    assert!(!compare.stderr.contains("eevdf has no"), "{}", compare.stderr);
    assert!(compare.stdout.contains("eevdf:autogroup=false"), "{}", compare.stdout);
}

#[test]
fn compare_refuses_what_becomes_the_same_policy() {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", LOAD);
    let arguments = ["compare", &load, "eevdf:autogroup=false", "--no-autogroup"];
    rota(&arguments).refused(&["eevdf:autogroup=false is listed twice"]);
}
