// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota bench shares`.

use super::args::SharesArgs;
use super::scheduler;
use crate::error::{Error, Status};
use crate::output::{json, table, units};
use crate::output_file::OutputFile;
use rota_bench::shares::{self, Plan, Shares};
use rota_bench::Cpus;
use rota_report::chart::{Areas, Band};
use serde::Serialize;
use std::io::Write;

/// Rows of shares over time.
const ROWS: usize = 12;

#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: &'static str,
    scheduler: &'a str,
    cpu: usize,
    window_ns: u64,
    #[serde(flatten)]
    found: &'a Shares,
}

pub(crate) fn run(args: &SharesArgs) -> Result<Status, Error> {
    let picture = args.picture.as_deref().map(OutputFile::create).transpose()?;
    let mut tasks = args.task.clone();
    tasks.sort_by_key(|task| task.start_ns);
    let plan = Plan { tasks, window_ns: args.window, loops_per_ms: args.loops_per_ms };
    let cpus = Cpus::new(args.cpu)?;
    let found = shares::measure(&plan, &cpus)?;
    let (scheduler, cpu, window_ns) = (scheduler(), cpus.shared(), args.window);
    if let Some(file) = picture {
        file.finish_with(chart(&found, &scheduler, window_ns).render().as_bytes())?;
    }
    let mut out = crate::output::stdout();
    if args.json {
        let (schema, scheduler, found) = ("rota.bench.shares/1", &*scheduler, &found);
        json::print(&mut out, &Json { schema, scheduler, cpu, window_ns, found })?;
    } else {
        let (count, loops) = (found.tasks.len(), found.loops_per_ms);
        writeln!(out, "{count} tasks on CPU {cpu}, scheduler: {scheduler}, {loops} loops per ms")?;
        print(&mut out, &found, window_ns)?;
    }
    out.flush()?;
    Ok(Status::Done)
}

fn print(out: &mut dyn Write, found: &Shares, window_ns: u64) -> Result<(), Error> {
    let seconds = |ns: u64| format!("{:.2}", ns as f64 / 1e9);
    let row = |(number, done): (usize, &shares::Done)| {
        vec![
            number.to_string(),
            seconds(done.task.start_ns),
            seconds(done.task.work_ns),
            seconds(done.end_ns),
            done.turns.iter().sum::<u32>().to_string(),
        ]
    };
    let header = ["task", "begins (s)", "work (s)", "ends (s)", "times on the CPU"];
    for line in table::lines(&header, 0, (1..).zip(&found.tasks).map(row).collect()) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\nshares by time in seconds")?;
    let names: Vec<String> = (1..=found.tasks.len()).map(|task| format!("task {task}")).collect();
    let header: Vec<&str> =
        std::iter::once("time (s)").chain(names.iter().map(String::as_str)).collect();
    let (windows, rows) = (found.windows(), found.windows().min(ROWS));
    let row = |row: usize| {
        let (from, to) = (windows * row / rows, windows * (row + 1) / rows);
        let share = |task| {
            let sum: f64 = (from..to).map(|window| found.share(task, window, window_ns)).sum();
            units::percent(sum / (to - from) as f64)
        };
        let at = seconds(to as u64 * window_ns);
        std::iter::once(at).chain((0..found.tasks.len()).map(share)).collect()
    };
    for line in table::lines(&header, 0, (0..rows).map(row).collect()) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn chart(found: &Shares, scheduler: &str, window_ns: u64) -> Areas {
    let windows = found.windows();
    let seconds = |window: usize| (window as u64 * window_ns) as f64 / 1e9;
    let band = |task: usize| {
        let part = |window| [found.share(task, window, window_ns); 2];
        Band { name: format!("task {}", task + 1), parts: (0..windows).flat_map(part).collect() }
    };
    Areas {
        title: format!("Shares of a CPU, scheduler: {scheduler}"),
        description: format!("Share that each task has in windows of {}", units::time(window_ns)),
        label: "time (s)".into(),
        whole: "share of the CPU".into(),
        at: (0..windows).flat_map(|window| [seconds(window), seconds(window + 1)]).collect(),
        bands: (0..found.tasks.len()).map(band).collect(),
    }
}
