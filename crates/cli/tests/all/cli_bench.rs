// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota bench`: real processes on this machine. Nothing here depends on how fast it is, or on
//! what else runs.

use crate::support::schema::fits;
use crate::support::{rota, Scratch};

/// An encoder that writes the same 1000 bytes for ever.
const STAND_IN: &str = "while :; do printf '%01000d' 0; done";

fn encoders(more: &[&str]) -> crate::support::Run {
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
    fits(&json);
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
fn programs_of_threads_are_timed_alone_and_side_by_side() {
    let words = ["bench", "threads", "--a", "1", "--b", "8", "--steps", "200000", "--repeat", "2"];
    let json = rota(&[&words[..], &["--json"]].concat()).ok().json();
    fits(&json);
    assert_eq!(json["schema"], "rota.bench.threads/1");
    assert_eq!((&json["threads"]["a"], &json["threads"]["b"]), (&1.into(), &8.into()));
    let times = json["times_ns"].as_array().expect("a list");
    assert_eq!(times.len(), 2);
    for of in times.iter().chain([&json["alone_ns"]]) {
        assert!(of["a"].as_u64() > Some(0) && of["b"].as_u64() > Some(0), "{of}");
    }
    // By equations from the times alone, which nobody can beat.
    let due = &json["predicted_ns"]["fair_to_processes"];
    assert!(due["a"].as_f64() >= json["alone_ns"]["a"].as_f64(), "{json}");

    let text = rota(&words).ok().stdout;
    assert!(text.starts_with("A with 1 threads and B with 8 on CPUs "), "{text}");
    assert!(text.contains("fair to processes") && text.contains("deviation"), "{text}");
}

#[test]
fn programs_of_threads_that_cannot_be_run_are_refused() {
    for (words, part) in [
        (["--a", "0"], "1..=10000"),
        (["--steps", "99"], "100.."),
        (["--cpu", "100000"], "CPU 100000 is not there"),
        (["--repeat", "0"], "1..=1000"),
    ] {
        let run = rota(&[&["bench", "threads"][..], &words[..]].concat());
        assert_eq!(run.code, 2, "{words:?}");
        assert!(run.stderr.contains(part), "{words:?}: {}", run.stderr);
    }
}

#[test]
fn frames_of_encoders_are_counted_over_time() {
    let scratch = Scratch::new();
    let picture = scratch.path("frames.svg");
    let json = encoders(&["--nice", "0,19", "--json", "--picture", &picture]).ok().json();
    fits(&json);
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
fn shares_of_encoders_need_a_policy_that_gives_them() {
    let run = encoders(&["--share", "1,2", "--control", "/nonexistent/socket"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("no policy is running"), "{}", run.stderr);
    assert!(run.stderr.contains("/nonexistent/socket"), "{}", run.stderr);
    encoders(&["--share", "1,0"]).refused(&["--share", "0 is not in 1..=1000000"]);
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

fn interactivity(more: &[&str]) -> crate::support::Run {
    // So that nothing depends on whether the CPU is calm enough to be calibrated.
    let words = ["bench", "interactivity", "--duration", "300ms", "--loops-per-ms", "1000"];
    rota(&words.iter().chain(more).copied().collect::<Vec<_>>())
}

#[test]
fn every_period_of_interactive_tasks_is_counted_beside_each_load() {
    let words = ["--task", "audio,x", "--load", "full,none", "--repeat", "2"];
    let json = interactivity(&[&words[..], &["--json"]].concat()).ok().json();
    fits(&json);
    assert_eq!(json["schema"], "rota.bench.interactivity/1");
    assert_eq!((&json["loops_per_ms"], &json["repeat"]), (&1000.into(), &2.into()));
    let pairs = json["pairs"].as_array().expect("a list");
    let names: Vec<_> = pairs.iter().map(|pair| (&pair["task"], &pair["load"])).collect();
    assert_eq!(names[0], (&"audio".into(), &"full".into()));
    assert_eq!(names[3], (&"x".into(), &"none".into()));
    for pair in pairs {
        let count = |name: &str| pair[name].as_u64().expect("a number");
        // In 300 ms, twice: periods of 50 ms, and of 100.
        let expected = if pair["task"] == "x" { 6 } else { 12 };
        assert_eq!(count("met") + count("late") + count("dropped"), expected, "{pair}");
        let met = pair["deadlines_met"].as_f64().expect("a part");
        assert!((met - count("met") as f64 / expected as f64).abs() < 1e-9, "{pair}");
        let part = pair["desired_cpu"].as_f64();
        assert!(part.is_none_or(|part| (0.0..=1.0).contains(&part)), "{pair}");
        assert_eq!(pair["repetitions"].as_array().map(Vec::len), Some(2));
        let latency = &pair["latency_ns"];
        assert!(latency["mean"].as_f64() <= latency["max"].as_f64(), "{pair}");
    }

    let text = interactivity(&["--task", "audio", "--load", "audio"]).ok().stdout;
    assert!(text.starts_with("CPU ") && text.contains("1000 loops per ms"), "{text}");
    assert!(text.contains("deadlines met"), "{text}");
}

#[test]
fn shares_of_tasks_that_come_and_go_are_counted_by_window() {
    let scratch = Scratch::new();
    let picture = scratch.path("shares.svg");
    // The second comes first; so many loops are some milliseconds at most.
    let words = ["bench", "shares", "--task", "20ms:5ms,0s:10ms", "--window", "10ms"];
    let words = [&words[..], &["--loops-per-ms", "20000"]].concat();
    let json = rota(&[&words[..], &["--json", "--picture", &picture]].concat()).ok().json();
    fits(&json);
    assert_eq!(json["schema"], "rota.bench.shares/1");
    assert_eq!((&json["loops_per_ms"], &json["window_ns"]), (&20_000.into(), &10_000_000.into()));
    let tasks = json["tasks"].as_array().expect("a list");
    assert_eq!(
        (&tasks[0]["work_ns"], &tasks[1]["work_ns"]),
        (&10_000_000.into(), &5_000_000.into())
    );
    for task in tasks {
        let windows = |of: &str| task[of].as_array().expect("a list").clone();
        let worked: u64 = windows("windows_ns").iter().filter_map(|ns| ns.as_u64()).sum();
        assert!(worked >= task["work_ns"].as_u64().expect("a time"), "{task}");
        assert!(task["end_ns"].as_u64() >= task["start_ns"].as_u64(), "{task}");
        assert_eq!(windows("turns").len(), windows("windows_ns").len());
    }
    // It begins with the third window.
    assert_eq!(
        tasks[1]["windows_ns"].as_array().map(|of| &of[..2]),
        Some(&[0.into(), 0.into()][..])
    );
    assert!(std::fs::read_to_string(&picture).expect("is drawn").starts_with("<svg"));

    let text = rota(&words).ok().stdout;
    assert!(text.starts_with("2 tasks on CPU ") && text.contains("20000 loops per ms"), "{text}");
    assert!(text.contains("shares by time in seconds"), "{text}");
}

#[test]
fn shares_that_cannot_be_measured_are_refused() {
    let refused = |more: &[&str], parts: &[&str]| {
        rota(&[&["bench", "shares"][..], more].concat()).refused(parts);
    };
    refused(&["--task", "1s"], &["1s", "expected BEGIN:TIME"]);
    refused(&["--task", "0s:0s"], &["0s:0s", "more than 0"]);
    refused(&["--task", "0s:1h", "--window", "1ms"], &["more than 1000000 windows"]);
    refused(&["--cpu", "100000"], &["CPU 100000 is not there"]);
    refused(&["--picture", "/nonexistent/shares.svg"], &["/nonexistent/shares.svg"]);
}

#[test]
fn an_interactivity_that_cannot_be_measured_is_refused() {
    let refused = |words: &[&str], part: &str| {
        let run = interactivity(words);
        assert_eq!(run.code, 2, "{words:?}");
        assert!(run.stderr.contains(part), "{words:?}: {}", run.stderr);
    };
    refused(&["--task", "film"], "expected one of audio, video, x");
    refused(&["--load", "none,disk"], "expected one of none, audio, video, x, burn, full");
    refused(&["--load", ""], "expected one of none");
    refused(&["--burn", "0"], "1..=1000");
    refused(&["--repeat", "0"], "1..=1000");
    refused(&["--cpu", "0,100000"], "CPU 100000 is not there");
    refused(&["--cpu", "one"], "invalid digit");
    let short = rota(&["bench", "interactivity", "--duration", "99ms"]);
    assert!(short.code == 2 && short.stderr.contains("100ms or more"), "{}", short.stderr);
    let none = rota(&["bench", "interactivity", "--loops-per-ms", "0"]);
    assert!(none.code == 2 && none.stderr.contains("1..=1000000000"), "{}", none.stderr);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    assert_eq!(encoders(&["--nice", "20"]).code, 2);
    encoders(&["--nice", "0", "--cpu", "100000"]).refused(&["CPU 100000 is not there"]);
    assert_eq!(rota(&["bench", "fairness", "--children", "0"]).code, 2);
    assert_eq!(rota(&["bench", "encoders"]).code, 2);
}

#[test]
fn servers_that_cannot_be_measured_are_refused() {
    let refused = |words: &[&str], part: &str| {
        let run = rota(&[&["bench", "servers"][..], words].concat());
        assert_eq!(run.code, 2, "{words:?}");
        assert!(run.stderr.contains(part), "{words:?}: {}", run.stderr);
    };
    refused(&["--server", "mysql"], "expected one of mariadb, apache, nginx, video");
    refused(&["--modes", "plain,fast"], "expected one of plain, nice, boost");
    refused(&["--background", "quiet"], "expected one of compile, chatty");
    refused(&["--autogroup", "as-is,off"], "as-is is neither off nor on");
    refused(&["--duration", "500ms"], "1s or more");
    refused(&["--jobs", "1001"], "0..=1000");
    refused(&["--customer-nice", "-21"], "-20..=19");
}

#[test]
fn programs_that_are_missing_are_named_with_their_packages() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_rota"))
        .args(["bench", "servers", "--server", "video", "--jobs", "1"])
        .env("PATH", "/nonexistent")
        .output()
        .expect("rota starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("not installed: ffmpeg, gcc (on Debian: apt install"), "{said}");
}

/// Where root can have it all, a run from beginning to end leaves nothing.
#[test]
fn a_server_is_measured_and_gone() {
    let directories = || {
        let entries = std::fs::read_dir(std::env::temp_dir()).expect("readable");
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter(|name| name.starts_with("rota-servers-")).collect::<Vec<_>>()
    };
    let before = directories();
    let words = ["bench", "servers", "--server", "video", "--jobs", "1", "--modes", "plain,nice"];
    let run = rota(&[&words[..], &["--duration", "1s", "--repeat", "1", "--json"]].concat());
    if run.stderr.contains("needs root") || run.stderr.contains("not installed") {
        eprintln!("not tested: {}", run.stderr);
        return;
    }
    assert_eq!(run.code, 0, "{}", run.stderr);
    let json = run.json();
    fits(&json);
    assert_eq!(json["schema"], "rota.bench.servers/1");
    let rows = json["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 2);
    let rate = &rows[0]["measures"][0];
    assert_eq!((&rate["key"], &rate["unit"]), (&"frame_rate".into(), &"per_second".into()));
    assert!(rate["median"].as_f64().is_some_and(|fps| fps > 0.0 && fps <= 25.0), "{rate}");
    assert!(rows[1]["measures"][0]["of_plain"]["median"].as_f64() > Some(0.0), "{json}");
    // Another test may run at the same time.
    assert!(directories().len() <= before.len(), "{:?}", directories());
}

#[test]
fn loads_that_cannot_be_compared_with_the_simulator_are_refused() {
    let scratch = Scratch::new();
    let file = scratch.file("e.json", r#"{"tasks": {"e": {"policy": "SCHED_EXT", "run": 9}}}"#);
    for (words, part) in [
        (&[file.as_str()][..], "task \"e\" has the class SCHED_EXT"),
        (&["--load", "none"], "hogs, frames, packets, nice, together"),
        (&["--load", "hogs", &file], "cannot be used with"),
        (&["--repeat", "0"], "1..=1000"),
        (&["--duration", "1s"], "a warm-up of 1s leaves nothing of a run of 1s"),
        (&["/nonexistent.json"], "/nonexistent.json"),
    ] {
        let run = rota(&[&["bench", "agree"][..], words].concat());

        assert_eq!(run.code, 2, "{words:?}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{words:?}: {}", run.stderr);
    }
}

/// Where this may be recorded: both hosts give the tasks CPU time. How much is the machine's matter.
#[test]
fn a_load_runs_live_and_simulated() {
    let words = ["bench", "agree", "--load", "frames", "--duration", "700ms", "--repeat", "1"];
    let words = [&words[..], &["--warmup", "200ms"]].concat();
    let run = rota(&[&words[..], &["--json"]].concat());
    if run.code == 1 && run.stderr.contains("root") {
        eprintln!("not tested: {}", run.stderr);
        return;
    }
    // A computer that does other things, or shows no settings of its scheduler, is warned of.
    assert_eq!(run.code, 0, "{}", run.stderr);
    let json = run.json();
    fits(&json);

    assert_eq!(json["schema"], "rota.bench.agree/1");
    let values = json["loads"][0]["values"].as_array().expect("a list");
    for task in ["frame", "hog"] {
        let of_task =
            |value: &&serde_json::Value| value["task"] == task && value["metric"] == "cpu_ns";
        let cpu = values.iter().find(of_task).expect("its CPU time");
        for host in ["live_median", "simulated_median"] {
            assert!(cpu[host].as_u64().is_some_and(|ns| ns > 0), "{task} {host}: {cpu}");
        }
    }
}

#[test]
fn what_ifs_that_cannot_be_asked_are_refused() {
    for (words, part) in [
        (&["--ask", "more"][..], "COMMAND"),
        (&["--ask", "mroe", "--", "true"], "a similar value exists: 'more'"),
        (&["--repeat", "0", "--", "true"], "1..=1000"),
        (&["--json", "--markdown", "--", "true"], "cannot be used with"),
    ] {
        let run = rota(&[&["bench", "what-if"][..], words].concat());

        assert_eq!(run.code, 2, "{words:?}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{words:?}: {}", run.stderr);
    }
}

#[test]
fn copies_of_a_command_have_numbers_and_the_second_its_nice_value() {
    let scratch = Scratch::new();
    let report = scratch.file("report", "");
    let told = scratch.file("told", "");
    let command = format!("echo $ROTA_COPY $(nice) >> {told}");
    let words = ["bench", "what-if-child", "--report", &report, "--copies", "2", "--nice", "10"];
    let words = [&words[..], &["--", "sh", "-c", &command]].concat();

    rota(&words).ok();

    let own = rustix::process::getpriority_process(None).expect("a nice value");
    let text = std::fs::read_to_string(&told).expect("a file");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, [format!("1 {own}"), format!("2 {}", (own + 10).min(19))]);
    let report = std::fs::read_to_string(&report).expect("a file");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let took = report["Ran"]["took_ns"].as_array().expect("a list");
    assert!(took.len() == 2 && took.iter().all(|ns| ns.as_u64() > Some(0)), "{report}");
}

#[test]
fn what_goes_wrong_with_a_copy_is_in_the_report_and_said_once() {
    let scratch = Scratch::new();
    let report = scratch.file("report", "");
    for (command, told) in [
        (&["sh", "-c", "exit 3"][..], r#""Failed":"the command ended with exit code 3""#),
        (&["sh", "-c", "kill -9 $$"], r#""Failed":"the command ended with signal 9""#),
        (&["/nonexistent"], r#""Refused":"cannot run /nonexistent: No such file"#),
    ] {
        let words = ["bench", "what-if-child", "--report", &report, "--copies", "1"];

        let run = rota(&[&words[..], &["--nice", "0", "--"], command].concat());

        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{command:?}");
        let text = std::fs::read_to_string(&report).expect("a file");
        assert!(text.contains(told), "{command:?}: {text}");
    }
}

#[test]
fn commands_that_cannot_be_run_are_refused_with_one_message() {
    let scratch = Scratch::new();
    let plain = scratch.file("plain", "text");
    for words in [&["bench", "what-if"][..], &["record"], &["trace"]] {
        for (command, why) in [
            ("/nonexistent", "error: cannot run /nonexistent: No such file"),
            ("/etc", "error: cannot run /etc: it is a folder"),
            (&plain, "Permission denied"),
            ("no-such-program", "error: no program no-such-program in PATH"),
        ] {
            let run = rota(&[words, &["--", command]].concat());

            assert_eq!(run.code, 2, "{words:?} {command}: {}", run.stderr);
            assert_eq!(run.stdout, "", "{words:?} {command}");
            assert!(run.stderr.contains(why), "{words:?} {command}: {}", run.stderr);
            assert_eq!(run.stderr.lines().count(), 1, "{words:?} {command}: {}", run.stderr);
        }
    }
}

/// Where this may be recorded: both sides have numbers. How near they are is the computer's matter.
#[test]
fn a_what_if_runs_live_and_predicted() {
    let words = ["bench", "what-if", "--ask", "same,hogs", "--repeat", "1", "--json", "--"];
    let words = [&words[..], &["sh", "-c", "seq 1 30000 | gzip | wc -c"]].concat();
    let run = rota(&words);
    if run.code == 1 && ["root", "kernel's types"].iter().any(|why| run.stderr.contains(why)) {
        eprintln!("not tested: {}", run.stderr);
        return;
    }
    // What the command writes goes to standard error.
    assert_eq!(run.code, 0, "{}", run.stderr);
    let json = run.json();
    fits(&json);

    assert_eq!(json["schema"], "rota.bench.what-if/1");
    let answers = json["answers"].as_array().expect("a list");
    assert_eq!(answers.len(), 2);
    for answer in answers {
        for side in ["live_median", "predicted_median"] {
            let ns = answer["completion_ns"][side].as_u64();
            assert!(ns.is_some_and(|ns| ns > 0), "{side}: {answer}");
        }
    }
    let median = |at: usize| answers[at]["completion_ns"]["predicted_median"].as_u64();
    assert!(median(1) > median(0), "four hogs cost time: {json}");
}
