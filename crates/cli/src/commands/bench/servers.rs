// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota bench servers`.

use super::args::ServersArgs;
use super::scheduler;
use crate::date::today;
use crate::error::{Error, Status};
use crate::output::{json, messages, table};
use crate::stop::Stop;
use rota_bench::servers::{self, Background, Measure, Plan, Row, Summary};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: &'static str,
    recorded: String,
    scheduler: String,
    computer: Computer,
    programs: BTreeMap<&'static str, String>,
    background: Background,
    customer_nice: i32,
    duration_ns: u64,
    repeat: u32,
    rows: &'a [Row],
}

#[derive(Debug, Serialize)]
struct Computer {
    cpu: String,
    cpus: u32,
    kernel: String,
    virtual_machine: bool,
}

pub(crate) fn run(args: &ServersArgs) -> Result<Status, Error> {
    let plan = plan(args)?;
    servers::missing(&plan)?;
    let control = Path::new(rota_boost::control::SOCKET);
    if std::os::unix::net::UnixStream::connect(control).is_ok() {
        let stop = "stop it first, as no run would be plain";
        return Err(Error::Input(format!("a `rota boost` is running: {stop}")));
    }
    let stop = Stop::listen()?;
    let programs = servers::versions(&plan)?.into_iter().collect();
    let rows = servers::measure(&plan, &|| stop.wanted(), &mut |line| messages::line(line))?;
    let mut out = crate::output::stdout();
    if args.json {
        let found = Json {
            schema: "rota.bench.servers/1",
            recorded: today(),
            scheduler: scheduler(),
            computer: computer(),
            programs,
            background: plan.background,
            customer_nice: plan.customer_nice,
            duration_ns: args.duration,
            repeat: plan.repeat,
            rows: &rows,
        };
        json::print(&mut out, &found)?;
    } else {
        print(&mut out, &rows)?;
    }
    out.flush()?;
    Ok(Status::Done)
}

fn plan(args: &ServersArgs) -> Result<Plan, Error> {
    if args.duration < SECOND_NS {
        return Err(Error::Input("--duration: expected 1s or more".into()));
    }
    let as_is = args.autogroup.iter().any(|word| word == "as-is");
    if as_is && args.autogroup.len() > 1 {
        return Err(Error::Input("--autogroup: as-is is neither off nor on".into()));
    }
    let autogroups = args.autogroup.iter().filter(|word| *word != "as-is");
    Ok(Plan {
        servers: once(&args.server),
        jobs: once(&args.jobs),
        background: args.background,
        modes: once(&args.modes),
        autogroups: once(&autogroups.map(|word| word == "on").collect::<Vec<_>>()),
        repeat: args.repeat,
        duration: Duration::from_nanos(args.duration),
        customer_nice: args.customer_nice,
        boost_log: args.boost_log.clone(),
    })
}

fn once<T: Copy + PartialEq>(of: &[T]) -> Vec<T> {
    let mut all = Vec::new();
    for one in of {
        if !all.contains(one) {
            all.push(*one);
        }
    }
    all
}

fn print(out: &mut dyn Write, rows: &[Row]) -> Result<(), Error> {
    let header = ["server", "autogroups", "mode", "measure", "jobs", "median", "from–to"];
    let header = [&header[..], &["of plain", "from–to"]].concat();
    let lines = |row: &Row| {
        let autogroups = if row.autogroup { "on" } else { "off" };
        let words = [row.server.name(), autogroups, row.mode.name()].map(str::to_owned);
        let jobs = row.jobs.to_string();
        let line = move |measure: &Measure| {
            let name = match measure.unit {
                "ms" => format!("{} (ms)", measure.key),
                "per_second" => format!("{} (1/s)", measure.key),
                _ => measure.key.to_owned(),
            };
            let digits = if measure.unit == "number" { 0 } else { 2 };
            let mut line = words.to_vec();
            line.extend([name, jobs.clone()]);
            line.extend(told(Some(&measure.summary), digits));
            line.extend(told(measure.of_plain.as_ref(), 2));
            line
        };
        row.measures.iter().map(line).collect::<Vec<_>>()
    };
    for line in table::lines(&header, 4, rows.iter().flat_map(lines).collect()) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn told(summary: Option<&Summary>, digits: usize) -> [String; 2] {
    let Some(Summary { median, min, max }) = summary else { return ["–".into(), "–".into()] };
    [format!("{median:.digits$}"), format!("{min:.digits$}–{max:.digits$}")]
}

/// By `/proc/cpuinfo` and `uname`.
fn computer() -> Computer {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_once(':')).map_or("", |(_, value)| value.trim())
    };
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    Computer {
        cpu: value("model name").to_owned(),
        cpus: rota_boost::process::cpus(),
        // A version only: what else a build calls itself is nobody's business.
        kernel: kernel.split('-').next().unwrap_or_default().to_owned(),
        virtual_machine: value("flags").split(' ').any(|flag| flag == "hypervisor"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_twice_is_done_once() {
        assert_eq!(once(&[3, 1, 3]), [3, 1]);
    }
}
