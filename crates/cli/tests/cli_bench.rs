// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota bench`: real processes on this machine. Nothing here depends on how fast it is, or on
//! what else runs.

mod support;

use support::{rota, Scratch};

/// An encoder that writes the same 1000 bytes for ever.
const STAND_IN: &str = "while :; do printf '%01000d' 0; done";

fn encoders(more: &[&str]) -> support::Run {
    let words = ["bench", "encoders", "--frame-bytes", "1000", "--duration", "1s"];
    let stand_in = ["--", "sh", "-c", STAND_IN];
    let words: Vec<&str> = words.iter().chain(more).chain(&stand_in).copied().collect();
    rota(&words)
}

#[test]
fn every_child_computes_pi_and_tells_its_time() {
    let fairness = ["bench", "fairness", "--children", "3", "--repeat", "2", "--steps", "100000"];
    let words: Vec<&str> = fairness.iter().chain(&["--json"]).copied().collect();
    let json = rota(&words).ok().json();
    assert_eq!(json["schema"], "rota.bench.fairness/1");
    let times = json["times_ns"].as_array().expect("a list");
    assert_eq!(times.len(), 6);
    assert!(times.iter().all(|ns| ns.as_u64().is_some_and(|ns| ns > 0)));
    let bins = json["bins"].as_array().expect("a list");
    assert_eq!(bins.iter().filter_map(|bin| bin[1].as_u64()).sum::<u64>(), 6);
    assert!(json["spread_ns"]["mean"].as_f64() >= json["spread_ns"]["min"].as_f64());

    let text = rota(&fairness).ok().stdout;
    assert!(text.starts_with("3 children on CPU ") && text.contains("deviation (s)"), "{text}");
}

#[test]
fn frames_of_encoders_are_counted_over_time() {
    let scratch = Scratch::new();
    let picture = scratch.path("frames.svg");
    let json = encoders(&["--nice", "0,19", "--json", "--picture", &picture]).ok().json();
    assert_eq!(json["schema"], "rota.bench.encoders/1");
    let encoders = json["encoders"].as_array().expect("a list");
    // 1024 and 15 are the kernel's weights of nice 0 and 19.
    assert_eq!((&encoders[0]["weight"], &encoders[1]["weight"]), (&1024.into(), &15.into()));
    let frames = |at: usize| -> Vec<u64> {
        let frames = encoders[at]["frames_ns"].as_array().expect("a list");
        frames.iter().filter_map(serde_json::Value::as_u64).collect()
    };
    let first = frames(0);
    assert!(!first.is_empty() && first.is_sorted());
    // Whatever else runs: the other has a seventieth of its weight on the same CPU.
    assert!(first.len() > frames(1).len(), "{} {}", first.len(), frames(1).len());
    assert!(std::fs::read_to_string(&picture).expect("is drawn").starts_with("<svg"));
}

#[test]
fn a_program_that_is_no_encoder_is_told() {
    let run = |duration: &str, command: &[&str]| {
        let words = ["bench", "encoders", "--nice", "0", "--duration", duration, "--"];
        rota(&words.iter().chain(command).copied().collect::<Vec<_>>())
    };
    let silent = run("200ms", &["sleep", "60"]);
    assert_eq!(silent.code, 1);
    assert!(silent.stderr.contains("no encoder has written a frame"), "{}", silent.stderr);
    let short = run("1h", &["true"]);
    assert_eq!(short.code, 1);
    assert!(short.stderr.contains("before the time was over"), "{}", short.stderr);
    run("1h", &["/nonexistent/encoder"]).refused(&["cannot start /nonexistent/encoder"]);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    assert_eq!(encoders(&["--nice", "20"]).code, 2);
    encoders(&["--nice", "0", "--cpu", "100000"]).refused(&["CPU 100000 is not there"]);
    assert_eq!(rota(&["bench", "fairness", "--children", "0"]).code, 2);
    assert_eq!(rota(&["bench", "encoders"]).code, 2);
}
