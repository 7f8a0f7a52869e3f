// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota sweep`.

use crate::support::schema::fits;
use crate::support::{interrupted, rota, Scratch, RANDOM};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// One long job and short ones that come all the time: least attained service, a large alpha, has
/// the short ones wait the least, and the long one the longest.
const MIX: &str = r#"{"tasks": {
    "long": {"loop": 1, "run": 4000000},
    "short": {"loop": 40, "delay": 50000, "run": 20000, "sleep": {"dist": "exp", "mean": 60000}},
    "other": {"loop": 40, "delay": 50000, "run": 20000, "sleep": {"dist": "exp", "mean": 60000}}}}"#;

/// A sweep of six settings on one CPU with two seeds.
const ALPHAS: &str = "workloads = [\"mix.json\"]\npolicies = [\"pbs\"]\nbaseline = \"eevdf\"\n\
    seeds = 2\n[run]\nduration = \"3s\"\ncpus = 1\n[set.pbs]\nalpha = [0.1, 1, 10]\nbeta = 0\n";

fn sweep(words: &[&str]) -> crate::support::Run {
    rota(&[&["sweep"], words].concat())
}

fn best(json: &Value) -> &Value {
    let at = json["verdict"]["front"][0].as_u64().expect("a best one") as usize;
    &json["verdict"]["settings"][at]
}

#[test]
fn the_best_setting_is_found_and_what_it_costs() {
    let scratch = Scratch::new();
    scratch.file("mix.json", MIX);
    let (file, out) = (scratch.file("s.toml", ALPHAS), scratch.path("s.parquet"));
    let words = [file.as_str(), "-o", &out, "--minimise", "mean_turnaround"];
    let json = sweep(&[&words[..], &["--json"]].concat()).ok().json();
    fits(&json);
    assert_eq!(
        (&json["schema"], &json["runs"], &json["new_runs"]),
        (&"rota.sweep/1".into(), &8.into(), &8.into())
    );
    // As `rota tune` finds it: the short jobs want a large alpha.
    assert_eq!((&best(&json)["policy"], &best(&json)["set"]["alpha"]), (&"pbs".into(), &10.into()));
    let mean = |alpha: f64| {
        let settings = json["verdict"]["settings"].as_array().expect("settings");
        let of = |setting: &&Value| setting["set"]["alpha"].as_f64() == Some(alpha);
        let setting = settings.iter().find(of).expect("there");
        setting["metrics"]["turnaround_mean"]["mean"].as_f64().expect("a number")
    };
    assert!(mean(0.1) > mean(10.0));
    // The same of the dataset alone, and in words.
    let words = [out.as_str(), "--minimise", "mean_turnaround", "--baseline", "eevdf"];
    let text = sweep(&words).ok().stdout;
    assert!(
        text.starts_with("pbs alpha=10 beta=0 has the lowest turnaround mean of 4 settings: "),
        "{text}"
    );
    assert!(
        text.contains("\nworse than eevdf: ") && text.contains("\nbetter than eevdf: "),
        "{text}"
    );
    // A bound that the best of all breaks, as its own number shows.
    let bound = format!("turnaround_mean >= {}ns", mean(10.0) as u64 + 1);
    let json = sweep(&[&words[..], &["--subject-to", &bound, "--json"]].concat()).ok().json();
    fits(&json);
    assert_ne!(best(&json)["set"]["alpha"], 10);
    let none =
        sweep(&[&words[..], &["--subject-to", "turnaround_mean < 1ns"]].concat()).ok().stdout;
    assert!(none.starts_with("no setting of 4 is the best"), "{none}");
    // Several objectives: none of the front is better in both.
    let front =
        sweep(&[&words[..], &["--minimise", "slowdown_max", "--json"]].concat()).ok().json();
    assert!(!front["verdict"]["front"].as_array().expect("a front").is_empty());
}

#[test]
fn the_dataset_is_the_same_however_it_was_made() {
    let scratch = Scratch::new();
    scratch.file("random.json", RANDOM);
    let text = |seeds: &str| {
        format!(
            "workloads = [\"random.json\"]\npolicies = [\"pbs\", \"rr\"]\nseeds = {seeds}\n\
             method = \"sobol\"\nsamples = 4\n[run]\nduration = \"200ms\"\n\
             [workload]\ntasks.talk.run.mean = {{ from = 1000, to = 4000 }}\n\
             [machine]\ncpus = [1, 2]\ncost_ns.switch = [1000, 20000]\n\
             [set.pbs]\nalpha = {{ from = 0.1, to = 10, scale = \"log\" }}\nbeta = [\"+inf\", 0]\n"
        )
    };
    let whole = scratch.file("whole.toml", text("3"));
    let bytes = |file: &str| std::fs::read(file).expect("a dataset");
    let out = |name: &str| scratch.path(name);
    let (one, many) = (out("one.parquet"), out("many.parquet"));
    sweep(&[&whole, "-o", &one, "-j", "1"]).ok();
    sweep(&[&whole, "-o", &many, "-j", "3"]).ok();
    assert_eq!(bytes(&one), bytes(&many));
    // In two parts.
    let (first, second) = (out("first.parquet"), out("second.parquet"));
    sweep(&[&scratch.file("first.toml", text("[1, 3]")), "-o", &first]).ok();
    sweep(&[&scratch.file("second.toml", text("[2]")), "-o", &second]).ok();
    let merged = out("merged.parquet");
    sweep(&[&second, &first, "-o", &merged]).ok();
    assert_eq!(bytes(&merged), bytes(&one));
    // With runs of an earlier one, which are not done again.
    let more = out("more.parquet");
    let json = sweep(&[&whole, &first, "-o", &more, "--json"]).ok().json();
    fits(&json);
    assert_eq!((&json["runs"], &json["new_runs"]), (&24.into(), &8.into()));
    assert_eq!(bytes(&more), bytes(&one));
    let again = sweep(&[&whole, "-o", &more, "--json"]).ok().json();
    fits(&again);
    assert_eq!(again["new_runs"], 0);
    assert_eq!(bytes(&more), bytes(&one));
    // It has runs that the smaller sweep has not.
    let smaller = scratch.path("second.toml");
    sweep(&[&smaller, "-o", &more]).refused(&["more.parquet has 16 runs that this sweep has not"]);
    assert_eq!(bytes(&more), bytes(&one));
}

#[test]
fn who_is_interrupted_or_killed_goes_on() {
    let scratch = Scratch::new();
    scratch.file("random.json", RANDOM);
    let text = "workloads = \"random.json\"\npolicies = [\"rr\", \"wfq\"]\nseeds = 40\n\
                [run]\nduration = \"2s\"\ncpus = 2\n";
    let (file, out) = (scratch.file("s.toml", text), scratch.path("s.parquet"));
    let part = format!("{out}.part");
    let stopped = interrupted(&["sweep", &file, "-o", &out, "-j", "1"]);
    assert_eq!(stopped.code, 1, "{}", stopped.stderr);
    assert!(stopped.stderr.contains("of 80 runs are kept in "), "{}", stopped.stderr);
    assert!(!Path::new(&out).exists());
    let runs = || std::fs::read(&part).unwrap_or_default().iter().filter(|b| **b == b'\n').count();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rota"));
    let command = command.args(["sweep", &file, "-o", &out, "-j", "1"]);
    let mut child = command.stderr(Stdio::null()).spawn().expect("rota starts");
    while runs() < 4 {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("killed");
    child.wait().expect("it ends");
    // The first line is no run.
    let kept = runs() - 1;
    assert!(kept < 80);
    let json = sweep(&[&file, "-o", &out, "--json"]).json();
    fits(&json);
    assert_eq!((&json["runs"], &json["new_runs"]), (&80.into(), &(80 - kept).into()));
    let straight = scratch.path("straight.parquet");
    sweep(&[&file, "-o", &straight]).ok();
    let bytes = |file: &str| std::fs::read(file).expect("a dataset");
    assert_eq!(bytes(&out), bytes(&straight));
    assert!(!Path::new(&part).exists());
}

#[test]
fn halving_runs_the_best_with_all_seeds_and_the_others_with_few() {
    let scratch = Scratch::new();
    scratch.file("mix.json", MIX);
    let text = "workloads = \"mix.json\"\npolicies = \"pbs\"\nbaseline = \"eevdf\"\nseeds = 4\n\
        method = \"halving\"\nsamples = 8\nfirst = 1\nkeep = 2\nminimise = \"turnaround_mean\"\n\
        [run]\nduration = \"1s\"\ncpus = 1\n[set.pbs]\n\
        alpha = { from = 0.1, to = 10, scale = \"log\" }\nbeta = 0\n";
    let (file, out) = (scratch.file("s.toml", text), scratch.path("s.parquet"));
    let json = sweep(&[&file, "-o", &out, "--json"]).ok().json();
    // 9 settings with 1 seed; half of them, 5, and perhaps the baseline with 1 more; half of those,
    // 3, and perhaps the baseline with 2 more.
    let runs = json["runs"].as_u64().expect("a number");
    assert!((20..=9 + 6 + 2 * 4).contains(&runs), "{runs}");
    let settings = json["verdict"]["settings"].as_array().expect("settings");
    assert!((3..=4).contains(&settings.len()), "{}", settings.len());
    assert_eq!(json["verdict"]["left_out"], 9 - settings.len());
    for setting in settings {
        assert_eq!(setting["metrics"]["turnaround_mean"]["n"], 4);
    }
    assert!(best(&json)["set"]["alpha"].as_f64().expect("a number") > 1.0);
    // The same again, from what is there, and on one thread.
    let again = sweep(&[&file, "-o", &out, "--json"]).ok().json();
    assert_eq!(again["new_runs"], 0);
    let one = scratch.path("one.parquet");
    sweep(&[&file, "-o", &one, "-j", "1"]).ok();
    assert_eq!(std::fs::read(&one).expect("there"), std::fs::read(&out).expect("there"));
    let aimless = scratch.file("aimless.toml", text.replace("minimise", "maximise = []\n#"));
    sweep(&[&aimless, "-o", &one]).refused(&["maximise = []"]);
    let aimless = scratch.file("aimless.toml", text.replace("minimise", "#"));
    sweep(&[&aimless, "-o", &one]).refused(&["method \"halving\" needs one metric"]);
}

#[test]
fn halving_by_duration_runs_all_for_a_short_time_and_the_best_for_all_of_it() {
    let scratch = Scratch::new();
    scratch.file("mix.json", MIX);
    let text = "workloads = \"mix.json\"\npolicies = \"pbs\"\nbaseline = \"eevdf\"\nseeds = 2\n\
        minimise = \"turnaround_mean\"\nsamples = 8\nmethod = \"halving\"\n\
        resource = \"duration\"\nfirst = \"500ms\"\nkeep = 2\n\
        [run]\nduration = \"2s\"\ncpus = 1\n[set.pbs]\n\
        alpha = { from = 0.1, to = 10, scale = \"log\" }\nbeta = 0\n";
    let (file, out) = (scratch.file("s.toml", text), scratch.path("s.parquet"));
    let json = sweep(&[&file, "-o", &out, "--json"]).ok().json();
    fits(&json);
    // 9 settings for 0.5 s, 5 and perhaps the baseline for 1 s, 3 and perhaps the baseline for 2 s,
    // each with 2 seeds.
    let runs = json["runs"].as_u64().expect("a number");
    assert!((2 * (9 + 5 + 3)..=2 * (9 + 6 + 4)).contains(&runs), "{runs}");
    let settings = json["verdict"]["settings"].as_array().expect("settings");
    assert!((3..=4).contains(&settings.len()), "{}", settings.len());
    assert_eq!(json["verdict"]["left_out"], 9 - settings.len());
    for setting in settings {
        assert_eq!(setting["metrics"]["turnaround_mean"]["n"], 2);
    }
    assert!(best(&json)["set"]["alpha"].as_f64().expect("a number") > 1.0);
    // It goes on from what is there, and is the same on one thread.
    let again = sweep(&[&file, "-o", &out, "--json"]).ok().json();
    assert_eq!(again["new_runs"], 0);
    let one = scratch.path("one.parquet");
    sweep(&[&file, "-o", &one, "-j", "1"]).ok();
    assert_eq!(std::fs::read(&one).expect("there"), std::fs::read(&out).expect("there"));
    // The last round's runs are those of a sweep without rounds.
    let drawn = text.replace("halving", "sobol").replace("resource", "#").replace("first", "#");
    let drawn = scratch.file("drawn.toml", drawn.replace("keep", "#"));
    let json = sweep(&[&drawn, &out, "-o", &one.replace("one", "all"), "--json"]).ok().json();
    assert_eq!((&json["runs"], &json["new_runs"]), (&18.into(), &(18 - 2 * settings.len()).into()));
    assert!(best(&json)["set"]["alpha"].as_f64().expect("a number") > 1.0);
}

#[test]
fn a_slip_is_told_before_anything_runs() {
    let scratch = Scratch::new();
    scratch.file("random.json", RANDOM);
    let top = "workloads = \"random.json\"\npolicies = \"pbs\"\n";
    let refused = |name: &str, more: &str, parts: &[&str]| {
        let file = scratch.file(name, format!("{top}{more}"));
        let out = scratch.path("x.parquet");
        sweep(&[&file, "-o", &out]).refused(parts);
        assert!(!std::path::Path::new(&out).exists());
    };
    refused("a.toml", "[set.pbs]\nalfa = 1\n", &["a.toml:4: [set.pbs]", "alfa", "alpha"]);
    refused(
        "b.toml",
        "[set.pbs]\nalpha = [1, \"x\"]\n",
        &["b.toml:4: [set.pbs]", "alpha: 'x' is not valid"],
    );
    refused(
        "c.toml",
        "[workload]\ntasks.talk.rnu = 1\n",
        &[
            "c.toml:4: [workload] tasks.talk.rnu",
            "no key \"rnu\" in tasks.talk",
            "did you mean run?",
        ],
    );
    refused(
        "d.toml",
        "[workload]\ntasks.talk.instance = [1, -2]\n",
        &["random.json", "instance = -2"],
    );
    refused("e.toml", "[machine]\ncpus = [1, 0]\n", &["e.toml:4: [machine] cpus = 0: expected"]);
    refused(
        "f.toml",
        "[machine]\ncost_ns.swich = 5\n",
        &["f.toml:4: [machine]", "unknown key swich"],
    );
    refused(
        "g.toml",
        "[machine]\nmachine = \"sever\"\n",
        &["g.toml:4: [machine] machine sever", "did you mean server?"],
    );
    let both = "[machine]\nmachine = \"sever\"\ncost_ns.switch = 5\n";
    refused("k.toml", both, &["k.toml:4: [machine] machine sever", "did you mean server?"]);
    let twice = "[run]\ncpus = 2\n[machine]\nmachine = [\"phone\", \"hybrid\"]\n";
    refused(
        "i.toml",
        twice,
        &["i.toml:6: [machine] machine", "and 2 CPUs: expected one of the two"],
    );
    let twice = "[run]\ncpus = 2\nmachine = \"phone\"\n";
    refused("j.toml", twice, &["j.toml: [run] machine phone and 2 CPUs"]);
    let file = scratch.file("h.toml", top);
    sweep(&[&file, "--minimise", "haste"]).refused(&["minimise: no metric is called \"haste\""]);
    sweep(&[&file, "--minimise", "jain", "--subject-to", "jain > x"]).refused(&["'jain > x'"]);
    let (response, lock) = ("p99_response", "lock_wait_max < 1ms");
    sweep(&[&file, "--minimise", response])
        .refused(&["minimise: no run can have response_p99, as no workload has a socket"]);
    sweep(&[&file, "--minimise", "jain", "--subject-to", lock])
        .refused(&["'lock_wait_max < 1ms': no run can have", "did you mean wait_max?"]);
    sweep(&[&scratch.path("random.json")]).refused(&["expected a SWEEP.toml"]);
    let no_dataset = scratch.file("no.parquet", "PAR1");
    sweep(&[&no_dataset]).refused(&["no.parquet: no whole Parquet file"]);
}

/// Each setting would have lengths of its own: that is known before an hour of runs.
#[test]
fn settings_that_never_meet_are_refused_before_the_first_run() {
    let scratch = Scratch::new();
    scratch.file("mix.json", MIX);
    let text = "workloads = [\"mix.json\"]\npolicies = [\"pbs\"]\nbaseline = \"eevdf\"\n\
        method = \"sobol\"\nsamples = 4\n[run]\nduration = \"1s\"\ncpus = 1\n\
        [workload]\ntasks.long.run = { from = 1000, to = 2000 }\n\
        [set.pbs]\nalpha = { from = 0.1, to = 10.0 }\n";
    let (file, out) = (scratch.file("s.toml", text), scratch.path("s.parquet"));
    let words = [file.as_str(), "-o", &out];
    sweep(&[&words[..], &["--minimise", "wakeup_p99"]].concat())
        .refused(&["s.toml: no two settings would run on the same workloads", "expected a grid"]);
    assert!(!Path::new(&out).exists() && !Path::new(&format!("{out}.part")).exists());
    // Without a best one there is nothing to compare.
    sweep(&words).ok();
}
