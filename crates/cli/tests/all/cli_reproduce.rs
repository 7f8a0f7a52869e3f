// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota reproduce`, but for the experiments that take long: those are in `tests/reproduce.rs`.

use crate::support::{rota, Scratch};

/// Figures that take no time.
const SHORT: [&str; 7] = ["fig4", "fig5", "fig6", "fig7", "fig8", "fig9", "guests"];

fn reproduce(more: &[&str]) -> crate::support::Run {
    let words: Vec<&str> = ["reproduce", "vtrr"].iter().chain(more).copied().collect();
    rota(&words)
}

#[test]
fn named_figures_are_run_and_agree_with_the_paper() {
    let json = reproduce(&["fig6", "fig5", "--json"]).ok().json();
    assert_eq!(json["schema"], "rota.reproduce/2");
    let figures = json["figures"].as_array().expect("a list");
    // In the order of the paper, whatever the order of the words.
    assert_eq!([&figures[0]["id"], &figures[1]["id"]], ["fig5", "fig6"]);
    for figure in figures {
        let period = &figure["numbers"][0];
        assert_eq!((&period["key"], &period["verdict"]), (&"period".into(), &"agrees".into()));
        // The paper's, and 15 quanta of 20 ms.
        assert_eq!(period["ours"]["value"], 300.0);
    }
}

#[test]
fn numbers_do_not_depend_on_the_number_of_threads() {
    let run = |jobs| {
        let words: Vec<&str> = SHORT.into_iter().chain(["--json", "-j", jobs]).collect();
        reproduce(&words).ok().stdout
    };
    let one = run("1");
    assert_eq!(run("2"), one);
    assert_eq!(run("5"), one);
}

#[test]
fn a_report_is_one_file_with_every_figure() {
    let scratch = Scratch::new();
    let path = scratch.path("out.html");
    reproduce(&["fig6", "guests", &format!("--report={path}")]).ok();
    let html = std::fs::read_to_string(&path).expect("it is written");
    assert!(html.contains("default-src &#39;none&#39;"));
    // fig6 has one picture, the guests one for each of their schedulers.
    assert!(html.matches("<svg").count() >= 3, "{}", html.matches("<svg").count());
    assert!(!html.contains("<script") && !html.contains("http-equiv=\"refresh\""));
    for id in ["id=\"fig6\"", "id=\"guests\""] {
        assert!(html.contains(id), "{id}");
    }
}

#[test]
fn what_there_is_not_is_refused_with_what_there_is() {
    rota(&["reproduce", "vtr"]).refused(&["there is no paper 'vtr'", "vtrr"]);
    reproduce(&["fig77"]).refused(&["vtrr has no 'fig77'", "fig1, fig2, fig3"]);
    let both = reproduce(&["--quick", "--full"]);
    assert_eq!(both.code, 2);
    rota(&["reproduce", "vtrr", "fig5", "--report=/nonexistent/x.html"])
        .refused(&["cannot create /nonexistent/x.html"]);
}

#[test]
fn children_are_done_closer_together_under_cfs_than_under_o1() {
    let figures = ["fig1a", "fig1b", "fig1c", "fig1d"];
    let run = rota(&[&["reproduce", "o1cfs"], &figures[..], &["--json"]].concat());
    let json = run.ok().json();
    // Of 8, 16, 24 and 32 children.
    for figure in json["figures"].as_array().expect("a list") {
        assert_eq!(figure["numbers"][0]["key"], "narrower");
        assert_eq!(figure["numbers"][0]["verdict"], "agrees", "{figure}");
    }
    assert_eq!(json["figures"].as_array().map(Vec::len), Some(4));
}

#[test]
fn nanoseconds_of_the_bench_are_shown_beside_instructions() {
    let scratch = Scratch::new();
    let costs = scratch.file(
        "costs.json",
        r#"{"schema": "rota.decision-cost/1", "computer": {"cpu": "Some CPU", "kernel": "7.2",
        "virtual_machine": false, "load_average": 0.5}, "rows": [
        {"policy": "vtrr", "tasks": 10, "ns": {"median": 457.4}, "ratio": 2.24},
        {"policy": "wfq:queue=list", "tasks": 10, "ns": {"median": 508.0}}]}"#,
    );
    let file = format!("--decision-cost={costs}");
    let text = reproduce(&["fig3", "--quick", &file]).stdout;
    assert!(text.contains("Nanoseconds of a decision"), "{text}");
    // The last table; the one before is of instructions.
    let row = text.lines().rfind(|line| line.trim().starts_with("10 ")).expect("a row");
    // Linux 2.2 and WFQ with a heap are not in the file.
    let row: Vec<_> = row.split_whitespace().collect();
    assert_eq!(row, ["10", "–", "508", "–", "457", "(2.2)"]);

    reproduce(&["fig5", &file]).refused(&["only fig3 of vtrr shows costs of decisions"]);
    let other = scratch.file("other.json", "{}");
    let file = format!("--decision-cost={other}");
    reproduce(&["fig3", "--quick", &file]).refused(&["other.json", "missing field"]);
}

/// Round robin's and the feedback queue's unhappiness is that of the definition to the microsecond,
/// whatever is printed; nobody waits for whom nobody waits under `appease`.
#[test]
fn formulas_of_exact_schedules_agree_with_the_cas_paper_by_definition() {
    let run = rota(&["reproduce", "cas", "rr", "mlfq", "appease", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let mut judged = 0;
    for figure in json["figures"].as_array().expect("a list") {
        for number in figure["numbers"].as_array().expect("a list") {
            let key = number["key"].as_str().expect("a key");
            // A task that its service preempts before it sleeps does not begin in Q0 again; what is
            // printed takes CPU time off twice.
            let verdict = match key {
                key if key.starts_with("sunk_service") || key.contains("_printed") => "known",
                key if key.starts_with("reserve") => "ours",
                _ => "agrees",
            };
            assert_eq!(number["verdict"], verdict, "{}: {number}", figure["id"]);
            judged += 1;
        }
    }
    // Two cases of RR and five of the feedback queue, and as many as printed; four of appease.
    assert_eq!(judged, 4 * (2 * (2 + 5) + 4));
}

#[test]
fn what_is_of_one_paper_is_refused_for_all() {
    for (word, said) in [("fig1", "a FIGURE"), ("--report", "--report")] {
        rota(&["reproduce", "all", word]).refused(&[said, "is of one paper"]);
    }
}

/// The formulas of CFS and of a request with a service are known to differ from what happens.
#[test]
fn known_differences_are_told_with_their_reasons_and_are_no_failure() {
    let run = rota(&["reproduce", "cas", "rbpe"]).ok();
    assert!(run.stdout.contains("known difference"), "{}", run.stdout);
    assert!(
        run.stdout.contains("known: 4 + 4 + 4 slices, no credit, N = 4: The first"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("32 agree, 7 known difference"), "{}", run.stdout);
}
