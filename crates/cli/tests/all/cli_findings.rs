// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rota compare` finds: the best policy for each goal, what it costs, what to avoid, and
//! what to run.

use crate::support::{fixture, rota, Scratch};

const SHARES: &str = "workloads/shares321.json";
/// A task that computes for 9 s at a time, and one that wants 1 ms of every 10.
const HOG: &str = r#"{"tasks": {"hog": {"run": 9000000, "sleep": 1000},
                               "ui": {"run": 1000, "sleep": 9000}}}"#;

/// The part of the output after its headline, with lines joined to sentences.
fn findings(words: &[&str]) -> String {
    let text = rota(words).ok().stdout;
    let (_, found) = text.split_once("\nFindings").unwrap_or_else(|| panic!("{text}"));
    found.split_whitespace().collect::<Vec<&str>>().join(" ")
}

#[track_caller]
fn has(found: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(found.contains(part), "{part}\n in {found}"));
}

/// Lags by the VTRR paper (§2.2 to §3, shares 3, 2 and 1 with a quantum of 10 ms): 10 ms under WRR,
/// 5/6 of that under WFQ, half of it under VTRR. Nothing is random there: differences are exact.
#[test]
fn the_best_policy_of_a_goal_is_named_with_its_ratio_and_its_command() {
    let words = ["compare", SHARES, "--cpus", "1", "--ideal", "--seeds", "2", "wrr", "wfq", "vtrr"];
    let goal = ["--baseline", "wrr", "--goal", "fairness"];
    let found = findings(&[&words[..], &goal[..]].concat());
    has(
        &found,
        &[
            "fairness vtrr is best: lag max 5.00ms, 0.50x wrr's 10.0ms.",
            "to do sudo rota run vtrr (for fairness)",
        ],
    );
    assert!(!found.contains("avoid"), "{found}");
}

/// Under first come, first served the hog, which comes first, runs for its 9 s, and then the other
/// has its first turn.
#[test]
fn a_policy_that_starves_a_task_is_named_with_the_task_and_its_wait() {
    let scratch = Scratch::new();
    let file = scratch.file("hog.json", HOG);
    let words = ["compare", &file, "--cpus", "1", "--ideal", "--seeds", "2", "fifo"];
    let found = findings(&words);
    has(&found, &["avoid fifo starves ui: ready to run for up to 9.00s without running, "]);
    has(&found, &["under eevdf"]);
    // Whatever it is best for, it is not what to run.
    let found = findings(&[&words[..], &["--goal", "switches"]].concat());
    has(
        &found,
        &[
            "switches fifo is best: context switches",
            "to do keep eevdf: fifo is better for switches, but",
        ],
    );
}

#[test]
fn a_task_s_own_metric_can_be_the_goal() {
    let scratch = Scratch::new();
    let file = scratch.file("hog.json", HOG);
    let words = ["compare", &file, "--cpus", "1", "--ideal", "--seeds", "2", "fifo", "rr"];
    let goal = ["--baseline", "fifo", "--goal", "ui:longest wakeup"];
    let refused = rota(&[&words[..], &["--goal", "iu:wakeup_max"]].concat());
    refused.refused(&["--goal 'iu:wakeup_max'", "no workload has a task \"iu\"", "mean ui"]);
    let found = findings(&[&words[..], &goal[..]].concat());
    has(&found, &["ui:longest wakeup rr is best: wakeup max of ui", "x fifo's 9.00s"]);
}

/// Turns of 100 ms make a task of 9 s that runs beside another one switch about a hundred times as
/// often as first come, first served.
#[test]
fn what_the_policy_to_run_loses_in_other_goals_stands_with_the_advice() {
    let scratch = Scratch::new();
    let file = scratch.file("hog.json", HOG);
    let words = ["compare", &file, "--cpus", "1", "--ideal", "--seeds", "2", "fifo", "rr"];
    let goals = ["--baseline", "fifo", "--goal", "ui:longest wakeup", "--goal", "switches"];
    let words = [&words[..], &goals[..]].concat();
    let found = findings(&words);
    let (_, advice) = found.split_once("to do ").expect("an advice");
    let expected =
        "sudo rota run rr (for ui:longest wakeup; but worse for switches: context switches (";
    assert!(advice.starts_with(expected), "{advice}");

    let json = rota(&[&words[..], &["--json"]].concat()).ok().json();
    assert_eq!(json["advice"]["worse_for"], serde_json::json!(["switches"]));
}

#[test]
fn equal_policies_are_within_noise_and_the_baseline_stays() {
    let same = "eevdf:base_slice_ns=700us";
    let shipped = rota(&["list", "eevdf"]).ok().stdout;
    assert!(
        shipped.contains("base_slice_ns=700000 "),
        "what the test sets is what ships: {shipped}"
    );
    let words = ["compare", "workloads/web.json", "--duration", "300ms", "--seeds", "2", same];
    let found = findings(&words);
    has(&found, &["noise no difference to eevdf", &format!(": {same} ")]);
    has(&found, &["to do keep eevdf: no policy is better for latency"]);
}

#[test]
fn an_ejected_policy_is_to_be_avoided_and_is_never_the_winner() {
    let stalls = fixture("drop.bpf.c");
    let words = ["compare", SHARES, "--cpus", "1", "--seeds", "2", "--goal", "overhead", &stalls];
    let run = rota(&words);
    assert_eq!(run.code, 3, "{}", run.stdout);
    let text = run.stdout.split_whitespace().collect::<Vec<&str>>().join(" ");
    has(&text, &["was ejected in 2 of 2 runs: ", "to do keep eevdf"]);
}

#[test]
fn one_seed_finds_nothing() {
    let text = rota(&["compare", SHARES, "--seeds", "1", "rr"]).ok().stdout;
    assert!(!text.contains("Findings"), "{text}");
    assert!(text.contains("there are no findings"), "{text}");
}

#[test]
fn several_workloads_have_one_advice() {
    let words = ["compare", SHARES, "--cpus", "1,2", "--ideal", "--seeds", "2"];
    let more = ["--baseline", "wrr", "vtrr", "--goal", "fairness"];
    let text = rota(&[&words[..], &more[..]].concat()).ok().stdout;
    has(&text, &["Findings for workloads/shares321.json, 1 CPU\n"]);
    has(&text, &["Findings for workloads/shares321.json, 2 CPUs\n"]);
    assert_eq!(text.matches("to do").count(), 1, "{text}");
}

#[test]
fn json_has_the_findings_of_the_text() {
    let words = ["compare", SHARES, "--cpus", "1", "--ideal", "--seeds", "2", "wfq", "vtrr"];
    let more = ["--baseline", "wrr", "--goal", "fairness", "--json"];
    let json = rota(&[&words[..], &more[..]].concat()).ok().json();
    let goal = &json["comparisons"][0]["findings"]["goals"][0];
    assert_eq!((goal["goal"].as_str(), goal["best"].as_str()), (Some("fairness"), Some("vtrr")));
    assert_eq!(goal["metric"], "lag_max");
    assert_eq!(json["advice"]["command"], "sudo rota run vtrr");
}

#[test]
fn every_line_fits_a_hundred_columns() {
    let words = ["compare", "workloads/webserver.json", "--duration", "300ms", "--seeds", "2"];
    for more in [&["--all"][..], &["--metrics", "all"], &["--metrics", "latency,cost", "--all"]] {
        let text = rota(&[&words[..], more].concat()).ok().stdout;
        let long = text.lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None);
    }
}
