// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota calibrate`: measures this computer for a machine file.

use crate::complete;
use crate::date::today;
use crate::error::{Error, Status};
use crate::machine;
use crate::options::duration_or_seconds;
use crate::output::{self, calibrated};
use crate::output_file::OutputFile;
use crate::progress::show_position;
use crate::stop::Stop;
use clap::{Args, ValueHint};
use rota_calibrate::{calibrate, Plan};
use rota_kernel::Configuration;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Write the machine to this file, each number with where it comes from
    #[arg(short, long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    #[arg(value_parser = toml_file)]
    pub(crate) output: Option<PathBuf>,

    /// The machine to start from: its layout must be that of this machine, and what cannot be
    /// measured keeps its values
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "this", add = complete::machines())]
    pub(crate) base: String,

    /// How long to measure; less gives fewer samples
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration_or_seconds)]
    pub(crate) duration: u64,

    /// Print one JSON object with every number (schema rota.calibrate/1)
    #[arg(long)]
    pub(crate) json: bool,
}

/// The only form that `rota machine` reads again as it was written.
fn toml_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension() {
        Some(ending) if ending == "toml" => Ok(path),
        _ => Err("expected a name that ends in .toml, such as own.toml".into()),
    }
}

/// Machines number CPUs from 0, in the order of those that are online.
fn check_numbers() -> Result<(), Error> {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    match online.trim().contains(',') || !online.trim().is_empty() && !online.starts_with('0') {
        false => Ok(()),
        true => Err(Error::input(format!(
            "CPUs {} are online, expected all from 0 to the last: bring the others online first",
            online.trim()
        ))),
    }
}

pub(crate) fn run(args: &CalibrateArgs) -> Result<Status, Error> {
    check_numbers()?;
    let mut base = machine::find(&args.base)?;
    let file = args.output.as_deref().map(OutputFile::create).transpose()?;
    if let Some(name) = args.output.as_deref().and_then(|path| path.file_stem()) {
        base.name = name.to_string_lossy().into_owned();
    }
    let stop = Stop::listen()?;
    let flag = stop.flag();
    let (done, all) = (AtomicU64::new(0), AtomicU64::new(1));
    let plan = Plan {
        base,
        duration_ns: args.duration,
        hz: Configuration::read().and_then(|configuration| configuration.hz),
        date: today(),
        stop: &flag,
        progress: &|so_far, of| {
            done.store(so_far, Ordering::Relaxed);
            all.store(of, Ordering::Relaxed);
        },
    };
    let position = || (done.load(Ordering::Relaxed), all.load(Ordering::Relaxed));
    let found = show_position(&position, || calibrate(&plan));
    let Some(found) = found.map_err(|error| Error::Failure(error.to_string()))? else {
        let kept = if file.is_some() { ": no file is written" } else { "" };
        return Err(Error::Failure(format!("interrupted before all was measured{kept}")));
    };
    if let Some(mut file) = file {
        file.write_all(found.file().as_bytes())?;
        file.finish()?;
    }
    let mut out = output::stdout();
    match args.json {
        true => output::json::print(&mut out, &calibrated::json(&found))?,
        false => calibrated::print(&mut out, &found)?,
    }
    out.flush()?;
    Ok(Status::Done)
}
