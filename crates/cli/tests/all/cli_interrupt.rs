// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ctrl-C prints what is done by then.

use crate::support::{interrupted, Scratch};

const WEB: &str = "workloads/webserver.json";

#[test]
fn an_interrupted_simulation_prints_the_numbers_of_its_part() {
    let scratch = Scratch::new();
    let (trace, choices) = (scratch.path("part.csv"), scratch.path("part.choices"));
    let words = ["sim", "rr", WEB, "--duration", "100h", "--trace", &trace];
    let run = interrupted(&[&words[..], &["--record-choices", &choices]].concat());
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stderr.starts_with("error: interrupted: results are of the first "),
        "{}",
        run.stderr
    );
    assert!(run.stderr.ends_with(" of 360000s; its choices are not written\n"), "{}", run.stderr);
    assert!(run.stdout.contains("\ntask "), "{}", run.stdout);
    assert!(run.stdout.contains("the run ended early, after "), "{}", run.stdout);
    assert!(!std::path::Path::new(&choices).exists());
    // The trace is whole up to there: a header and rows of equal length.
    let mut reader = csv::Reader::from_path(&trace).expect("trace opens");
    assert!(reader.records().all(|row| row.is_ok()));
}

#[test]
fn an_interrupted_search_prints_the_settings_that_it_tried() {
    let words = ["tune", "pbs", WEB, "--minimise", "wakeup_p99", "--duration", "1h"];
    let run = interrupted(&words);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let message = "error: interrupted after 2 runs: no setting was judged\n";
    let count = run.stderr.split_whitespace().nth(3).expect("a count");
    assert_eq!(run.stderr, message.replace(" 2 ", &format!(" {count} ")));
    assert!(run.stdout.starts_with("beta  alpha  seeds  wakeup p99"), "{}", run.stdout);
    let rows = run.stdout.lines().skip(1).map(|row| row.split_whitespace().nth(2));
    let runs: u32 = rows.map(|seeds| seeds.expect("seeds").parse::<u32>().expect("a number")).sum();
    assert_eq!(runs.to_string(), count);
}

#[test]
fn an_interrupted_reproduction_prints_its_figures_and_names_those_that_lack() {
    let run = interrupted(&["reproduce", "pbs", "--quick"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let missing = run.stderr.strip_prefix("error: interrupted: not done: pbs ").expect("a list");
    assert!(missing.contains("fig8"), "{missing}");
    for figure in ["fig4", "fig7", "fig8", "properties"] {
        let is_printed = run.stdout.contains(&format!("\n{figure}: "));
        assert_ne!(is_printed, missing.split([',', ' ', '\n']).any(|id| id == figure), "{figure}");
    }
}
