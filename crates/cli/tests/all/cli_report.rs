// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota compare --report`: where its numbers come from, and that they are all there.

use crate::support::{root, rota, Scratch, RANDOM};
use sha2::{Digest, Sha256};
use std::process::{Command, Output};

/// Runs a comparison as if it were the given second since 1970.
fn compare_at(seconds: &str, args: &[&str]) -> Output {
    let mut rota = Command::new(env!("CARGO_BIN_EXE_rota"));
    rota.arg("compare").args(args).current_dir(root()).env("SOURCE_DATE_EPOCH", seconds);
    rota.output().expect("rota starts")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).expect("a report").replace('\u{a0}', " ")
}

/// What the figures of the first workload are drawn from.
fn data(document: &str) -> &str {
    let begin = document.split_once("id=\"data-0\">").expect("data").1;
    begin.split_once("</script>").expect("its end").0
}

#[test]
fn a_report_of_a_given_date_is_the_same_again() {
    let scratch = Scratch::new();
    let (load, report) = (scratch.file("random.json", RANDOM), scratch.path("out.html"));
    let args = [&load, "fifo", "rr", "--seeds", "3", "--duration", "200ms", "--report", &report];
    let document = || {
        let output = compare_at("1000000000", &args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(&report).expect("a report")
    };
    assert!(document() == document());
    let text = read(&report);
    assert!(text.contains("2001-09-09 01:46 UTC</dd>"));
    assert!(!text.contains("<dt>on</dt>"), "a host makes a difference");
    let digest = Sha256::digest(RANDOM);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(text.contains(&format!("<code>{digest}</code>")), "{digest}");
    for policy in ["eevdf", "fifo", "rr"] {
        let row = format!("shipped policy</th>\n<td class=\"word\">{policy}</td>");
        assert!(text.contains(&row), "{policy}");
    }
    assert!(text.contains("Seeds: 1, 2, 3"));

    rota(&[&["compare"], &args[..]].concat()).ok();
    assert!(read(&report).contains("<dt>on</dt>\n<dd>Linux "));
}

#[test]
fn findings_are_those_of_the_terminal() {
    let scratch = Scratch::new();
    let report = scratch.path("out.html");
    let args = ["workloads/desktop.json", "fifo", "wfq", "--seeds", "3", "--duration", "1s"];
    let text = rota(&[&["compare"], &args[..], &["--report", &report]].concat()).ok().stdout;
    let (_, findings) = text.split_once("\nFindings\n").expect("findings");
    let begin = findings.split_whitespace().take(4).collect::<Vec<&str>>();
    let [about, words @ ..] = begin.as_slice() else { panic!("{findings}") };
    let row = format!("<dt>{about}</dt>\n<dd>{}", words.join(" "));
    assert!(read(&report).contains(&row), "{row}");
}

#[test]
fn a_date_that_is_none_is_refused() {
    let scratch = Scratch::new();
    let (load, report) = (scratch.file("random.json", RANDOM), scratch.path("out.html"));
    let output = compare_at("yesterday", &[&load, "fifo", "--report", &report]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("SOURCE_DATE_EPOCH=yesterday: expected a number"), "{stderr}");
    // Without a report there is no date either.
    let output = compare_at("yesterday", &[&load, "fifo", "--seeds", "1", "--duration", "10ms"]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn instances_are_counted_and_machines_told_apart() {
    let scratch = Scratch::new();
    let many = r#"{ "tasks": {
        "crowd": { "instance": 1999, "run": 10, "sleep": 100000 }, "hog": { "run": 1000 } } }"#;
    let (load, report) = (scratch.file("many.json", many), scratch.path("out.html"));
    let options = ["--seeds", "1", "--duration", "20ms", "--cpus", "2,3", "--report", &report];
    rota(&[&["compare", &load, "rr", "--baseline", "none"], &options[..]].concat()).ok();
    let text = read(&report);
    for cpus in [2, 3] {
        assert!(text.contains(&format!("<h2>{load}, {cpus} CPUs</h2>")), "{cpus}");
        assert!(text.contains(&format!("{cpus} CPUs · 2000 tasks · ")), "{cpus}");
    }
    assert!(text.contains("crowd<span class=\"count\"> ×1999</span>"));
}

#[test]
fn few_samples_are_said_and_many_are_not() {
    let scratch = Scratch::new();
    let (report, json) = (scratch.path("out.html"), scratch.path("out.json"));
    let wakeups = |load: &str| {
        let load = scratch.file("load.json", load);
        let options = ["--seeds", "1", "--duration", "1s", "--baseline", "none"];
        rota(&[&["compare", &load, "rr", "--report", &report], &options[..]].concat()).ok();
        let numbers: serde_json::Value =
            serde_json::from_str(&read(&json)).expect("numbers next to the report");
        let count = find(&numbers, "wakeups").expect("a number of wakeups");
        (count, read(&report))
    };
    let (few, text) = wakeups(r#"{ "tasks": { "a": { "loop": 4, "run": 10, "sleep": 10 } } }"#);
    assert!((4.0..=6.0).contains(&few), "{few}");
    assert!(text.contains(&format!(">n = {few}</span>")), "{few}");
    let (many, text) = wakeups(r#"{ "tasks": { "a": { "run": 10, "sleep": 100 } } }"#);
    // Enough for a p99.9, too.
    assert!(many > 1000.0 && !text.contains(">n = "), "{many}");
}

/// The mean of a metric, wherever it is.
fn find(value: &serde_json::Value, key: &str) -> Option<f64> {
    match value {
        serde_json::Value::Object(object) => {
            let here = object.get(key).and_then(|of| of["mean"].as_f64());
            here.or_else(|| object.values().find_map(|value| find(value, key)))
        }
        serde_json::Value::Array(list) => list.iter().find_map(|value| find(value, key)),
        _ => None,
    }
}

#[test]
fn runs_that_were_kept_are_in_the_figures() {
    let scratch = Scratch::new();
    let (load, kept) = (scratch.file("random.json", RANDOM), scratch.path("kept"));
    let compare = |more: &[&str]| {
        let args = ["compare", &load, "rr", "--seeds", "4", "--duration", "100ms"];
        rota(&[&args[..], more].concat()).ok();
    };
    compare(&["--resume", &kept]);
    let (one, other) = (scratch.path("one.html"), scratch.path("other.html"));
    compare(&["--resume", &kept, "--report", &one]);
    compare(&["--report", &other]);
    let (one, other) = (read(&one), read(&other));
    assert!(data(&one) == data(&other));
    // Seeds, and times of all of them.
    assert!(one.contains("<th scope=\"row\">rr</th>\n<td>4</td>\n<td>"));
}
