// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota calibrate`. Nothing here depends on how fast this computer is, or on what else runs.

use crate::support::{rota, Scratch};

#[test]
fn a_calibrated_file_is_read_and_simulated() {
    let scratch = Scratch::new();
    let file = scratch.path("own.toml");
    let words = ["calibrate", "--base", "cloud-2", "--duration", "500ms", "-o", &file, "--json"];

    let json = rota(&words).ok().json();

    assert_eq!(json["schema"], "rota.calibrate/1");
    let numbers = json["numbers"].as_array().expect("a list");
    let find = |key: &str| numbers.iter().find(|number| number["key"] == key);
    let switch = find("cost_ns.switch").expect("it is one of them");
    let cloud_mlp = find("cache.mlp").expect("it is one of them");
    assert!(cloud_mlp["estimate"].is_null() && cloud_mlp["value"] == "4", "{cloud_mlp}");
    let text = std::fs::read_to_string(&file).expect("it was written");
    assert_eq!(json["file"].as_str(), Some(text.as_str()));
    let switch = switch["value"].as_str().expect("a text");
    assert!(text.contains(&format!("\nswitch = {switch}\n")), "{text}");

    let shown = rota(&["machine", &file]).ok().stdout;
    assert!(shown.starts_with("own (calibrated: ") && shown.contains("caches       on"), "{shown}");
    let tasks = r#"{"tasks": {"a": {"instance": 3, "run": 100, "sleep": 50}}}"#;
    let load = scratch.file("load.json", tasks);
    let sim = ["sim", "eevdf", &load, "--machine", &file, "--duration", "100ms", "--json"];
    assert_eq!(rota(&sim).ok().json()["machine"]["cpus"], 2);
}

#[test]
fn a_base_without_hardware_and_a_file_of_another_kind_are_refused() {
    for (words, part) in [
        (["--base", "flat"], "flat has no model of hardware"),
        (["--base", "flatt"], "did you mean flat?"),
        (["-o", "own.json"], "ends in .toml"),
        (["--duration", "1ms"], "100ms or more"),
    ] {
        let run = rota(&[&["calibrate"], &words[..]].concat());
        assert_ne!(run.code, 0);
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
}

#[test]
fn loads_are_played_and_predicted_on_a_machine_of_this_computer() {
    let words = ["bench", "calibrated", "--machine", "this", "--duration", "1s", "--repeat", "1"];
    let run = rota(&[&words[..], &["--load", "pipe-one,memory", "--json"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let json = run.json();
    assert_eq!(json["schema"], "rota.bench.calibrated/1");
    let loads = json["loads"].as_array().expect("a list");
    let names: Vec<_> = loads.iter().filter_map(|load| load["load"].as_str()).collect();
    assert_eq!(names, ["pipe-one", "memory"]);
    for metric in loads.iter().map(|load| &load["metrics"][0]) {
        let [live, simulated] = ["live_median", "simulated_median"].map(|key| metric[key].as_f64());
        assert!(live > Some(0.0) && simulated > Some(0.0), "{metric}");
    }
}

#[test]
fn a_machine_with_other_cpus_is_no_machine_of_this_computer() {
    // No computer has 32 and 20 CPUs.
    let refused = ["server", "hybrid"].map(|machine| {
        let run = rota(&["bench", "calibrated", "--machine", machine, "--load", "pipe-one"]);
        run.code == 2 && run.stderr.contains("expected a file of this computer")
    });
    assert!(refused.contains(&true));
}
