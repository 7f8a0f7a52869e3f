// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cores of different kinds.

use super::{assert_within, cpus, machine, makespan_ms, measured};

/// Frames in a second of a program below saturation: a thread of 7.5 ms wakes one of 4.5 ms, which
/// waits for 15.2 ms of graphics, and some other tasks; eight runs of 3 s with other random times.
fn frames(allowed: &str) -> Vec<f64> {
    let tasks = format!(
        r#""main": {{"cpus": {allowed}, "delay": {{"dist": "uniform", "min": 5000, "max": 100000}},
                "run": {{"dist": "uniform", "min": 6750, "max": 8250}}, "sem_post": "draw",
                "sem_wait": "done"}},
           "draw": {{"cpus": {allowed}, "sem_wait": "draw", "run": 4500, "sleep": 15200,
                "sem_post": "done"}},
           "other": {{"instance": 8, "cpus": {allowed}, "run": {{"dist": "exp", "mean": 3000}},
                "sleep": {{"dist": "exp", "mean": 9000}}}}"#
    );
    let run = |seed| {
        let mut config = machine("hybrid", 3_000);
        config.seed = seed;
        let numbers = measured("eevdf", config, &tasks);
        let draw = numbers.tasks.iter().find(|task| task.name == "draw-1").expect("a thread");
        // It sleeps twice in a frame.
        draw.turnaround_ns.count as f64 / 2.0 / 3.0
    };
    (1..=8).map(run).collect()
}

#[test]
fn a_program_that_may_use_both_kinds_of_cores_is_in_between() {
    // sched-ext/scx, commit f9a994412, i7-13800H, a WebGL program below saturation under EEVDF: 33.5
    // frames a second on P cores, 25.5 on E cores, 31.0 on both; standard deviations 0.3, 0.3, 1.7.
    // So E cores have 24 % less: 12 to 48 %; both 7.5 % less: 3.7 to 15 %. Of the spread there nothing is
    // seen here.
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let [p, e, both] = [0..12, 12..20, 0..20].map(|some| mean(frames(&cpus(some))));
    assert_within(e / p, 0.52, 0.88);
    assert_within(both / p, 0.85, 0.963);
}

#[test]
fn a_thread_that_is_kept_on_a_small_core_misses_every_second_frame() {
    // sched-ext/scx, issue 3259, Lunar Lake: a game has 30 frames a second for 60 while its thread is
    // on an E core. Here 11 ms of work after each 16,667 us: on an E core 18 ms, so that every
    // second one is missed.
    let frames = |cpu: u32| {
        let tasks = format!(
            r#""vsync": {{"cpus": [18], "run": 1,
                    "timer": {{"ref": "unique", "period": 16667, "mode": "absolute"}}, "broad": "frame"}},
               "game": {{"cpus": [{cpu}], "lock": "m", "wait": {{"ref": "frame", "mutex": "m"}},
                    "unlock": "m", "run": 11000}}"#
        );
        let numbers = measured("eevdf", machine("hybrid", 5_000), &tasks);
        let game = numbers.tasks.iter().find(|task| task.name == "game-1").expect("a thread");
        game.turnaround_ns.count as f64 / 5.0
    };
    assert_within(frames(0), 59.0, 61.0);
    assert_within(frames(12), 29.0, 31.0);
}

#[test]
fn a_heavy_task_gains_the_ratio_of_speeds_by_leaving_its_small_core() {
    // Arithmetic: a second of work at 161/1024 takes 6.36 s. One that moves to the largest core once it
    // no longer fits takes hardly more than a second, as it needs some 100 ms to outgrow the small one.
    let takes = |cpus: &str| {
        let tasks = format!(
            r#""heavy": {{"loop": 1, "phases": {{
                "light": {{"cpus": [0], "run": 1000, "sleep": 1000}},
                "heavy": {{"cpus": {cpus}, "run": 1000000}}}}}}"#
        );
        makespan_ms(&measured("eevdf", machine("phone", 20_000), &tasks))
    };
    let (stays, moves) = (takes("[0]"), takes(&cpus(0..8)));
    assert_within(stays, 6_360.0, 6_800.0);
    assert_within(stays / moves, 4.5, 6.36);
}
