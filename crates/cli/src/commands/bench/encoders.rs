// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota bench encoders`.

use super::args::EncodersArgs;
use super::scheduler;
use crate::error::{Error, Status};
use crate::output::{json, table, units};
use crate::output_file::OutputFile;
use rota_bench::encoders::{self, Encoder, Plan};
use rota_bench::Cpus;
use rota_kernel::control::{Changes, Client, Share};
use rota_report::chart::{Axis, Line, LineChart, Scale};
use serde::Serialize;
use std::io::Write;
use std::process::Command;
use std::time::Duration;

const SHOWN_NS: u64 = 2_000_000_000;
/// Rows of frames over time.
const ROWS: u64 = 10;

#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: &'static str,
    scheduler: &'a str,
    cpu: usize,
    command: &'a [String],
    frame_bytes: u64,
    duration_ns: u64,
    encoders: &'a [Encoder],
}

pub(crate) fn run(args: &EncodersArgs) -> Result<Status, Error> {
    let (program, words) = args
        .command
        .split_first()
        .ok_or_else(|| Error::Input("no encoder is named after --".into()))?;
    let picture = args.picture.as_deref().map(OutputFile::create).transpose()?;
    let plan = Plan {
        nice: nice(args),
        shares: args.share.clone(),
        duration: Duration::from_nanos(args.duration),
        frame_bytes: usize::try_from(args.frame_bytes).map_err(Error::input)?,
    };
    let cpus = Cpus::new(args.cpu)?;
    let encoder = || {
        let mut command = Command::new(program);
        command.args(words);
        command
    };
    let found = match args.share.is_empty() {
        true => encoders::measure(&plan, &cpus, encoder, |_, _| Ok::<_, Error>(()))?,
        false => {
            let mut policy = Client::connect(&args.control)?;
            encoders::measure(&plan, &cpus, encoder, |pid, share| give(&mut policy, pid, share))?
        }
    };
    let (scheduler, cpu) = (scheduler(), cpus.shared());
    if let Some(file) = picture {
        file.finish_with(chart(&found, &scheduler).render().as_bytes())?;
    }
    let mut out = crate::output::stdout();
    if args.json {
        let found = Json {
            schema: "rota.bench.encoders/1",
            scheduler: &scheduler,
            cpu,
            command: &args.command,
            frame_bytes: args.frame_bytes,
            duration_ns: args.duration,
            encoders: &found,
        };
        json::print(&mut out, &found)?;
    } else {
        let count = found.len();
        writeln!(out, "{count} encoders on CPU {cpu}, scheduler: {scheduler}")?;
        print(&mut out, &found, args.duration)?;
    }
    out.flush()?;
    Ok(Status::Done)
}

/// The kernel's of weights of about 1 to 5, but with shares 0 for all.
fn nice(args: &EncodersArgs) -> Vec<i32> {
    match (args.nice.is_empty(), args.share.is_empty()) {
        (false, _) => args.nice.clone(),
        (true, false) => vec![0; args.share.len()],
        (true, true) => vec![7, 4, 2, 1, 0],
    }
}

fn give(policy: &mut Client, pid: u32, share: u64) -> Result<(), Error> {
    let shares = vec![Share { pid, share: Some(share) }];
    policy.change(Changes { tunables: Vec::new(), shares })?;
    Ok(())
}

fn print(out: &mut dyn Write, found: &[Encoder], duration_ns: u64) -> Result<(), Error> {
    let row = |encoder: &Encoder| {
        let interval = |of: fn(&rota_bench::Spread) -> f64| {
            encoder.interval_ns.as_ref().map_or("–".into(), |i| format!("{:.2}", of(i) / 1e6))
        };
        vec![
            encoder.nice.to_string(),
            encoder.share.unwrap_or(encoder.weight.into()).to_string(),
            encoder.frames_ns.len().to_string(),
            units::percent(encoder.part),
            units::percent(encoder.due),
            interval(|i| i.mean),
            interval(|i| i.deviation),
            interval(|i| i.max),
        ]
    };
    let by = if found.iter().any(|encoder| encoder.share.is_some()) { "share" } else { "weight" };
    let header =
        ["nice", by, "frames", "part", "due", "interval (ms)", "jitter (ms)", "longest (ms)"];
    for line in table::lines(&header, 0, found.iter().map(row).collect()) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\nframes by time in seconds")?;
    let at = |row: u64| (u128::from(duration_ns) * u128::from(row) / u128::from(ROWS)) as u64;
    let row = |row: u64| {
        let frames = found.iter().map(|encoder| encoder.frames_until(at(row)).to_string());
        std::iter::once(format!("{:.2}", at(row) as f64 / 1e9)).chain(frames).collect()
    };
    let names: Vec<String> = found.iter().map(name).collect();
    let header: Vec<&str> =
        std::iter::once("time (s)").chain(names.iter().map(String::as_str)).collect();
    for line in table::lines(&header, 0, (1..=ROWS).map(row).collect()) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn name(encoder: &Encoder) -> String {
    match encoder.share {
        Some(share) => format!("share {share}"),
        None => format!("nice {}", encoder.nice),
    }
}

fn chart(found: &[Encoder], scheduler: &str) -> LineChart {
    let line = |encoder: &Encoder| {
        let shown = encoder.frames_ns.iter().take_while(|at| **at <= SHOWN_NS);
        let point = |(done, at): (usize, &u64)| (*at as f64 / 1e9, (done + 1) as f64);
        let points = std::iter::once((0.0, 0.0)).chain(shown.enumerate().map(point));
        Line { name: name(encoder), points: points.collect() }
    };
    LineChart {
        title: format!("Frames of encoders, scheduler: {scheduler}"),
        description: "Frames that each encoder has done, over the first two seconds".into(),
        x: Axis { label: "time (s)".into(), scale: Scale::Linear },
        y: Axis { label: "frames".into(), scale: Scale::Linear },
        lines: found.iter().rev().take(8).map(line).collect(),
    }
}
