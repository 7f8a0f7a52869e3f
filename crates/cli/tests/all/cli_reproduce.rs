// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota reproduce`, but for the experiments that take long: those are in `tests/reproduce.rs`.

use crate::support::{root, rota, Scratch};

/// Figures that take no time.
const SHORT: [&str; 7] = ["fig4", "fig5", "fig6", "fig7", "fig8", "fig9", "guests"];

fn reproduce(more: &[&str]) -> crate::support::Run {
    let words: Vec<&str> = ["reproduce", "vtrr"].iter().chain(more).copied().collect();
    rota(&words)
}

#[test]
fn named_figures_are_run_and_agree_with_the_paper() {
    let json = reproduce(&["fig6", "fig5", "--json"]).ok().json();
    assert_eq!(json["schema"], "rota.reproduce/1");
    let figures = json["figures"].as_array().expect("a list");
    // In the order of the paper, whatever the order of the words.
    assert_eq!([&figures[0]["id"], &figures[1]["id"]], ["fig5", "fig6"]);
    for figure in figures {
        let period = &figure["numbers"][0];
        assert_eq!((&period["key"], &period["verdict"]), (&"period".into(), &"agrees".into()));
        // The paper's, and 15 quanta of 20 ms.
        assert_eq!(period["ours"], 300.0);
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
fn the_documentation_has_what_the_command_prints() {
    let page = root().join("docs/reproduce/vtrr.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let words: Vec<&str> = SHORT.into_iter().chain(["--markdown"]).collect();
    let printed = reproduce(&words).ok().stdout;
    let sections: Vec<&str> = printed.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), SHORT.len());
    for section in sections {
        assert!(page.contains(section.trim_end()), "not in docs/reproduce/vtrr.md:\n{section}");
    }
}

#[test]
fn children_are_done_closer_together_under_cfs_than_under_o1() {
    let printed = rota(&["reproduce", "o1cfs", "fig1a", "fig1b", "fig1c", "fig1d", "--markdown"]);
    let printed = printed.ok().stdout;
    let page = root().join("docs/reproduce/o1cfs.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let sections: Vec<&str> = printed.split("\n## ").skip(1).collect();
    // Of 8, 16, 24 and 32 children.
    assert_eq!(sections.len(), 4);
    for section in sections {
        assert!(section.contains("| agrees |"), "{section}");
        assert!(page.contains(section.trim_end()), "not in docs/reproduce/o1cfs.md:\n{section}");
    }
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
    let text = reproduce(&["fig3", "--quick", &file]).ok().stdout;
    assert!(text.contains("Nanoseconds of a decision"), "{text}");
    let row = text.lines().find(|line| line.trim().starts_with("10 ")).expect("a row");
    // Linux 2.2 and WFQ with a heap are not in the file.
    let row: Vec<_> = row.split_whitespace().collect();
    assert_eq!(row, ["10", "–", "508", "–", "457", "(2.2)"]);

    reproduce(&["fig5", &file]).refused(&["only fig3 of vtrr shows costs of decisions"]);
    let other = scratch.file("other.json", "{}");
    let file = format!("--decision-cost={other}");
    reproduce(&["fig3", "--quick", &file]).refused(&["other.json", "missing field"]);
}

#[test]
fn the_page_of_pbs_has_what_the_command_prints() {
    let page = root().join("docs/reproduce/pbs.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    // Figure 3 differs from the paper, which the exit code says.
    let run = rota(&["reproduce", "pbs", "fig1", "fig3", "fig4", "--markdown"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let sections: Vec<&str> = run.stdout.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), 3);
    for section in sections {
        assert!(page.contains(section.trim_end()), "not in docs/reproduce/pbs.md:\n{section}");
    }
}

#[test]
fn the_page_of_pfs_has_what_the_command_prints() {
    let page = root().join("docs/reproduce/pfs.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    // As published, with shares of queues, Figure 7 differs.
    let run = rota(&["reproduce", "pfs", "fig2", "fig7", "fig10", "--markdown"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let sections: Vec<&str> = run.stdout.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), 3);
    for section in sections {
        assert!(page.contains(section.trim_end()), "not in docs/reproduce/pfs.md:\n{section}");
    }
}

#[test]
fn the_page_of_cas_has_what_the_command_prints() {
    let page = root().join("docs/reproduce/cas.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    // The formulas of CFS and of a request with a service differ from what happens.
    let run = rota(&["reproduce", "cas", "--markdown"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let sections: Vec<&str> = run.stdout.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), 9);
    for section in sections {
        assert!(page.contains(section.trim_end()), "not in docs/reproduce/cas.md:\n{section}");
    }
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
            // A task that its service preempts before it sleeps does not begin in Q0 again.
            let races = number["key"].as_str().expect("a key").starts_with("sunk_service");
            let verdict = if races { "differs" } else { "agrees" };
            assert_eq!(number["verdict"], verdict, "{}: {number}", figure["id"]);
            judged += 1;
        }
    }
    assert_eq!(judged, 44);
}
