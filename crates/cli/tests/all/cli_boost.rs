// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota boost`. What looks at a kernel needs root and bpf(2): elsewhere the test says that it
//! was skipped. What the daemon does to threads is tested in crates/boost.

use crate::support::schema::fits;
use crate::support::{rota, Scratch};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;

#[test]
fn wrong_options_are_refused() {
    rota(&["boost", "--customers", "everybody"]).refused(&["everybody", "other-session"]);
    rota(&["boost", "--clients", "peer"]).refused(&["peer", "fair"]);
    rota(&["boost", "--own-budget", "0"]).refused(&["above 0"]);
    rota(&["boost", "--user-budget", "101"]).refused(&["101", "from 0 to 100"]);
    rota(&["boost", "--json"]).refused(&["--explain"]);
    // Above the largest pid that there can be by one.
    rota(&["boost", "--explain", "4194305"]).refused(&["4194305"]);
}

#[test]
fn without_a_daemon_nothing_is_explained_and_nothing_to_take_back() {
    let scratch = Scratch::new();
    let (socket, saved) = (scratch.path("boost.sock"), scratch.path("boost.saved"));
    let own = std::process::id().to_string();
    let asked = rota(&["boost", "--explain", &own, "--control", &socket]);
    assert_eq!(asked.code, 1, "{}", asked.stderr);
    assert!(asked.stderr.contains("no `rota boost` answers"), "{}", asked.stderr);
    let undone = rota(&["boost", "--undo", "--saved", &saved, "--control", &socket]).ok();
    assert!(undone.stdout.starts_with("0 threads"), "{}", undone.stdout);

    std::fs::write(&saved, "something else").expect("written");
    let undone = rota(&["boost", "--undo", "--saved", &saved, "--control", &socket]);
    assert_eq!(undone.code, 1, "{}", undone.stderr);
    assert!(undone.stderr.contains("is not what `rota boost` writes"), "{}", undone.stderr);
}

#[test]
fn what_the_daemon_answers_is_printed_as_its_schema_says() {
    let scratch = Scratch::new();
    let (socket, own) = (scratch.path("boost.sock"), std::process::id());
    let listener = UnixListener::bind(&socket).expect("a socket");
    let daemon = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut asked = String::new();
        BufReader::new(&stream).read_line(&mut asked).expect("a question");
        let answer = format!(
            r#"{{"version":2,"daemon":7,"pid":{own},"confinement":"none","user":1000,"credit_ms":-3,
            "extra_left":0.5,"threads":[{{"tid":{own},"name":"x","nice":-5,"phase":"waiting","open":1,
            "answers":2,"barred_ms":0}}],"history":["1.0 boosted"]}}"#
        );
        stream.write_all(format!("{}\n", answer.replace('\n', "")).as_bytes()).expect("sent");
        asked
    });
    let told = rota(&["boost", "--explain", &own.to_string(), "--json", "--control", &socket]);
    let told = told.ok().json();
    let asked: serde_json::Value =
        serde_json::from_str(&daemon.join().expect("asked")).expect("JSON");
    assert_eq!(asked, serde_json::json!({ "version": 2, "explain": own }));
    assert_eq!((&told["threads"][0]["nice"], &told["credit_ms"]), (&(-5).into(), &(-3).into()));
    fits(&told);
}

#[test]
fn a_dry_run_leaves_no_files() {
    let scratch = Scratch::new();
    let (socket, saved) = (scratch.path("boost.sock"), scratch.path("boost.saved"));
    let options = ["--saved", &saved, "--control", &socket, "--duration", "300ms"];
    let ran = rota(&[&["boost", "--dry-run"][..], &options].concat());
    if ran.code == 1 && ran.stderr.contains("boosting needs") {
        let _ = writeln!(std::io::stderr(), "skipped: a dry run: {}", ran.stderr.trim());
        return;
    }
    let ran = ran.ok();
    assert!(ran.stdout.starts_with("would boost servers with customers remote"), "{}", ran.stdout);
    assert!(ran.stdout.contains("all is as it was"), "{}", ran.stdout);
    for file in [socket, saved] {
        assert!(!std::path::Path::new(&file).exists(), "{file}");
    }
}
