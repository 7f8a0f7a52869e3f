// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of `rota sim`: a line of what was run, tasks, totals, notes, the end.

use super::units::{duration, index_or_dash, mean_or_dash, percent, time, time_or_dash};
use super::{blocked, dump, locks, periodic, program, requests, table, uncharged, unfilled, Run};
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_machine::outside::Happened;
use rota_machine::subs::SubExit;
use rota_machine::tracing::{never_called, never_called_in_sub, NeverCalled};
use rota_machine_file::models;
use rota_measure::{GroupNumbers, LatencyNumbers, TaskNumbers, Totals, WorkNumbers};
use rota_sim::PolicyStat;
use rota_trace::CpuList;
use std::io::{self, Write};

/// With more tasks than this, instances of one task share a row.
pub(crate) const MOST_ROWS: usize = 40;
/// Fields named in the note about reads that the machine cannot answer.
const MOST_FIELDS: usize = 6;
/// Notes on events before they are only counted.
const MOST_EVENTS: usize = 12;

/// Prints a run.
pub(crate) fn print(out: &mut dyn Write, run: &Run<'_>, all_tasks: bool) -> io::Result<()> {
    writeln!(out, "{}\n", run.described)?;
    let finished = run.finished;
    let count = finished.numbers.load().count();
    let folded = !all_tasks && count > MOST_ROWS;
    let lines = match folded {
        true => groups(&finished.groups),
        false => tasks(finished.numbers.load()),
    };
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    if folded {
        writeln!(out, "\n{count} tasks; instances of one task are added up (--all-tasks: no)")?;
    }
    writeln!(out)?;
    requests::print(out, &finished.requests)?;
    let (tasks, groups) = (finished.numbers.load(), &finished.groups);
    match folded {
        true => periodic::print(out, groups.iter().map(|g| (&*g.name, g.jobs.as_ref())))?,
        false => periodic::print(out, tasks.map(|t| (&*t.name, t.jobs.as_ref())))?,
    }
    locks::print(out, &finished.numbers.locks)?;
    totals(out, run)?;
    program::print(out, run)?;
    notes(out, run)?;
    if finished.outcome.end_ns < run.config.duration_ns {
        let ends = run.load.workload.ends_with_tasks && !finished.outcome.exit.kind.is_error();
        let why = if ends { "all tasks had ended" } else { "the run ended early," };
        writeln!(out, "{why} after {}", duration(finished.outcome.end_ns))?;
    }
    if !finished.outcome.exit.kind.is_error() {
        writeln!(out, "\nEXIT: {}", finished.outcome.exit)?;
        for line in finished.outcome.exit.origin.lines() {
            writeln!(out, "  {line}")?;
        }
    }
    if let Some(dump) = &finished.dump {
        dump::print(out, dump)?;
    }
    Ok(())
}

/// `seed 1`.
pub(crate) fn seed(config: &Config) -> String {
    format!("seed {}", config.seed)
}

/// `4 CPUs (2 cores) at 250 Hz, 10s, seed 1`, the last part as given.
pub(crate) fn machine_with(config: &Config, seeds: &str) -> String {
    let topology = &config.topology;
    let cpus = match topology.cpus() {
        1 => "1 CPU".to_owned(),
        n => format!("{n} CPUs"),
    };
    let cores = topology.cores();
    let groups = [
        ("core", cores, topology.has_smt()),
        ("cache", topology.llcs(), topology.llcs() > 1),
        ("node", topology.nodes(), topology.nodes() > 1),
    ];
    let shown = groups.iter().filter(|(_, _, shown)| *shown);
    let parts: Vec<String> = shown
        .map(|(name, count, _)| format!("{count} {name}{}", if *count == 1 { "" } else { "s" }))
        .collect();
    let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    let ideal = if config.exact_slices { ", ideal" } else { "" };
    let ties = if config.shuffle_ties { ", ties shuffled" } else { "" };
    let tickless = match config.nohz_full.iter().copied().collect::<CpuList>() {
        none if none.as_str().is_empty() => String::new(),
        cpus => format!(", nohz_full {}", cpus.as_str()),
    };
    let time = duration(config.duration_ns);
    let warmup = match config.warmup_ns {
        0 => String::new(),
        ns => format!(", without the first {}", duration(ns)),
    };
    let hardware = config.hardware.as_deref();
    let on = hardware.map(|of| models(topology, Some(of)).into_iter().filter(|model| model.is_on));
    let on: Option<Vec<&str>> = on.map(|on| on.map(|model| model.name).collect());
    let on = on.map_or_else(String::new, |on| match on.is_empty() {
        true => ", models off".to_owned(),
        false => format!(", models on: {}", on.join(", ")),
    });
    format!("{cpus}{parts} at {} Hz{tickless}, {time}, {seeds}{ideal}{ties}{warmup}{on}", config.hz)
}

/// A percentile of fewer samples is one of them.
const FEW: u64 = 10;

/// Rows of tasks.
pub(crate) fn tasks<'a>(tasks: impl Iterator<Item = &'a TaskNumbers> + Clone) -> Vec<String> {
    let counts = has_few(tasks.clone().map(|t| &t.wakeup_latency_ns));
    let works = tasks.clone().any(|t| t.work.is_some());
    let row = |t: &TaskNumbers| {
        let weight = if t.class == "ext" { t.weight.to_string() } else { t.class.to_owned() };
        let mut row = vec![t.name.clone(), t.pid.to_string(), weight];
        row.extend([time(t.cpu_ns), percent(t.share)]);
        row.extend(works.then(|| work_rate(t.work.as_ref())));
        row.push(time(t.run_delay_ns));
        row.extend(counts.then(|| t.wakeup_latency_ns.count.to_string()));
        row.extend(latency(&t.wakeup_latency_ns));
        row.extend([t.switches.to_string(), t.migrations.to_string()]);
        row
    };
    table::lines(&header("pid", works, counts), 1, tasks.map(row).collect())
}

/// Rows of groups of tasks.
pub(crate) fn groups(groups: &[GroupNumbers]) -> Vec<String> {
    let counts = has_few(groups.iter().map(|g| &g.wakeup_latency_ns));
    let works = groups.iter().any(|g| g.work.is_some());
    let row = |g: &GroupNumbers| {
        let weight = g.weight.map_or("-".into(), |weight| weight.to_string());
        let mut row = vec![g.name.clone(), g.tasks.to_string(), weight];
        row.extend([time(g.cpu_ns), percent(g.share)]);
        row.extend(works.then(|| work_rate(g.work.as_ref())));
        row.push(time(g.run_delay_ns));
        row.extend(counts.then(|| g.wakeup_latency_ns.count.to_string()));
        row.extend(latency(&g.wakeup_latency_ns));
        row.extend([g.switches.to_string(), g.migrations.to_string()]);
        row
    };
    table::lines(&header("tasks", works, counts), 1, groups.iter().map(row).collect())
}

/// Whether the table says how many wakeups there were: some row has few.
fn has_few<'a>(mut rows: impl Iterator<Item = &'a LatencyNumbers>) -> bool {
    rows.any(|of| (1..FEW).contains(&of.count))
}

fn header(second: &'static str, works: bool, counts: bool) -> Vec<&'static str> {
    let mut header = vec!["task", second, "weight", "cpu time", "share"];
    header.extend(works.then_some("work rate"));
    header.push("run delay");
    header.extend(counts.then_some("wakeups"));
    header.extend(["wakeup p50", "p95", "p99", "max", "switches", "migrations"]);
    header
}

/// How fast a task was where it ran.
fn work_rate(work: Option<&WorkNumbers>) -> String {
    work.and_then(|work| work.rate).map_or("-".into(), percent)
}

fn latency(latency: &LatencyNumbers) -> [String; 4] {
    [latency.p50, latency.p95, latency.p99, latency.max].map(time_or_dash)
}

/// Numbers of the whole machine.
pub(crate) fn totals_line(totals: &Totals, capacity_ns: f64) -> String {
    let idle = if capacity_ns > 0.0 { totals.idle_ns as f64 / capacity_ns } else { 0.0 };
    format!(
        "decisions {}, context switches {}, idle {} ({}), Jain index {}",
        totals.decisions,
        totals.context_switches,
        time(totals.idle_ns),
        percent(idle),
        index_or_dash(totals.jain),
    )
}

/// Says that CPUs were idle while tasks waited, if that shows in a tenth of a percent.
pub(crate) fn wasted_line(totals: &Totals, capacity_ns: f64) -> Option<String> {
    let wasted = if capacity_ns > 0.0 { totals.wasted_idle_ns as f64 / capacity_ns } else { 0.0 };
    (wasted >= 0.0005).then(|| {
        let time = time(totals.wasted_idle_ns);
        format!("idle while a task that could use the CPU waited: {time} ({})", percent(wasted))
    })
}

/// Says for how long core scheduling kept CPUs from their tasks, if it did.
pub(crate) fn forced_line(totals: &Totals, capacity_ns: f64) -> Option<String> {
    let forced_ns = totals.forced_idle_ns.filter(|ns| *ns > 0 && capacity_ns > 0.0)?;
    let (time, part) = (time(forced_ns), percent(forced_ns as f64 / capacity_ns));
    Some(format!("forced idle by core scheduling: {time} ({part})"))
}

/// Says what was got done on a machine that is not flat, and the energy for it if that is known.
fn work_line(totals: &Totals) -> Option<String> {
    let work = totals.work.as_ref()?;
    let (done, rate) = (time(work.full_speed_ns), work_rate(Some(work)));
    let energy = work.energy_nj.map(|nj| nj as f64 / 1e9).map_or_else(String::new, |joules| {
        let watts = joules / (totals.measured_ns.max(1) as f64 / 1e9);
        format!("; energy {joules:.4} J ({watts:.4} W)")
    });
    Some(format!("work done: {done} at full speed (work rate {rate}){energy}"))
}

/// Says that wakeups were unanswered.
pub(crate) fn waiting_note(out: &mut dyn Write, totals: &Totals) -> io::Result<()> {
    let waiting = totals.wakeup_latency_ns.waiting;
    if waiting == 0 {
        return Ok(());
    }
    let those = if waiting == 1 { "wakeup was" } else { "wakeups were" };
    writeln!(out, "note: {waiting} {those} unanswered at the end, counted up to there")
}

fn totals(out: &mut dyn Write, run: &Run<'_>) -> io::Result<()> {
    let totals = &run.finished.numbers.totals;
    let capacity_ns = run.config.topology.cpus() as f64 * totals.measured_ns as f64;
    let cost = &totals.instructions_per_decision;
    let most = cost.max.map_or("-".into(), |max| max.to_string());
    writeln!(out, "{}", totals_line(totals, capacity_ns))?;
    let lines =
        [wasted_line(totals, capacity_ns), forced_line(totals, capacity_ns), work_line(totals)];
    lines.into_iter().flatten().try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out, "instructions per decision: mean {}, max {most}", mean_or_dash(cost.mean))?;
    let counted = run.finished.policy_stats.iter().filter(|stat| says_something(stat));
    let counted = counted.map(counted_as).collect::<Vec<_>>();
    match counted.as_slice() {
        [] => Ok(()),
        counted => writeln!(out, "counted by the policy: {}", counted.join(", ")),
    }
}

/// Not a counter without a name, an element of a map of numbers, that is 0.
fn says_something(stat: &PolicyStat) -> bool {
    !stat.name.ends_with(']') || stat.value.as_i64() != Some(0)
}

/// `picks 334`; times with their unit.
fn counted_as(stat: &PolicyStat) -> String {
    let ns = stat.value.as_u64().filter(|_| stat.unit.as_deref() == Some("ns"));
    let value = ns.map_or_else(|| stat.value.to_string(), time);
    format!("{} {value}", stat.name)
}

fn notes(out: &mut dyn Write, run: &Run<'_>) -> io::Result<()> {
    waiting_note(out, &run.finished.numbers.totals)?;
    let ignored = rota_sim::ignored(run.image, &run.load.workload, run.config);
    if let Some(note) = ignored.message(run.policy) {
        writeln!(out, "note: {note}")?;
    }
    if let Some(note) = uncharged::note([(run.policy, run.image)], run.config) {
        writeln!(out, "note: {note}")?;
    }
    if let Some(note) = requests::open_note(&run.finished.requests) {
        writeln!(out, "note: {note}")?;
    }
    if let Some(note) = blocked::note(run) {
        writeln!(out, "note: {note}")?;
    }
    for deadlock in &run.finished.outcome.deadlocks {
        writeln!(out, "note: deadlock: {deadlock}")?;
    }
    for happened in run.finished.outcome.outside.iter().take(MOST_EVENTS) {
        let Happened { at_ns, event, action, result } = happened;
        writeln!(out, "note: {event} at {} ({action}): {result}", time(*at_ns))?;
    }
    if let Some(more @ 1..) = run.finished.outcome.outside.len().checked_sub(MOST_EVENTS) {
        writeln!(out, "note: {more} more notes on events (--json has all)")?;
    }
    for gone in &run.finished.outcome.sub_exits {
        let SubExit { at_ns, cgroup, exit } = gone;
        // at the end they all go with the policy
        if exit.kind != ExitKind::Parent {
            writeln!(out, "note: sub-scheduler of {cgroup} left at {}: {exit}", time(*at_ns))?;
        }
    }
    let fields = unfilled::fields(run);
    if !fields.is_empty() {
        let named = fields.iter().take(MOST_FIELDS);
        let named: Vec<String> = named.map(|f| format!("{} ({})", f.field, f.count)).collect();
        let more = match fields.len().saturating_sub(MOST_FIELDS) {
            0 => String::new(),
            n => format!(" and {n} more (--json has all)"),
        };
        let named = named.join(", ");
        writeln!(out, "note: read as 0, not simulated: {named}{more}")?;
    }
    if !run.image.untold_types.is_empty() {
        let types = run.image.untold_types.join(", ");
        writeln!(out, "note: taken as absent, not in the bundled types: {types} (see --btf)")?;
    }
    for NeverCalled { program, section, why } in never_called(run.image) {
        writeln!(out, "note: never called: {program}() (section {section}): {why}")?;
    }
    for (cgroup, image) in run.subs {
        for NeverCalled { program, section, why } in never_called_in_sub(image) {
            writeln!(
                out,
                "note: never called, of {cgroup}: {program}() (section {section}): {why}"
            )?;
        }
    }
    if !run.finished.outcome.printed.is_empty() {
        let lines = run.finished.outcome.printed.len();
        writeln!(out, "note: the policy printed {lines} lines (-v shows them)")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_machine::topology::Topology;

    #[test]
    fn the_machine_is_described_by_what_is_special() {
        let describe = |cpus, text| {
            let config = Config::new(Topology::parse(cpus, text).unwrap(), 1_500_000_000);
            machine_with(&config, &seed(&config))
        };
        assert_eq!(describe(1, ""), "1 CPU at 250 Hz, 1.5s, seed 1");
        let large = "16 CPUs (8 cores, 2 caches) at 250 Hz, 1.5s, seed 1";
        assert_eq!(describe(16, "smt=2,llc=8,node=16"), large);
        assert_eq!(describe(2, "smt=2"), "2 CPUs (1 core) at 250 Hz, 1.5s, seed 1");
    }
}
