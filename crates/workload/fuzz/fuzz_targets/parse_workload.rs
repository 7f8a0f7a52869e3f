// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any text as a workload file: parse it, and let the tasks of a valid one take some steps.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rota_workload::{parse, Runner, Step, TaskIx};

/// Steps of each task, and tasks that take some.
const STEPS: u32 = 64;
const TASKS: usize = 16;

fuzz_target!(|text: &str| {
    let workload = match parse("fuzz.json", text) {
        Ok(workload) => workload,
        Err(error) => {
            // A place that exists: a line of the file, or the one after its last.
            assert!(error.line >= 1 && error.line as usize <= text.lines().count() + 1);
            assert!(error.column >= 1 && !error.message.is_empty());
            return;
        }
    };
    let mut runner = Runner::new(workload.into(), 1);
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
