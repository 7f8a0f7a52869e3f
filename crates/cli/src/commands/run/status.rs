// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statistics of a running policy, per interval.

use crate::error::Error;
use crate::options::duration_or_seconds;
use crate::output::{json, stats};
use crate::stop::{Stop, LOOK};
use clap::Args;
use rota_kernel::control::Client;
use rota_kernel::stats::{Interval, Sample};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Debug, Args)]
#[command(next_help_heading = "Status")]
pub(crate) struct StatusArgs {
    /// Print statistics each N seconds (or 500ms, 2min)
    #[arg(long, value_name = "SEC", value_parser = duration_or_seconds)]
    pub(crate) stats: Option<u64>,

    /// The same; without a policy, for the policy of another `rota run`
    #[arg(long, value_name = "SEC", value_parser = duration_or_seconds)]
    #[arg(conflicts_with = "stats")]
    pub(crate) monitor: Option<u64>,

    /// Print statistics as JSON, one object a line (schema rota.stats/1)
    #[arg(long)]
    pub(crate) json: bool,
}

impl StatusArgs {
    /// Prints what was asked for, if anything was.
    pub(crate) fn printer(&self) -> Option<Printer> {
        self.stats.or(self.monitor).map(|every_ns| Printer::new(every_ns, self.json))
    }
}

/// Prints what happened, at equal intervals.
pub(crate) struct Printer {
    every: Duration,
    json: bool,
    /// When the next sample is taken; at first, at once.
    due: Option<Instant>,
    last: Option<Sample>,
}

impl Printer {
    fn new(every_ns: u64, json: bool) -> Self {
        let every = Duration::from_nanos(every_ns);
        Self { every, json, due: None, last: None }
    }

    pub(crate) fn is_due(&self) -> bool {
        self.due.is_none_or(|due| Instant::now() >= due)
    }

    /// The first sample is only to compare with.
    pub(crate) fn print(&mut self, sample: Sample) -> Result<(), Error> {
        // Intervals count from the first sample; those that were missed are not made up for.
        let now = Instant::now();
        let due = self.due.unwrap_or(now);
        let intervals = (now - due).as_nanos() / self.every.as_nanos().max(1) + 1;
        let ahead = self.every.saturating_mul(u32::try_from(intervals).unwrap_or(u32::MAX));
        self.due = due.checked_add(ahead);
        if let Some(last) = self.last.replace(sample) {
            let Some(sample) = &self.last else { return Ok(()) };
            let interval = Interval::between(&last, sample);
            let mut out = crate::output::stdout();
            match self.json {
                true => json::print(&mut out, &interval)?,
                false => stats::print(&mut out, &interval)?,
            }
            out.flush()?;
        }
        Ok(())
    }
}

/// Prints the statistics of a policy that another process runs, until one of both ends.
pub(crate) fn monitor(socket: &Path, args: &StatusArgs, stop: &Stop) -> Result<(), Error> {
    let Some(mut printer) = args.printer() else { return Ok(()) };
    let mut client = Client::connect(socket)?;
    while !stop.wanted() {
        if printer.is_due() {
            let sample = client.stats()?;
            printer.print(sample)?;
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}
