// SPDX-License-Identifier: MIT OR Apache-2.0
//! Labels of policies, and conditions that a comparison passes or fails by.

use crate::support::{fixture, rota, Run, Scratch, RANDOM};

const SHARES: &str = "workloads/shares321.json";

/// `rota compare` of the tasks of the VTRR paper, with some words more, on a machine without costs.
fn compare(words: &[&str]) -> Run {
    let machine = ["--cpus", "1", "--ideal", "--duration", "2s", "--seeds", "2"];
    rota(&[&["compare", SHARES], words, &machine[..]].concat())
}

#[test]
fn a_label_is_what_tables_and_json_call_a_policy() {
    let words = ["old=wrr", "new=vtrr:quantum_ns=5ms", "--baseline", "old"];
    let text = compare(&words).ok().stdout;
    for row in ["\nold  ", "\nnew  ", "\nto old  "] {
        assert!(text.contains(row), "{row:?}: {text}");
    }
    assert!(!text.contains("eevdf"), "{text}");
    let json = compare(&[&words[..], &["--json"]].concat()).ok().json();
    assert_eq!(json["baseline"]["label"], "old");
    let policies = &json["comparisons"][0]["policies"];
    assert_eq!(
        (&policies[1]["label"], &policies[1]["policy"]["name"]),
        (&"new".into(), &"vtrr".into())
    );
    assert_eq!(policies[1]["policy"]["tunables"]["quantum_ns"], 5_000_000);

    let sim = rota(&["sim", "mine=wfq", SHARES, "--duration", "100ms"]).ok().stdout;
    assert!(sim.starts_with("mine, workloads/shares321.json:"), "{sim}");
}

#[test]
fn files_of_one_name_are_told_apart_by_the_shortest_path() {
    let scratch = Scratch::new();
    let object = rota_catalog::find("fifo").expect("ships").object;
    for folder in ["a", "b"] {
        std::fs::create_dir(scratch.path(folder)).expect("a folder");
        scratch.file(&format!("{folder}/x.bpf.o"), object);
    }
    let (a, b) = (scratch.path("a/x.bpf.o"), scratch.path("b/x.bpf.o"));
    let json = compare(&[&a, &b, "--baseline", "none", "--json"]).ok().json();
    let policies = json["comparisons"][0]["policies"].as_array().expect("policies").iter();
    let labels: Vec<&str> =
        policies.map(|policy| policy["label"].as_str().expect("text")).collect();
    assert_eq!(labels, ["a/x", "b/x"]);
}

#[test]
fn two_policies_of_one_label_are_refused() {
    compare(&["x=wfq", "x=rr"]).refused(&["label x: two policies have it"]);
    compare(&["rr=wfq", "rr"]).refused(&["two policies are called rr", "NAME=POLICY"]);
    compare(&["x="]).refused(&["\"x=\"", "expected a name or a file"]);
}

/// The VTRR paper (§3): the lag of its tasks is 10 ms under WRR and 5 ms under VTRR, in quanta of
/// 10 ms. So VTRR is better by half, and WRR worse by 100 %.
#[test]
fn a_condition_that_holds_is_a_line_and_exit_code_1() {
    let run = compare(&["old=vtrr", "new=wrr", "--fail-if", "lag_max worse by 5%"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let failed =
        "failed: workloads/shares321.json, 1 CPU, new: lag_max worse by 5%: lag max 10.0ms, \
                  old 5.00ms: 2.00x, p < 0.0001\n";
    assert_eq!(run.stderr, failed);
    assert!(run.stdout.contains("to old "), "the first is the baseline: {}", run.stdout);

    let worse = ["--fail-if", "lag_max worse by 101%", "--fail-if", "p99_wakeup(A) > 1s"];
    compare(&[&["old=vtrr", "new=wrr"], &worse[..]].concat()).ok();
    let other_way = compare(&["old=wrr", "new=vtrr", "--fail-if", "lag max worse"]).ok();
    assert!(other_way.stdout.contains("to old "), "{}", other_way.stdout);
}

#[test]
fn conditions_have_a_place_in_json() {
    let conditions = ["--fail-if", "lag_max > 9ms", "--fail-if", "share(C) within 10%..20%"];
    let run =
        compare(&[&["wrr", "vtrr", "--baseline", "none", "--json"], &conditions[..]].concat());
    assert_eq!(run.code, 1);
    let json = run.json();
    let of = |at: usize| {
        let one = &json["conditions"][at];
        (one["policy"].as_str(), one["condition"].as_str(), one["holds"].as_bool())
    };
    assert_eq!(of(0), (Some("wrr"), Some("lag_max > 9ms"), Some(true)));
    // A sixth of the processor is C's by weight.
    assert_eq!(of(1), (Some("wrr"), Some("share(C) within 10%..20%"), Some(true)));
    assert_eq!(of(2), (Some("vtrr"), Some("lag_max > 9ms"), Some(false)));
}

#[test]
fn an_ejected_policy_fails_each_condition() {
    let scratch = Scratch::new();
    let load = scratch.file("load.json", RANDOM);
    let bad = fixture("quitter.bpf.c");
    let words = [
        "--seeds",
        "2",
        "--duration",
        "100ms",
        "--fail-if",
        "exit != ok",
        "--fail-if",
        "lag_max > 9s",
    ];
    let run = rota(&[&["compare", &load, "fifo", &bad], &words[..]].concat());
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains(": exit != ok: 2 of 2 runs ended early: "), "{}", run.stderr);
    assert!(run.stderr.contains("lag_max > 9s: cannot be told: "), "{}", run.stderr);
}

#[test]
fn a_condition_that_cannot_be_judged_is_refused_before_any_run() {
    let refused = |condition: &str, parts: &[&str]| {
        compare(&["wrr", "vtrr", "--fail-if", condition]).refused(parts);
    };
    refused("p98_wakeup worse by 5%", &["--fail-if 'p98_wakeup worse by 5%'", "did you mean"]);
    refused("p99_wakeup(X) > 5ms", &["no workload has a task \"X\""]);
    refused("lag_max worse than wr", &["no policy is called \"wr\" (did you mean wrr?)"]);
    let one = ["compare", SHARES, "wrr", "rr", "--seeds", "1", "--fail-if", "lag_max worse by 5%"];
    rota(&one).refused(&["one seed has no paired test", "two seeds or more"]);
    compare(&["wrr", "--baseline", "none", "--fail-if", "lag_max worse"]).refused(&["no baseline"]);
}
