// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--trace` in every format, read back by programs that are not ours: Perfetto's trace
//! processor opens `.pftrace` and `.json`, DuckDB opens `.parquet`. What they see is compared,
//! slice by slice and row by row, with what the CSV trace of the same run says.

use anyhow::{ensure, Context, Result};
use rota_e2e::command::{root, rota};
use rota_e2e::readers::{duckdb, perfetto, Row};
use rota_e2e::trace;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;

/// Forks and exits are in it, and wakeups by tasks.
const DURATION_NS: u64 = 700_000_000;

/// A run with its traces `run.*`, the CSV, and the summary.
struct Run {
    directory: TempDir,
    rows: Vec<trace::Row>,
    summary: Value,
}

impl Run {
    fn new(options: &[&str]) -> Result<Self> {
        let directory = TempDir::new()?;
        let duration = format!("{DURATION_NS}ns");
        let mut arguments = ["sim", "wfq", "workloads/web.json", "--json", "--duration", &duration]
            .map(str::to_owned)
            .to_vec();
        arguments.extend(options.iter().map(ToString::to_string));
        for ending in ["csv", "pftrace", "json", "parquet"] {
            let file = directory.path().join(format!("run.{ending}"));
            arguments.extend(["--trace".to_owned(), file.to_string_lossy().into_owned()]);
        }
        let outcome = rota(&arguments)?;
        ensure!(outcome.code == Some(0), "{}", outcome.stderr);
        let rows = trace::read(&directory.path().join("run.csv"))?;
        Ok(Self { directory, rows, summary: serde_json::from_slice(&outcome.stdout)? })
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Perfetto's answers about the trace with this ending.
    fn perfetto(&self, ending: &str, queries: &[&str]) -> Result<Vec<Vec<Row>>> {
        perfetto(&self.path().join(format!("run.{ending}")), queries)
    }

    fn count(&self, event: &str) -> u64 {
        self.rows.iter().filter(|row| row.event == event).count() as u64
    }
}

/// A task on a CPU: start, CPU, length, pid, and Perfetto's letter for how it ended.
type Slice = (u64, u64, u64, u64, String);

/// The slices between `switch_in` and `switch_out`; what runs at the end ends there.
fn slices(rows: &[trace::Row]) -> Result<Vec<Slice>> {
    let mut running = BTreeMap::new();
    let mut slices = Vec::new();
    for row in rows {
        let place = || row.cpu.zip(row.pid).context("a switch without CPU or task");
        match row.event.as_str() {
            "switch_in" => {
                let (cpu, pid) = place()?;
                let before = running.insert(cpu, (pid, row.time_ns));
                ensure!(before.is_none(), "{} ns: CPU {cpu} runs two tasks", row.time_ns);
            }
            "switch_out" => {
                let (cpu, pid) = place()?;
                let (ran, since) = running.remove(&cpu).context("nothing ran")?;
                ensure!(ran == pid, "{} ns: CPU {cpu} ran another task", row.time_ns);
                let end = match field(row, "why").context("why")? {
                    "runnable" => "R",
                    "sleep" => "S",
                    _ => "Z",
                };
                slices.push(slice(since, cpu, row.time_ns, pid, end));
            }
            _ => {}
        }
    }
    let open = running.into_iter();
    slices.extend(open.map(|(cpu, (pid, since))| slice(since, cpu, DURATION_NS, pid, "R")));
    slices.sort();
    Ok(slices)
}

fn slice(since: u64, cpu: u32, until: u64, pid: u32, end: &str) -> Slice {
    (since, u64::from(cpu), until - since, u64::from(pid), end.to_owned())
}

/// A `key=value` pair of a row's details.
fn field<'a>(row: &'a trace::Row, name: &str) -> Option<&'a str> {
    row.detail.split(' ').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn number(row: &Row, column: &str) -> Result<u64> {
    row[column].as_u64().with_context(|| format!("{column} in {row:?}"))
}

fn text(row: &Row, column: &str) -> Result<String> {
    Ok(row[column].as_str().with_context(|| format!("{column} in {row:?}"))?.to_owned())
}

const SCHED: &str = "select ts, cpu, dur, tid, end_state from sched join thread using(utid)";
const ERRORS: &str = "select name, value from stats \
    where severity in ('error', 'data_loss') and value > 0";

fn sched(rows: &[Row]) -> Result<Vec<Slice>> {
    let slice = |row: &Row| -> Result<Slice> {
        let value = |column| number(row, column);
        Ok((value("ts")?, value("cpu")?, value("dur")?, value("tid")?, text(row, "end_state")?))
    };
    let mut slices = rows.iter().map(slice).collect::<Result<Vec<_>>>()?;
    slices.sort();
    Ok(slices)
}

/// With and without overheads: without, a CPU often takes at an instant what another one gave
/// up at the same.
#[test]
fn perfetto_sees_every_slice_of_every_cpu() -> Result<()> {
    for options in [&[][..], &["--ideal"]] {
        let run = Run::new(options)?;
        let answers = run.perfetto("pftrace", &[SCHED, ERRORS])?;
        let expected = slices(&run.rows)?;
        ensure!(expected.len() > 1000, "only {} slices", expected.len());
        assert_eq!(sched(&answers[0])?, expected, "{options:?}");
        assert!(answers[1].is_empty(), "{options:?}: {:?}", answers[1]);
    }
    Ok(())
}

/// Time that each task spent in each of Perfetto's states, as far as they ended.
fn times_in_states(rows: &[trace::Row]) -> Result<BTreeMap<(u64, String), u64>> {
    let mut now: BTreeMap<u32, (u64, &str)> = BTreeMap::new();
    let mut times = BTreeMap::new();
    let ends =
        slices(rows)?.into_iter().filter(|(since, _, length, ..)| since + length == DURATION_NS);
    let cut: Vec<u64> = ends.map(|(.., pid, _)| pid).collect();
    for row in rows {
        let state = match (row.event.as_str(), field(row, "why")) {
            ("wakeup" | "switch_out", None | Some("runnable")) => "R",
            ("switch_in", _) => "Running",
            ("switch_out", Some("sleep")) => "S",
            ("switch_out", Some("exit")) => "Z",
            _ => continue,
        };
        let pid = row.pid.context("a state without a task")?;
        if let Some((since, old)) = now.insert(pid, (row.time_ns, state)) {
            *times.entry((u64::from(pid), old.to_owned())).or_default() += row.time_ns - since;
        }
    }
    for pid in cut {
        let (since, state) = now[&(pid as u32)];
        *times.entry((pid, state.to_owned())).or_default() += DURATION_NS - since;
    }
    times.retain(|_, time| *time > 0);
    Ok(times)
}

#[test]
fn perfetto_sees_states_names_wakers_and_callbacks() -> Result<()> {
    let run = Run::new(&[])?;
    let answers = run.perfetto(
        "pftrace",
        &[
            "select tid, state, sum(dur) as dur from thread_state join thread using(utid)
             where dur > 0 group by tid, state",
            "select tid, thread.name as task, process.name as process, pid,
                 max(priority) as priority
             from thread join process using(upid) join sched using(utid) group by utid",
            "select a.ts, ta.tid as waker, tb.tid as woken from flow
             join slice a on slice_out = a.id join thread_track ka on a.track_id = ka.id
             join thread ta on ka.utid = ta.utid
             join slice b on slice_in = b.id join thread_track kb on b.track_id = kb.id
             join thread tb on kb.utid = tb.utid
             where a.ts = b.ts",
            "select slice.name, count(*) as n from slice
             join thread_track on track_id = thread_track.id group by 1",
            "select slice.name as op, count(*) as calls,
                 sum(extract_arg(arg_set_id, 'debug.op_instructions')) as instructions
             from slice join track on track_id = track.id where track.name glob 'CPU *'
             group by 1 order by 1",
        ],
    )?;

    let mut times = BTreeMap::new();
    for row in &answers[0] {
        times.insert((number(row, "tid")?, text(row, "state")?), number(row, "dur")?);
    }
    assert_eq!(times, times_in_states(&run.rows)?);

    let tasks = run.summary["tasks"].as_array().context("tasks")?;
    let ran = tasks.iter().filter(|task| task["switches"].as_u64() > Some(0));
    assert_eq!(answers[1].len(), ran.clone().count());
    for task in ran {
        let find = |row: &&Row| row["tid"] == task["pid"];
        let row = answers[1].iter().find(find).with_context(|| format!("no {task}"))?;
        assert_eq!((&row["task"], &row["process"]), (&task["name"], &task["name"]));
        assert_eq!(row["pid"], task["pid"]);
        // Nice 0, -5 (305), 5 (33), -2 (155), 10 (11): `sched_prio_to_weight` over 1024.
        let priorities = [(100, 120), (305, 115), (33, 125), (155, 118), (11, 130)];
        let expected = priorities.iter().find(|(weight, _)| task["weight"] == *weight);
        assert_eq!(row["priority"], expected.with_context(|| format!("{task}"))?.1);
    }

    let mut arrows = Vec::new();
    for row in &answers[2] {
        arrows.push((number(row, "ts")?, number(row, "waker")?, number(row, "woken")?));
    }
    arrows.sort_unstable();
    let wakeups = run.rows.iter().filter(|row| row.event == "wakeup");
    let waker = |row: &trace::Row| field(row, "waker_pid").and_then(|pid| pid.parse().ok());
    let by_tasks = wakeups.filter_map(|row| Some((row.time_ns, waker(row)?, row.pid?.into())));
    let mut expected: Vec<(u64, u64, u64)> = by_tasks.filter(|(_, waker, _)| *waker != 0).collect();
    expected.sort_unstable();
    ensure!(!expected.is_empty(), "no task woke another");
    assert_eq!(arrows, expected);

    for event in ["wakeup", "enqueue", "dispatch", "pick", "migrate", "fork", "exit", "task"] {
        let row = answers[3].iter().find(|row| row["name"] == event);
        assert_eq!(row.map(|row| number(row, "n")).transpose()?.unwrap_or(0), run.count(event));
    }

    let mut callbacks: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for row in run.rows.iter().filter(|row| row.event == "op_call") {
        let cost = field(row, "op_instructions").context("a cost")?.parse::<u64>()?;
        let sum = callbacks.entry(field(row, "op").context("a callback")?).or_default();
        *sum = (sum.0 + 1, sum.1 + cost);
    }
    ensure!(callbacks.len() > 5, "{callbacks:?}");
    let expected: Vec<Value> = callbacks
        .iter()
        .map(|(op, (calls, cost))| json!({ "op": op, "calls": calls, "instructions": cost }))
        .collect();
    assert_eq!(json!(answers[4]), json!(expected));
    Ok(())
}

#[test]
fn perfetto_sees_the_slices_of_the_json_trace() -> Result<()> {
    let run = Run::new(&[])?;
    let query = "select thread.name as track, slice.name as task, ts, dur,
             extract_arg(slice.arg_set_id, 'args.pid') as tid
         from slice join thread_track on track_id = thread_track.id join thread using(utid)
         join process using(upid) where process.name = 'CPUs'";
    let answers = run.perfetto("json", &[query, ERRORS])?;
    let mut found = Vec::new();
    for row in &answers[0] {
        let cpu = text(row, "track")?.replace("CPU ", "").parse()?;
        found.push((number(row, "ts")?, cpu, number(row, "dur")?, number(row, "tid")?));
    }
    found.sort_unstable();
    // Slices of no length cannot be told in this format.
    let ours = slices(&run.rows)?.into_iter().filter(|slice| slice.2 > 0);
    let expected: Vec<(u64, u64, u64, u64)> =
        ours.map(|(ts, cpu, dur, pid, _)| (ts, cpu, dur, pid)).collect();
    assert_eq!(found, expected);
    assert!(answers[1].is_empty(), "{:?}", answers[1]);
    Ok(())
}

#[test]
fn duckdb_reads_the_rows_of_the_parquet_trace() -> Result<()> {
    let run = Run::new(&[])?;
    let answers = duckdb(run.path(), &["select * from 'run.parquet'"])?;
    assert_eq!(answers[0].len(), run.rows.len());
    for (found, row) in answers[0].iter().zip(&run.rows) {
        let mut expected = Row::new();
        expected.insert("time_ns".into(), row.time_ns.into());
        expected.insert("event".into(), row.event.clone().into());
        if let Some(cpu) = row.cpu {
            expected.insert("cpu".into(), cpu.into());
        }
        if let Some(pid) = row.pid {
            expected.insert("pid".into(), pid.into());
            expected.insert("task".into(), row.task.clone().into());
        }
        for pair in row.detail.split_terminator(' ') {
            let (name, value) = pair.split_once('=').context("a pair")?;
            expected.insert(name.into(), typed(value)?);
        }
        let mut found = found.clone();
        found.retain(|_, value| !value.is_null());
        assert_eq!(found, expected);
    }
    Ok(())
}

/// A value of the CSV trace as what it stands for.
fn typed(value: &str) -> Result<Value> {
    Ok(match value.strip_prefix("0x") {
        Some(bits) => u64::from_str_radix(bits, 16)?.into(),
        None => match (value.parse::<u64>(), value.parse::<i64>()) {
            (Ok(number), _) => number.into(),
            (_, Ok(below_zero)) => below_zero.into(),
            _ => json!(value),
        },
    })
}

/// Queries of the documentation: those between ```sql and ```, whose first line says where.
fn documented(place: &str) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(root().join("docs/traces.md"))?;
    let blocks = text.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next());
    Ok(blocks.filter(|block| block.starts_with(place)).map(str::to_owned).collect())
}

#[test]
fn queries_of_the_documentation_have_answers() -> Result<()> {
    let run = Run::new(&[])?;
    let (in_perfetto, in_duckdb) = (documented("-- Perfetto")?, documented("-- DuckDB")?);
    assert!(in_perfetto.len() >= 3 && in_duckdb.len() >= 3);
    let perfetto = run.perfetto("pftrace", &borrowed(&in_perfetto))?;
    let duckdb = duckdb(run.path(), &borrowed(&in_duckdb))?;
    for (query, rows) in in_perfetto.iter().chain(&in_duckdb).zip(perfetto.iter().chain(&duckdb)) {
        assert!(!rows.is_empty(), "no row from {query}");
    }
    Ok(())
}

fn borrowed(queries: &[String]) -> Vec<&str> {
    queries.iter().map(String::as_str).collect()
}
