// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loads as workload files. What a load does itself is as it was timed alone.

use super::args::CalibratedLoad;
use rota_calibrate::loads::{
    MESSAGES_OF_PAGE, PAGES, PASSES, SENDERS, SET_KIB, SLEEP_NS, TASKS_OF_CPU, THINK_NS,
};

/// A run of so many nanoseconds, which whole microseconds would round.
fn run(ns: f64) -> String {
    let us = ns / 1_000.0;
    format!(r#""run": {{"dist": "uniform", "min": {us:.3}, "max": {us:.3}}}"#)
}

/// The file of a load on so many CPUs.
pub(super) fn text(load: CalibratedLoad, own_ns: &[f64], cpus: u32) -> String {
    let own = |at: usize| run(own_ns.get(at).copied().unwrap_or_default());
    let tasks: Vec<String> = match load {
        CalibratedLoad::PipeOne => pipes(0, &own(0)),
        CalibratedLoad::PipeTwo => pipes(1, &own(0)),
        CalibratedLoad::Groups => groups(&own(0), &own(1), cpus),
        CalibratedLoad::Wakeups => (0..cpus / 2).flat_map(|pair| thinks(pair, &own(0))).collect(),
        CalibratedLoad::Memory => {
            let work = run(own_ns.first().copied().unwrap_or_default() * PASSES as f64);
            let sleep_us = SLEEP_NS / 1_000;
            let walk = |cpu| {
                format!(
                    r#""walk{cpu}": {{"instance": {TASKS_OF_CPU}, "cpus": [{cpu}], "working_set_kib": {SET_KIB}, {work}, "sleep": {sleep_us}}}"#
                )
            };
            (0..cpus).map(walk).collect()
        }
    };
    format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "))
}

fn pipes(second: u32, own: &str) -> Vec<String> {
    vec![
        format!(r#""first": {{"cpus": [0], {own}, "sem_post": "there", "sem_wait": "back"}}"#),
        format!(
            r#""second": {{"cpus": [{second}], "sem_wait": "there", {own}, "sem_post": "back"}}"#
        ),
    ]
}

fn thinks(pair: u32, own: &str) -> Vec<String> {
    let think_us = THINK_NS / 1_000;
    let (first, second) = (2 * pair, 2 * pair + 1);
    vec![
        format!(
            r#""think{pair}": {{"cpus": [{first}], "sleep": {think_us}, "sem_post": "go{pair}", "sem_wait": "done{pair}"}}"#
        ),
        format!(
            r#""work{pair}": {{"cpus": [{second}], "sem_wait": "go{pair}", {own}, "sem_post": "done{pair}"}}"#
        ),
    ]
}

/// A pipe of each receiver has a semaphore for its messages and one for its free pages. A sender
/// takes a page of each, and fills them.
fn groups(into: &str, out: &str, cpus: u32) -> Vec<String> {
    let cpu = |at: usize| at as u32 % cpus.max(1);
    let each =
        |what: &dyn Fn(usize) -> String| (0..SENDERS).map(what).collect::<Vec<_>>().join(", ");
    let free = each(&|at| format!(r#""sem_post": "room{at}""#));
    let take = each(&|at| format!(r#""sem_wait": "room{at}""#));
    let send = each(&|at| format!(r#"{into}, "sem_post": "data{at}""#));
    let mut tasks = vec![format!(r#""pages": {{"loop": {PAGES}, {free}}}"#)];
    tasks.extend((0..SENDERS).map(|at| {
        format!(
            r#""send{at}": {{"cpus": [{}], "phases": {{"take": {{{take}}}, "send": {{"loop": {MESSAGES_OF_PAGE}, {send}}}}}}}"#,
            cpu(at)
        )
    }));
    tasks.extend((0..SENDERS).map(|at| {
        format!(
            r#""receive{at}": {{"cpus": [{}], "phases": {{"page": {{"loop": {MESSAGES_OF_PAGE}, "sem_wait": "data{at}", {out}}}, "free": {{"sem_post": "room{at}"}}}}}}"#,
            cpu(at)
        )
    }));
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_load_is_a_workload_without_warnings() {
        for load in CalibratedLoad::value_variants() {
            let text = text(*load, &[465.25, 300.0], 4);
            let workload = rota_workload::parse("load.json", &text).expect("as written");
            assert!(workload.warnings.is_empty(), "{load:?}: {:?}", workload.warnings);
            assert!(workload.tasks.len() > 1, "{load:?}");
        }
    }
}
