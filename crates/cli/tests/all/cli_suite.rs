// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota test`: suites, what they print, and what they keep.

use crate::support::{root, rota, Scratch};
use std::process::Command;

const SHARES: &str = "tests/suites/shares.toml";

/// A suite about the tasks of the VTRR paper, on a machine without costs.
fn suite(scratch: &Scratch, expect: &str) -> String {
    let load = root().join("workloads/shares321.json");
    let text = format!(
        "[run]\nseeds = 2\nduration = \"2s\"\ncpus = [1]\nideal = true\n\
         [policies]\nold = \"vtrr\"\nnew = \"wrr:quantum_ns=10ms\"\n\
         [[test]]\nname = \"shares & more\"\nworkloads = [\"{}\"]\n\
         expect = [\n{expect}\n]\n",
        load.display()
    );
    scratch.file("suite.toml", text)
}

/// Without what the surroundings may set.
fn test(words: &[&str]) -> crate::support::Run {
    rota(&[&["test"], words, &["--no-github"]].concat())
}

#[test]
fn the_suite_of_the_documentation_holds() {
    let scratch = Scratch::new();
    let run = test(&[SHARES, "--keep", &scratch.path("kept")]).ok();
    assert!(run.stdout.contains("\n  ok      new  lag_max <= 5ms: lag max 5.00"), "{}", run.stdout);
    assert!(run.stdout.ends_with("\nall 13 expectations hold\n"), "{}", run.stdout);
    assert!(!std::path::Path::new(&scratch.path("kept")).exists(), "nothing is kept");
    let page = std::fs::read_to_string(root().join("docs/gates.md")).expect("the page");
    let suite = std::fs::read_to_string(root().join(SHARES)).expect("the suite");
    let test = &suite[suite.find("[[test]]").expect("a test")..];
    let shown = test.lines().take_while(|line| !line.is_empty()).all(|line| page.contains(line));
    assert!(shown, "docs/gates.md shows the first test of {SHARES}");
}

/// The VTRR paper (§3): the lag of these tasks is 10 ms under WRR and 5 ms under VTRR, in quanta of
/// 10 ms.
#[test]
fn a_failure_is_shown_with_its_command_report_and_trace() {
    let scratch = Scratch::new();
    let expect = "\"exit == ok\",\n\"lag_max no worse than old by 5 %\",\n\"lag_max < 9ms\",";
    let (suite, kept) = (suite(&scratch, expect), scratch.path("kept"));
    let junit = scratch.path("out.xml");
    let run = test(&[&suite, "--keep", &kept, "--junit", &junit]);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""), "{}", run.stdout);
    for line in [
        "  ok      new  exit == ok: no early end in 2 runs",
        "  FAILED  new  lag_max no worse than old by 5 %: lag max 10.0ms, old 5.00ms: 2.00x, p < 0.0001",
        "  FAILED  new  lag_max < 9ms: lag max 10.0",
        "2 of 3 expectations do not hold\n",
    ] {
        assert!(run.stdout.contains(line), "{line:?}: {}", run.stdout);
    }
    let report = format!("{kept}/shares---more-1/report.html");
    assert!(std::fs::read_to_string(&report).expect("a report").starts_with("<!"), "{report}");
    let trace = run.stdout.lines().find_map(|line| line.strip_prefix("  trace   ")).expect("one");
    assert!(trace.ends_with("-new.pftrace"), "{trace}");
    assert!(std::fs::metadata(trace).expect("a trace").len() > 1000);

    // The command that is printed shows the numbers that failed.
    let mut lines = run.stdout.lines();
    let command = lines.find_map(|line| line.trim().strip_prefix("rota ")).expect("a command");
    let words: Vec<&str> = command.split(' ').collect();
    let shown = rota(&words).ok().stdout;
    assert!(
        shown.lines().any(|line| line.starts_with("new ") && line.contains("10.0ms")),
        "{shown}"
    );

    let xml = std::fs::read_to_string(&junit).expect("results");
    assert!(
        xml.contains("<testsuite name=\"shares &amp; more\" tests=\"3\" failures=\"2\">"),
        "{xml}"
    );
    assert_eq!(xml.matches("<failure message=").count(), 2, "{xml}");
    assert!(xml.contains("line=\"14\""), "{xml}");
}

#[test]
fn annotations_come_where_github_runs() {
    let scratch = Scratch::new();
    let suite = suite(&scratch, "\"lag_max < 9ms\",");
    let run = |variable: &str, words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rota"));
        let command = command.args(["test", &suite, "--keep-nothing"]).args(words);
        let output = command.env_remove("GITHUB_ACTIONS").env(variable, "true").output();
        String::from_utf8(output.expect("rota starts").stdout).expect("text")
    };
    let annotation = format!("::error file={suite},line=13,title=shares & more%3A new::");
    for text in [run("GITHUB_ACTIONS", &[]), run("OTHER", &["--github"])] {
        assert!(text.lines().any(|line| line.starts_with(&annotation)), "{annotation}: {text}");
    }
    for text in [run("OTHER", &[]), run("GITHUB_ACTIONS", &["--no-github"])] {
        assert!(!text.contains("::error"), "{text}");
    }
}

#[test]
fn json_has_every_expectation() {
    let scratch = Scratch::new();
    let suite = suite(&scratch, "\"lag_max < 9ms\",\n'share(\"A\") within 49%..51%',");
    let run = test(&[&suite, "--keep-nothing", "--json"]);
    assert_eq!(run.code, 1);
    let json = run.json();
    assert_eq!((&json["schema"], &json["failed"]), (&"rota.test/1".into(), &1.into()));
    let of = |at: usize| {
        (json["expectations"][at]["policy"].as_str(), json["expectations"][at]["failed"].as_bool())
    };
    assert_eq!((of(0), of(1)), ((Some("new"), Some(true)), (Some("new"), Some(false))));
    assert_eq!((of(2), of(3)), ((Some("old"), Some(false)), (Some("old"), Some(false))));
}

#[test]
fn a_mistake_in_a_suite_is_refused_before_any_run() {
    let scratch = Scratch::new();
    let refused = |expect: &str, parts: &[&str]| {
        let suite = suite(&scratch, expect);
        test(&[&suite]).refused(parts);
    };
    refused(
        "\"p98_wakeup < 5ms\"",
        &["suite.toml:13: 'p98_wakeup < 5ms': ", "did you mean wakeup_p9"],
    );
    refused("\"p99_wakeup(X) < 5ms\"", &["suite.toml:13:", "no workload has a task \"X\""]);
    let suite = suite(&scratch, "\"exit == ok\"");
    test(&[&suite, "--only", "nothing"]).refused(&["--only nothing", "no test"]);
    let text = std::fs::read_to_string(&suite).expect("text").replace("\"2s\"", "\"2x\"");
    let suite = scratch.file("other.toml", text);
    test(&[&suite]).refused(&["other.toml: test \"shares & more\"", "--duration", "2x"]);
}
