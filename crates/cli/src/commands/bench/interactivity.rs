// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota bench interactivity`.

use super::args::InteractivityArgs;
use super::values::{load_name, task_name};
use super::{child_command, scheduler};
use crate::error::{Error, Status};
use crate::output::{json, table, units};
use crate::progress;
use rota_bench::interactivity::{self, Interactivity, Pair, Plan, LEAD};
use rota_bench::Cpus;
use serde::Serialize;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: &'static str,
    scheduler: &'a str,
    cpus: &'a [usize],
    duration_ns: u64,
    repeat: u32,
    burn: u32,
    lead_ns: u64,
    #[serde(flatten)]
    found: &'a Interactivity,
}

pub(crate) fn run(args: &InteractivityArgs) -> Result<Status, Error> {
    let own = child_command("interactive-child")?;
    let plan = Plan {
        tasks: unique(&args.task),
        loads: unique(&args.load),
        burn: args.burn,
        duration: Duration::from_nanos(args.duration),
        repeat: args.repeat,
        loops_per_ms: args.loops_per_ms,
    };
    let cpus = Cpus::several(&args.cpu)?;
    let tests = plan.tasks.len() as u64 * plan.loads.len() as u64 * u64::from(plan.repeat);
    let tested = AtomicU64::new(0);
    let found = progress::show_position(&|| (tested.load(Ordering::Relaxed), tests), || {
        interactivity::measure(&plan, &cpus, own, || {
            tested.fetch_add(1, Ordering::Relaxed);
        })
    })?;
    let scheduler = scheduler();
    let mut out = crate::output::stdout();
    if args.json {
        let found = Json {
            schema: "rota.bench.interactivity/1",
            scheduler: &scheduler,
            cpus: cpus.all_shared(),
            duration_ns: args.duration,
            repeat: args.repeat,
            burn: args.burn,
            lead_ns: LEAD.as_nanos() as u64,
            found: &found,
        };
        json::print(&mut out, &found)?;
    } else {
        let on: Vec<String> = cpus.all_shared().iter().map(usize::to_string).collect();
        let (plural, on) = (if on.len() > 1 { "s" } else { "" }, on.join(", "));
        let loops = found.loops_per_ms;
        writeln!(out, "CPU{plural} {on}, scheduler: {scheduler}, {loops} loops per ms")?;
        print(&mut out, &found)?;
    }
    out.flush()?;
    Ok(Status::Done)
}

/// Without the same twice, which would only take time.
fn unique<T: Copy + PartialEq>(all: &[T]) -> Vec<T> {
    let mut kept = Vec::new();
    for one in all {
        if !kept.contains(one) {
            kept.push(*one);
        }
    }
    kept
}

fn print(out: &mut dyn Write, found: &Interactivity) -> Result<(), Error> {
    let header = [
        "task",
        "load",
        "average (ms)",
        "deviation (ms)",
        "max (ms)",
        "mean of max (ms)",
        "desired CPU",
        "deadlines met",
    ];
    for line in table::lines(&header, 2, found.pairs.iter().map(row).collect()) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn row(pair: &Pair) -> Vec<String> {
    let none = || "–".to_owned();
    let ms = |ns: Option<f64>| ns.map_or_else(none, |ns| format!("{:.3}", ns / 1e6));
    let part = |part: Option<f64>| part.map_or_else(none, units::percent);
    let latency = pair.latency_ns.as_ref();
    vec![
        task_name(pair.task).into(),
        load_name(pair.load).into(),
        ms(latency.map(|of| of.mean)),
        ms(latency.map(|of| of.deviation)),
        ms(latency.map(|of| of.max)),
        ms(pair.average_maximum_ns()),
        part(pair.desired_cpu),
        part(pair.deadlines_met),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_bench::interactivity::Task;

    #[test]
    fn what_is_asked_for_twice_is_done_once() {
        assert_eq!(unique(&[Task::X, Task::Audio, Task::X]), [Task::X, Task::Audio]);
    }
}
