// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota sim --trace FILE.svg`: a picture of the run.

use crate::support::{rota, Scratch};

/// Tooltips of what CPUs ran: task, CPU and times.
fn segments(svg: &str) -> Vec<String> {
    let titles = svg.split("<title>").skip(1).filter_map(|rest| rest.split("</title>").next());
    let of_cpus = titles.filter(|title| title.ends_with("begins"));
    of_cpus.map(|title| title.lines().take(2).collect::<Vec<_>>().join(" ")).collect()
}

fn draw(scratch: &Scratch, more: &[&str]) -> String {
    let file = scratch.path("run.svg");
    let run = ["sim", "vtrr", "workloads/shares321.json", "--cpus", "1", "--ideal"];
    let trace = ["--duration", "300ms", "--trace", &file];
    rota(&[&run[..], &trace, more].concat()).ok();
    std::fs::read_to_string(file).expect("picture")
}

#[test]
fn a_picture_shows_the_window_that_was_asked_for() {
    let svg = draw(&Scratch::new(), &["--trace-window", "60ms..120ms"]);
    // The second round of A, B, C, A, B, A.
    let expected = [
        "A-0 on CPU 0 60 ms to 70 ms (10 ms)",
        "B-1 on CPU 0 70 ms to 80 ms (10 ms)",
        "C-2 on CPU 0 80 ms to 90 ms (10 ms)",
        "A-0 on CPU 0 90 ms to 100 ms (10 ms)",
        "B-1 on CPU 0 100 ms to 110 ms (10 ms)",
        "A-0 on CPU 0 110 ms to 120 ms (10 ms)",
    ];
    assert_eq!(segments(&svg), expected);
    assert!(svg.contains(">vtrr · workloads/shares321.json<"));
    assert!(svg.contains(">1 CPU at 250 Hz, 300ms, seed 1, ideal · 60 ms to 120 ms<"));
}

#[test]
fn without_a_window_a_picture_shows_the_first_200_ms() {
    let svg = draw(&Scratch::new(), &[]);
    assert!(svg.contains("ideal · 0 to 200 ms<"));
    let short = draw(&Scratch::new(), &["--trace-window", "250ms..10s"]);
    assert!(short.contains("ideal · 250 ms to 300 ms<"), "the run ends before the window");
}

#[test]
fn a_window_that_is_none_is_refused() {
    for (window, part) in [("1s", "FROM..TO"), ("2s..1s", "before it begins"), ("0..3", "unit")] {
        rota(&["sim", "vtrr", "workloads/web.json", "--trace-window", window])
            .refused(&[window, part]);
    }
}

#[test]
fn a_window_without_a_picture_is_refused() {
    let window = ["sim", "vtrr", "workloads/web.json", "--trace-window", "0..1s"];
    rota(&window).refused(&["--trace-window", "--trace FILE.svg"]);
}
