// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota bench threads`.

use super::args::ThreadsArgs;
use super::{child_command, scheduler};
use crate::error::{Error, Status};
use crate::output::{json, table};
use rota_bench::threads::{self, Pair, Plan, Threads};
use rota_bench::Cpus;
use serde::Serialize;
use std::io::Write;

/// B's threads for each CPU: the paper's 32 for four.
const GREEDY: u32 = 8;

#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: &'static str,
    scheduler: &'a str,
    cpus: &'a [usize],
    threads: Pair<u32>,
    steps: u64,
    repeat: u32,
    #[serde(flatten)]
    found: &'a Threads,
}

pub(crate) fn run(args: &ThreadsArgs) -> Result<Status, Error> {
    let child = child_command("threads-child")?;
    let cpus = Cpus::several_or_all(&args.cpu)?;
    let count = u32::try_from(cpus.all_shared().len()).unwrap_or(u32::MAX);
    let (a, b) = (args.a.unwrap_or(count), args.b.unwrap_or(count.saturating_mul(GREEDY)));
    let (threads, steps, repeat) = (Pair { a, b }, args.steps, args.repeat);
    let found = threads::measure(Plan { threads, steps, repeat }, &cpus, child)?;
    let scheduler = scheduler();
    let mut out = crate::output::stdout();
    if args.json {
        let (schema, scheduler) = ("rota.bench.threads/1", &*scheduler);
        let cpus = cpus.all_shared();
        let found = Json { schema, scheduler, cpus, threads, steps, repeat, found: &found };
        json::print(&mut out, &found)?;
    } else {
        let on = cpus.all_shared().iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        writeln!(out, "A with {a} threads and B with {b} on CPUs {on}, scheduler: {scheduler}")?;
        print(&mut out, &found)?;
    }
    out.flush()?;
    Ok(Status::Done)
}

fn print(out: &mut dyn Write, found: &Threads) -> Result<(), Error> {
    let of = |name: &str, pair: Pair<f64>| {
        let seconds = |ns: f64| format!("{:.3}", ns / 1e9);
        vec![name.into(), seconds(pair.a), seconds(pair.b), format!("{:.3}", pair.a / pair.b)]
    };
    let spread = &found.spread_ns;
    let alone = Pair { a: found.alone_ns.a as f64, b: found.alone_ns.b as f64 };
    let mut rows = vec![
        of("alone", alone),
        of("side by side", Pair { a: spread.a.mean, b: spread.b.mean }),
        of("fair to threads", found.predicted_ns.fair_to_threads),
        of("fair to processes", found.predicted_ns.fair_to_processes),
    ];
    if spread.a.count > 1 {
        let deviation = Pair { a: spread.a.deviation, b: spread.b.deviation };
        let mut row = of("deviation", deviation);
        row[3] = String::new();
        rows.insert(2, row);
    }
    for line in table::lines(&["", "A (s)", "B (s)", "A/B"], 1, rows) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
