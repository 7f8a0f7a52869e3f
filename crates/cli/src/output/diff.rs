// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where two runs part: text and JSON.

use super::comparison::numbers;
use super::{table, units};
use crate::decision::{Decision, Difference, Parting, Runnable, Side};
use rota_machine::consts::{DSQ_GLOBAL, DSQ_LOCAL, DSQ_LOCAL_CPU_MASK, DSQ_LOCAL_ON, SLICE_INF};
use rota_measure::catalogue::Measure;
use rota_measure::statistics::Better;
use serde_json::{json, Value};
use std::io::{self, Write};

/// Names of the sides.
const SIDES: [&str; 2] = ["a", "b"];
/// Tasks that are shown of a side at most.
const MOST_TASKS: usize = 20;

/// Prints everything.
pub(crate) fn print(out: &mut dyn Write, found: &Difference, all: bool) -> io::Result<()> {
    for (name, side) in SIDES.iter().zip(&found.sides) {
        let Side { name: of, decisions, cpus, duration_ns, .. } = side;
        let (count, plural) = (decisions.count(), if *cpus == 1 { "" } else { "s" });
        let time = units::duration(*duration_ns);
        writeln!(out, "{name}: {of}: {cpus} CPU{plural}, {time}, {count} decisions")?;
    }
    writeln!(out)?;
    match found.parting {
        None => writeln!(out, "no decision differs: every CPU takes the same tasks in one order")?,
        Some(parting) => {
            writeln!(
                out,
                "first decision that differs: number {} of CPU {}",
                parting.at + 1,
                parting.cpu
            )?;
            sides(out, found, parting)?;
            for (name, side) in SIDES.iter().zip(&found.sides) {
                saw(out, name, side)?;
            }
        }
    }
    if let Some(slice) = found.slice.filter(|slice| Some(*slice) != found.parting) {
        let (at, cpu) = (slice.at + 1, slice.cpu);
        writeln!(out, "\nfirst slice that differs: decision {at} of CPU {cpu}")?;
        sides(out, found, slice)?;
    }
    measures(out, found, all)
}

fn sides(out: &mut dyn Write, found: &Difference, parting: Parting) -> io::Result<()> {
    for ((name, side), decision) in SIDES.iter().zip(&found.sides).zip(found.at(parting)) {
        writeln!(out, "  {name}: {}", taken(side, decision))?;
    }
    Ok(())
}

/// `at 30ms A-0 (1001) for 10ms`.
fn taken(side: &Side, decision: Option<&Decision>) -> String {
    let Some(Decision { time_ns, pid, slice_ns }) = decision else {
        return "no such decision: the run has fewer on this CPU".into();
    };
    let slice = match slice_ns {
        0 => String::new(),
        &SLICE_INF => " without an end".into(),
        ns => format!(" for {}", units::duration(*ns)),
    };
    format!("at {} {} ({pid}){slice}", units::duration(*time_ns), side.decisions.name(*pid))
}

/// What could run on one side.
fn saw(out: &mut dyn Write, name: &str, side: &Side) -> io::Result<()> {
    let mut tasks: Vec<&Runnable> = side.saw.iter().collect();
    // Those that wait longest first, then those that run.
    tasks.sort_by_key(|task| (task.since_ns.is_none(), task.since_ns, task.pid));
    writeln!(out, "\n{name} saw {} tasks that could run", tasks.len())?;
    if tasks.is_empty() {
        return Ok(());
    }
    let row = |task: &&Runnable| {
        vec![
            task.name.clone(),
            task.pid.to_string(),
            task.weight.to_string(),
            units::duration(task.ran_ns),
            task.since_ns.map_or_else(|| "runs".into(), units::duration),
            task.cpu.map_or_else(|| "-".into(), |cpu| cpu.to_string()),
            queue(task),
        ]
    };
    let header = ["task", "pid", "weight", "cpu time", "waits since", "CPU", "queue"];
    let rows = tasks.iter().take(MOST_TASKS).map(row).collect();
    table::lines(&header, 1, rows).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    match tasks.len().saturating_sub(MOST_TASKS) {
        0 => Ok(()),
        more => writeln!(out, "and {more} more"),
    }
}

/// `local of CPU 3`, `0x64`; of one that no dispatch queue has, the policy's own.
fn queue(task: &Runnable) -> String {
    match (task.since_ns, task.dsq) {
        (None, _) => "-".into(),
        (_, None) => "the policy's".into(),
        (_, Some(DSQ_GLOBAL)) => "global".into(),
        (_, Some(DSQ_LOCAL)) => "local".into(),
        (_, Some(dsq)) if dsq & DSQ_LOCAL_ON == DSQ_LOCAL_ON => {
            format!("local of CPU {}", dsq & DSQ_LOCAL_CPU_MASK)
        }
        (_, Some(dsq)) => format!("{dsq:#x}"),
    }
}

/// Metrics that differ; `all`: those that do not, too.
fn measures(out: &mut dyn Write, found: &Difference, all: bool) -> io::Result<()> {
    let values = |at: usize| [0, 1].map(|side: usize| found.sides[side].measures[at]);
    let is_shown = |(at, _): &(usize, &Measure)| {
        let [a, b] = values(*at);
        (a.is_some() || b.is_some()) && (all || a != b)
    };
    let row = |(at, measure): (usize, &Measure)| {
        let [a, b] = values(at);
        let text = |of: Option<f64>| match of {
            Some(of) => numbers::mean(measure.unit, of, None),
            None => "-".into(),
        };
        let moved = a.zip(b).map_or_else(String::new, |(a, b)| moved(measure, a, b));
        vec![measure.name.to_owned(), text(a), text(b), moved]
    };
    let shown = found.measures.iter().enumerate().filter(is_shown);
    let rows: Vec<Vec<String>> = shown.map(row).collect();
    writeln!(out)?;
    if rows.is_empty() {
        return writeln!(out, "no metric differs");
    }
    let lines = table::lines(&["metric", "a", "b", "b to a"], 1, rows);
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// `1.31x worse`; one run of each, so nothing is tested.
fn moved(measure: &Measure, a: f64, b: f64) -> String {
    let size = match a != 0.0 && a * b >= 0.0 {
        true => format!("{}x", numbers::ratio(b / a)),
        false => "-".into(),
    };
    let way = match (measure.better, a.total_cmp(&b)) {
        (Better::Neither, _) | (_, std::cmp::Ordering::Equal) => "",
        (Better::Lower, std::cmp::Ordering::Less) => " worse",
        (Better::Higher, std::cmp::Ordering::Greater) => " worse",
        _ => " better",
    };
    format!("{size}{way}")
}

/// The same for programs.
pub(crate) fn json(found: &Difference) -> Value {
    let measures = |side: &Side| {
        let values = found.measures.iter().zip(&side.measures);
        let values = values.map(|(measure, value)| (measure.key.to_owned(), json!(value)));
        values.collect::<serde_json::Map<String, Value>>()
    };
    let saw = |task: &Runnable| {
        json!({
            "pid": task.pid,
            "name": task.name,
            "weight": task.weight,
            "cpu_ns": task.ran_ns,
            "waits_since_ns": task.since_ns,
            "cpu": task.cpu,
            "dsq_id": task.dsq,
        })
    };
    let side = |side: &Side| {
        json!({
            "file": side.policy.is_none().then_some(&side.name),
            "policy": side.policy,
            "cpus": side.cpus,
            "duration_ns": side.duration_ns,
            "decisions": side.decisions.count(),
            "saw": side.saw.iter().map(saw).collect::<Vec<_>>(),
            "measures": measures(side),
        })
    };
    let place = |parting: Parting| {
        let taken = found.at(parting);
        let one = |side: usize| {
            taken[side].map(|of| {
                json!({
                    "time_ns": of.time_ns,
                    "pid": of.pid,
                    "task": found.sides[side].decisions.name(of.pid),
                    "slice_ns": of.slice_ns,
                })
            })
        };
        json!({ "cpu": parting.cpu, "decision": parting.at + 1, "a": one(0), "b": one(1) })
    };
    json!({
        "schema": "rota.diff/1",
        "rota": env!("CARGO_PKG_VERSION"),
        "workload": found.of.as_ref().map(|(workload, _)| workload),
        "seed": found.of.as_ref().map(|(_, seed)| seed),
        "a": side(&found.sides[0]),
        "b": side(&found.sides[1]),
        "first_decision": found.parting.map(place),
        "first_slice": found.slice.map(place),
    })
}
