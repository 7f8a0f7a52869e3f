// SPDX-License-Identifier: MIT OR Apache-2.0
//! What single calls of the kernel cost, and what the simulator counts for them: whether
//! the costs that the simulated machine assumes are right.

use crate::failure::Failure;
use crate::host::TaskSpec;
use crate::link::{sources, Bench};
use crate::measure::{self, Plan, Spread};
use crate::simulate::simulate;
use crate::subject::Subject;
use crate::tasks::SleepingTasks;
use serde::Serialize;

/// Runnable tasks while calls are timed.
pub const TASKS: usize = 200;

/// What is called, and how often for a decision; numbered from 1 as in `calls.bpf.c`. The
/// last ones are a policy's own code: three divisions, and a loop.
const CALLS: [(&str, f64); 13] = [
    ("bpf_spin_lock, _unlock", 8.0),
    ("bpf_task_storage_get", 8.0),
    ("hash map lookup", 8.0),
    ("per-CPU array, increment", 8.0),
    ("bpf_task_from_pid, _release", 8.0),
    ("bpf_cpumask_test_cpu", 8.0),
    ("bpf_ktime_get_ns", 8.0),
    ("atomic add", 8.0),
    ("stand-in: pick_idle_cpu", 8.0),
    ("stand-in: FIFO queue, in and out", 1.0),
    ("stand-in: vtime queue, in and out", 1.0),
    ("own code: a virtual time advances", 8.0),
    ("own code: the least of 32 virtual times", 8.0),
];

/// What one call costs.
#[derive(Clone, Debug, Serialize)]
pub struct CallCost {
    /// What was called.
    pub name: &'static str,
    /// Nanoseconds more than without it.
    pub ns: f64,
    /// Instructions more than without it, as the simulator counts.
    pub instructions: Option<f64>,
}

fn compile(call: usize) -> Result<Subject, Failure> {
    let object =
        rota_catalog::compile(&sources().join("calls.bpf.c"), &[], &[format!("-DCALL={call}")])
            .map_err(|e| Failure::object("calls", e))?;
    Ok(Subject { name: format!("calls {call}"), object })
}

/// Times each call, taking turns with the same policy without it.
pub fn measure_all(
    bench: &Bench,
    sleeping: &SleepingTasks,
    plan: Plan,
) -> Result<Vec<CallCost>, Failure> {
    let specs = measure::load(TASKS);
    let nothing = compile(0)?;
    CALLS
        .iter()
        .zip(1..)
        .map(|((name, times), number)| {
            let subject = compile(number)?;
            let ns = difference(bench, sleeping, &specs, plan, [&nothing, &subject])?;
            let instructions = instructions(&subject, &specs)
                .zip(instructions(&nothing, &specs))
                .map(|(with, without)| (with - without) / times);
            Ok(CallCost { name, ns: ns / times, instructions })
        })
        .collect()
}

/// Median over the turns of what the second takes more than the first, per decision.
fn difference(
    bench: &Bench,
    sleeping: &SleepingTasks,
    specs: &[TaskSpec],
    plan: Plan,
    subjects: [&Subject; 2],
) -> Result<f64, Failure> {
    let mut without = measure::prepare(bench, subjects[0], sleeping, specs)?;
    let mut with = measure::prepare(bench, subjects[1], sleeping, specs)?;
    let mut more = Vec::with_capacity(plan.repetitions);
    for _ in 0..plan.repetitions {
        let less = measure::turn(&mut without, plan.decisions)?.inside;
        more.push(measure::turn(&mut with, plan.decisions)?.inside - less);
    }
    Ok(Spread::of(&more).map_or(0.0, |spread| spread.median))
}

fn instructions(subject: &Subject, specs: &[TaskSpec]) -> Option<f64> {
    let decisions = measure::simulated_decisions(specs);
    simulate(&subject.name, &subject.object, specs, decisions).ok().map(|s| s.instructions)
}
