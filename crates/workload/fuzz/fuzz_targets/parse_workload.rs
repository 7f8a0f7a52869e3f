// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any text as a workload file: parse it, and let the tasks of a valid one take some steps. What is
//! behind a form feed is the file of arrivals that it names.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rota_workload::{description, parse_with, SeededRunner, Step, TaskIx};

/// Steps of each task, and tasks that take some.
const STEPS: u32 = 64;
const TASKS: usize = 16;

fuzz_target!(|text: &str| {
    let (text, arrivals) = text.split_once('\u{c}').unwrap_or((text, "0\n1000,500\n"));
    let _ = description(text);
    let named = |_: &str| Ok(arrivals.to_owned());
    let workload = match parse_with("fuzz.json", text, &named) {
        Ok(workload) => workload,
        Err(error) => {
            // A place that exists: a line of the file, or the one after its last.
            let lines = text.lines().count().max(arrivals.lines().count());
            assert!(error.line >= 1 && error.line as usize <= lines + 1);
            assert!(error.column >= 1 && !error.message.is_empty());
            return;
        }
    };
    let mut runner = SeededRunner::new(workload.into(), 1);
    let mut now_ns = 0u64;
    for _ in 0..STEPS {
        for task in (0..runner.task_count().min(TASKS) as u32).map(TaskIx) {
            match runner.next(task, now_ns) {
                Step::Run { work_ns: ns } | Step::Runtime { ns } | Step::Sleep { ns } => {
                    now_ns = now_ns.saturating_add(ns);
                }
                Step::SleepUntil { at_ns } => now_ns = now_ns.max(at_ns),
                _ => {}
            }
        }
    }
    let _ = (runner.blocked(), runner.deadlocks());
});
