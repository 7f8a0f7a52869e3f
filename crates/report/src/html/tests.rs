// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole documents.

use super::model::*;
use super::render;
use crate::machine::{Cache, Core, Kind, Machine, Node};

const HOSTILE: &str = "</script><script>alert('x')</script> \"quoted\" & <b>größer</b> \u{0}";

/// A workload of two tasks under so many policies.
fn comparison(name: &str, policies: usize) -> Comparison {
    let slice = |start_ns, end_ns, task| Slice { start_ns, end_ns, task };
    let band = |min_ns, max_ns| Some(Band { min_ns, max_ns });
    let point = |percentile, value_ns| Point { percentile, value_ns, range_ns: None };
    let figures = Figures {
        seed: 7,
        timeline: Slices {
            from_ns: 0,
            to_ns: 1_000_000,
            cpus: vec![vec![slice(0, 400_000, 0), slice(400_000, 1_000_000, 1)]],
        },
        shares: Shares {
            from_ns: 0,
            bucket_ns: 500_000,
            tasks: vec![vec![0.8, 0.0], vec![0.2, 1.0]],
        },
        lags: Lags {
            from_ns: 0,
            bucket_ns: 500_000,
            tasks: vec![vec![band(-5_000, 12_000), None], Vec::new()],
        },
        latencies: vec![Distribution {
            name: name.to_owned(),
            seeds: 1,
            count: 3,
            waiting: 1,
            points: vec![point(0.0, 10_000), point(66.7, 20_000), point(100.0, 1_500_000)],
        }],
    };
    let cell = |mean, best| {
        let half_width = Some(mean / 10.0);
        Some(Cell { mean, half_width, n: 10, best, relative: None, few_samples: None })
    };
    let policy = |index: usize| PolicyResult {
        name: format!("{name} {index}"),
        settings: vec![(name.to_owned(), "1".to_owned())],
        outcome: Outcome::Finished,
        cells: vec![cell(1_230_000.0 * (index + 1) as f64, index == 0), None],
        figures: Some(figures.clone()),
    };
    let measure = |key: &str, unit, better| Measure {
        key: key.to_owned(),
        name: format!("{name} {key}"),
        group: "times".to_owned(),
        unit,
        better,
        main: key == "p99",
        definition: format!("What {name} means."),
    };
    let task = |index: usize| Task {
        name: format!("{name}-{index}"),
        instance_of: name.to_owned(),
        weight: 100,
        instances: 1,
    };
    Comparison {
        title: String::new(),
        version: "rota 1".to_owned(),
        command: format!("rota compare {name}"),
        machine: vec![(name.to_owned(), name.to_owned())],
        hardware: Some(hardware(name)),
        provenance: Provenance::default(),
        baseline: String::new(),
        advice: None,
        measures: vec![
            measure("p99", Unit::Ns, Better::Lower),
            measure("other", Unit::Count, Better::None),
        ],
        workloads: vec![Workload {
            name: name.to_owned(),
            description: name.to_owned(),
            findings: Vec::new(),
            cpus: 1,
            duration_ns: 1_000_000,
            warmup_ns: 0,
            seeds: (1..=10).collect(),
            tasks: vec![task(0), task(1)],
            policies: (0..policies).map(policy).collect(),
        }],
    }
}

/// A core of one CPU.
fn hardware(name: &str) -> Machine {
    let core = Core { kind: 0, cpus: vec![0] };
    let cache = Cache { name: name.to_owned(), clusters: vec![vec![core]] };
    Machine {
        title: name.to_owned(),
        about: name.to_owned(),
        nodes: vec![Node { name: name.to_owned(), caches: vec![cache] }],
        kinds: vec![Kind { name: name.to_owned(), speed: 1024, about: name.to_owned() }],
    }
}

#[test]
fn the_table_has_means_half_widths_and_the_best() {
    let document = render(&comparison("mix", 2)).replace('\u{a0}', " ");
    let best = "<td class=\"best\" data-value=\"1230000\"><span class=\"mean\">1.23</span>\n\
                <span class=\"unseen\"> (best)</span>\n<span class=\"half\">± 0.12</span>";
    assert!(document.contains(best));
    assert!(
        document.contains("<span class=\"mean\">2.46</span>\n<span class=\"half\">± 0.25</span>")
    );
    assert!(document.contains("Mean over 10 seeds"));
    // No policy has a number of the second measure.
    assert!(!document.contains("data-measure=\"other\""));
}

#[test]
fn cells_have_their_ratio_to_the_baseline() {
    let mut comparison = comparison("mix", 3);
    assert!(!render(&comparison).contains(", the baseline,"));
    comparison.baseline = "mix 0".to_owned();
    let policies = &mut comparison.workloads[0].policies;
    for (policy, noise) in policies[1..].iter_mut().zip([false, true]) {
        let cell = policy.cells[0].as_mut().expect("a number");
        let ratio = Some(cell.mean / 1_230_000.0);
        cell.relative = Some(Relative { ratio, difference: cell.mean - 1_230_000.0, noise });
    }
    let document = render(&comparison);
    assert!(document.contains("×: ratio to the mean of mix 0, the baseline, over the same seeds."));
    assert!(document.contains("<span class=\"relative\">2.00×</span>"));
    let noise = "<span class=\"relative noise\">~3.00×<span class=\"unseen\"> (not significant)";
    assert!(document.contains(noise));
}

#[test]
fn a_best_value_that_looks_like_another_is_not_marked() {
    let mut comparison = comparison("mix", 2);
    let number = |mean, best| {
        let half_width = Some(0.0);
        Some(Cell { mean, half_width, n: 10, best, relative: None, few_samples: None })
    };
    comparison.measures[1].unit = Unit::Number;
    let policies = &mut comparison.workloads[0].policies;
    policies[0].cells[1] = number(0.999_999_9, true);
    policies[1].cells[1] = number(0.999_999_8, false);
    let document = render(&comparison);
    assert!(document.contains("<td class=\"other\" data-value=\"0.9999999\">"), "{document}");
    assert!(document.contains("<td class=\"best\" data-value=\"1230000\">"));
    comparison.workloads[0].policies[1].cells[1] = number(0.9, false);
    assert!(render(&comparison).contains("<td class=\"best\" data-value=\"0.9999999\">"));
}

#[test]
fn every_figure_has_its_numbers_as_a_table() {
    let document = render(&comparison("mix", 1)).replace('\u{a0}', " ");
    let rows = [
        // Slices, CPU time, mean and longest slice.
        "mix-0</th>\n<td>1</td>\n<td>400 µs</td>\n<td>400 µs</td>\n<td>400 µs</td>",
        // Mean, least and greatest share.
        "mix-0</th>\n<td>40.0 %</td>\n<td>0.0 %</td>\n<td>80.0 %</td>",
        // Least and greatest lag.
        "mix-0</th>\n<td>−5.00 µs</td>\n<td>12.0 µs</td>",
        "mix-1</th>\n<td>–</td>\n<td>–</td>",
        // Seeds, count, still open, p50, p90 …
        "<td>1</td>\n<td>3</td>\n<td>1</td>\n<td>20.0 µs</td>\n<td>1.50 ms</td>",
    ];
    for row in rows {
        assert!(document.contains(row), "{row}");
    }
    assert_eq!(document.matches("<figure").count(), 4);
}

#[test]
fn no_name_becomes_markup() {
    let document = render(&comparison(HOSTILE, 2));
    let plain = render(&comparison("plain", 2));
    for tag in ["<script", "</script", "<b>", "<style", "<td", "<th"] {
        let (found, expected) = (document.matches(tag).count(), plain.matches(tag).count());
        assert_eq!(found, expected, "{tag}");
    }
    assert!(document.contains("größer") && !document.contains('\0'));
}

#[test]
fn the_data_says_what_the_model_says() {
    let document = render(&comparison(HOSTILE, 1));
    let begin = "<script type=\"application/json\" id=\"data-0\">";
    let (_, data) = document.split_once(begin).unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["tasks"][1], format!("{HOSTILE}-1"));
    assert_eq!(data["policies"][0]["timeline"]["to"], 1_000_000);
    assert_eq!(data["policies"][0]["latencies"][0]["points"][1][1], 20_000);
}

#[test]
fn it_refers_to_nothing_outside() {
    let document = render(&comparison("mix", 3));
    // The name of SVG's language is no address.
    let document = document.replace("http://www.w3.org/2000/svg", "");
    for reference in ["http:", "https:", "//cdn", "src=", "@import", "url("] {
        assert!(!document.contains(reference), "{reference}");
    }
}

#[test]
fn an_ejected_policy_is_named_with_its_reason() {
    let mut comparison = comparison("mix", 2);
    let policy = &mut comparison.workloads[0].policies[1];
    let reason = "runnable task stall".to_owned();
    policy.outcome = Outcome::Ejected { reason, runs: 4 };
    policy.figures = None;
    let document = render(&comparison);
    assert!(document.contains("mix 1 was ejected in 4 of 10 runs: runnable task stall"));
}

#[test]
fn a_model_that_lacks_things_is_drawn_without_them() {
    assert!(render(&Comparison::default()).contains("</html>"));
    let mut comparison = comparison("mix", 2);
    let workload = &mut comparison.workloads[0];
    workload.tasks.truncate(1);
    workload.seeds.clear();
    workload.policies[0].cells.clear();
    workload.policies[1].figures = None;
    let document = render(&comparison);
    assert!(document.contains("<td class=\"none\">–</td>"));
}

#[test]
fn a_model_is_the_same_after_a_way_through_json() {
    let comparison = comparison(HOSTILE, 2);
    let json = serde_json::to_string(&comparison).unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(&json).unwrap(), comparison);
}

#[test]
fn a_long_timeline_keeps_the_file_small() {
    let mut comparison = comparison("mix", 1);
    let figures = comparison.workloads[0].policies[0].figures.as_mut().unwrap();
    // Uneven times, as in a real run: 3 million slices of about 1 ms.
    let start = |i: u64| i * 1_000_000 + (i * 7919) % 900_000;
    let slice = |i| Slice { start_ns: start(i), end_ns: start(i) + 90_000, task: (i % 2) as u32 };
    figures.timeline.cpus = vec![(0..3_000_000).map(slice).collect()];
    figures.timeline.to_ns = start(3_000_000);
    comparison.workloads[0].duration_ns = start(3_000_000);
    let document = render(&comparison);
    assert!(document.len() < 12_000_000, "{} bytes", document.len());
    assert!(document.contains("a report has room for 1\u{202f}000\u{202f}000 slices in all"));
}

#[test]
fn the_baseline_is_the_first_column() {
    let mut comparison = comparison("mix", 3);
    comparison.baseline = "mix 2".to_owned();
    let document = render(&comparison);
    let head = document.split_once("<thead>").and_then(|(_, rest)| rest.split_once("</thead>"));
    let (head, _) = head.expect("a table");
    let place = |name: &str| head.find(name).unwrap_or_else(|| panic!("{name}: {head}"));
    assert!(place("mix 2") < place("mix 0") && place("mix 0") < place("mix 1"));
    assert_eq!(document.matches("<th scope=\"col\" class=\"baseline\">").count(), 1);
    // It has a cell in the row of the one metric.
    assert_eq!(document.matches("<td class=\"other baseline\"").count(), 1);
    let begin = "<script type=\"application/json\" id=\"data-0\">";
    let (_, data) = document.split_once(begin).expect("data");
    let (data, _) = data.split_once("</script>").expect("an end");
    let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
    assert_eq!((&data["policies"][0]["name"], &data["policies"][0]["baseline"]), {
        (&"mix 2".into(), &true.into())
    });
    assert_eq!(data["policies"][1]["baseline"], false);
}

#[test]
fn sections_of_one_workload_differ_in_their_headings() {
    let mut comparison = comparison("mix", 1);
    let mut larger = comparison.workloads[0].clone();
    larger.cpus = 16;
    comparison.workloads.push(larger);
    let document = render(&comparison);
    for heading in ["<h2>mix, 1 CPU</h2>", "<h2>mix, 16 CPUs</h2>", ">mix, 16 CPUs</a>"] {
        assert!(document.contains(heading), "{heading}");
    }
    assert!(document.contains("<h1>Scheduling policies compared: mix</h1>"));
}

#[test]
fn instances_that_share_a_place_are_counted() {
    let mut comparison = comparison("mix", 1);
    comparison.workloads[0].tasks[0].instances = 1999;
    let document = render(&comparison);
    assert!(document.contains("1 CPU · 2000 tasks · "));
    assert!(document.contains("<span class=\"count\"> ×1999</span>"));
}

#[test]
fn findings_stand_above_all_tables_and_are_absent_if_there_are_none() {
    let mut comparison = comparison("mix", 1);
    assert!(!render(&comparison).contains("class=\"findings\""));
    let finding = |text: &str| Finding { about: "latency".to_owned(), text: text.to_owned() };
    comparison.workloads[0].findings = vec![finding(&format!("Use {HOSTILE}."))];
    comparison.advice = Some(finding("run it"));
    let document = render(&comparison);
    let place = |text: &str| document.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(place("class=\"findings\"") < place("class=\"facts\""));
    assert!(document.contains("<dt>latency</dt>\n<dd>Use &lt;/script&gt;"));
    assert!(place("run it</dd>") > place("<dd>Use"));
}

#[test]
fn provenance_has_date_host_seeds_and_hashes() {
    let mut comparison = comparison("mix", 1);
    let text = |text: &str| text.to_owned();
    let input = Input { kind: text("policy"), name: text("a.bpf.o"), sha256: text("0123abcd") };
    let (date, host) = (text("2001-09-09 01:46 UTC"), text("Linux 6.1, 2 CPUs"));
    comparison.provenance = Provenance { date, host, inputs: vec![input] };
    let document = render(&comparison);
    assert!(document.contains("<dd>rota 1, 2001-09-09 01:46 UTC</dd>"));
    assert!(document.contains("<dt>on</dt>\n<dd>Linux 6.1, 2 CPUs</dd>"));
    assert!(document.contains("Seeds: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10"));
    assert!(document.contains("<code>0123abcd</code>"));
}

#[test]
fn few_samples_are_said() {
    let mut comparison = comparison("mix", 1);
    assert!(!render(&comparison).contains("n\u{a0}="));
    if let Some(cell) = &mut comparison.workloads[0].policies[0].cells[0] {
        cell.few_samples = Some(4);
    }
    assert!(render(&comparison).contains(">n\u{a0}=\u{a0}4</span>"));
}
