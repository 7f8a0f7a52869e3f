// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota-guest play`: options, the run as a whole, and what is told of it.

use super::clock::Clock;
use super::{outside, start, Place, Stage, MOST_TASKS};
use crate::sysfs::online_cpus;
use anyhow::{bail, Context, Result};
use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rota_guest::played::{Played, PlayedTask};
use rota_workload::{parse_duration, SeededRunner, TaskIx};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};

/// Time for each task to line up, in ns.
const LEAD_NS: u64 = 3_000_000;

/// How a file is played.
pub(crate) struct Options {
    pub(crate) file: String,
    pub(crate) duration_ns: Option<u64>,
    pub(crate) seed: u64,
    /// Ticks per second: the tasks start at one.
    pub(crate) hz: u32,
    /// The tasks join a policy that was loaded with `--partial`.
    pub(crate) partial: bool,
    /// The tasks join the kernel's fair class.
    pub(crate) fair: bool,
    pub(crate) cpus: u32,
    shares: Option<MapHandle>,
}

impl Options {
    /// `FILE [--duration TIME] [--seed N] [--hz N] [--partial|--fair]`
    pub(crate) fn parse(words: &[&str]) -> Result<Options> {
        let mut options = Options {
            file: String::new(),
            duration_ns: None,
            seed: 1,
            hz: 250,
            partial: false,
            fair: false,
            cpus: online_cpus()? as u32,
            shares: shares_map(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match *word {
                "--duration" => options.duration_ns = Some(parse_duration(value()?)?),
                "--seed" => options.seed = value()?.parse().context("--seed")?,
                "--hz" => options.hz = value()?.parse().context("--hz")?,
                "--partial" => options.partial = true,
                "--fair" => options.fair = true,
                file if options.file.is_empty() && !file.starts_with('-') => {
                    options.file = file.to_owned()
                }
                other => bail!("unknown option {other}"),
            }
        }
        if options.file.is_empty() {
            bail!("usage: rota-guest play FILE [--duration TIME] [--seed N] [--hz N] [--partial|--fair]");
        }
        Ok(options)
    }

    /// Tells the policy a task's share; policies without shares do not want to know.
    pub(super) fn publish_share(&self, pid: u32, share: u64) -> Result<()> {
        let Some(map) = &self.shares else { return Ok(()) };
        map.update(&pid.to_le_bytes(), &share.to_le_bytes(), MapFlags::ANY)
            .with_context(|| format!("share {share} of thread {pid}"))
    }
}

/// The map of shares of the policy that is loaded, if it has one.
fn shares_map() -> Option<MapHandle> {
    let found = MapInfoIter::default().find(|map| map.name == "rota_shares");
    found.and_then(|map| MapHandle::from_map_id(map.id).ok())
}

/// Plays a file to its end.
pub(crate) fn play(options: Options) -> Result<Played> {
    let text = std::fs::read_to_string(&options.file).with_context(|| options.file.clone())?;
    let workload = rota_workload::parse(&options.file, &text)?;
    let Some(duration_ns) = options.duration_ns.or(workload.duration_ns) else {
        bail!("{}: neither the file nor --duration says how long it lasts", options.file);
    };
    let workload = Arc::new(workload);
    let (period_ns, seed) = (1_000_000_000 / u64::from(options.hz.max(1)), options.seed);
    let stage = Arc::new(Stage {
        runner: Mutex::new(SeededRunner::new(Arc::clone(&workload), seed)),
        clock: Clock::calibrated(options.cpus, options.fair),
        places: (0..MOST_TASKS).map(|_| Place::default()).collect(),
        options,
        forks: Default::default(),
        trouble: OnceLock::new(),
    });
    start::line_up(&stage, LEAD_NS, period_ns)?;
    outside::begin(&stage, &workload.outside)?;
    stage.clock.sleep_until(duration_ns);
    if let Some(trouble) = stage.trouble.get() {
        bail!("{trouble}");
    }
    let runner = stage.runner.lock().map_err(|_| anyhow::anyhow!("a task failed"))?;
    let tasks = (0..runner.task_count() as u32).map(TaskIx);
    let told = tasks.map(|ix| PlayedTask {
        name: runner.name(ix).to_owned(),
        tid: stage.place(ix).tid.load(Ordering::Acquire),
    });
    let (start_ns, tasks) = (stage.clock.start_ns(), told.collect());
    let [forks_ns, forks] = [&stage.forks.0, &stage.forks.1].map(|sum| sum.load(Ordering::Relaxed));
    let fork_ns = forks_ns.checked_div(forks).unwrap_or(0);
    Ok(Played { start_ns, duration_ns, period_ns, fork_ns, tasks })
}
