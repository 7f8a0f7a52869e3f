// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota record`, and those that it shares with `rota trace`.

use super::condition::condition;
use crate::complete;
use crate::error::EXIT_CODES;
use crate::options::duration;
use crate::trace_files::{TraceTarget, Window};
use clap::{Args, ValueHint};
use rota_kernel::events::{Cgroup, RecordError, RecordOptions, Scope};
use rota_watch::Condition;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    /// Write every event as FILE.pftrace or FILE.json for ui.perfetto.dev, as FILE.csv or
    /// FILE.parquet, or draw which task ran when as FILE.svg (repeatable)
    #[arg(long, value_name = "FILE.pftrace|.json|.csv|.parquet|.svg", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Vec<TraceTarget>,

    /// Part of the recording that a picture shows [default: the first 200 ms]
    #[arg(long, value_name = "FROM..TO")]
    pub(crate) trace_window: Option<Window>,

    /// Write what the tasks did as a workload that `rota sim` and `rota compare` play
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub(crate) workload: Option<PathBuf>,

    /// Machine that the workload names as its own: as in rota sim, a file of rota calibrate for
    /// instance [default: this computer, with no model of its hardware]
    #[arg(long, value_name = "NAME|FILE", requires = "workload", add = complete::machines())]
    pub(crate) machine: Option<String>,

    /// Run the command so many times before, without the recorder at its calls: the work that it has
    /// then is that of the workload; after none, what calls cost is measured on pipes of the recorder
    #[arg(long, value_name = "RUNS", default_value_t = 0)]
    #[arg(requires = "workload", requires = "command", conflicts_with = "last")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) plain: u32,

    /// Replace all names in that workload, to share it: process-1-1, process-1/thread-1-1
    #[arg(long, requires = "workload", conflicts_with = "trace")]
    pub(crate) anonymise: bool,

    /// Keep the last part of the recording only, as 10s: at most this long, and at most 512 MiB of
    /// events
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) last: Option<u64>,

    /// Stop when this was true of the last second: mean, p50, p95, p99, p99.9 or max; wakeup or run
    /// delay; of a task's name, `cgroup` and its path, or all; >, >=, < or <= and a time
    #[arg(long, value_name = "CONDITION", value_parser = condition, requires = "last")]
    pub(crate) when: Option<Condition>,

    /// Give every task a row, however many there are
    #[arg(long)]
    pub(crate) all_tasks: bool,

    /// End with the command's exit code, or 128 and the number of the signal that ended it
    #[arg(long, requires = "command")]
    pub(crate) exit_code: bool,

    /// Print one JSON object (schema rota.record/1)
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to record, and for how long.
#[derive(Clone, Debug, Args)]
pub(crate) struct TargetArgs {
    /// Stop after this time, as 10s or 1.5ms [default: until the command ends, or Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<u64>,

    /// Only this process: its threads, its children, and all that come from them
    #[arg(long, value_name = "PID", conflicts_with = "command")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1 << 22))]
    pub(crate) pid: Option<u32>,

    /// Only tasks that are in this cgroup (v2) or below it, or come there: its folder, or its path
    /// below the root of the cgroups
    #[arg(long, value_name = "PATH", conflicts_with_all = ["command", "pid"])]
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) cgroup: Option<PathBuf>,

    /// Leave out kernel threads
    #[arg(long)]
    pub(crate) no_kernel_threads: bool,

    /// Also the policy's callbacks with their times, and insertions into dispatch queues
    #[arg(long)]
    pub(crate) ops: bool,

    /// Room for events of each CPU that were not read yet: a power of two, as 8M or 64K
    #[arg(long, value_name = "SIZE", default_value = "8M", value_parser = size)]
    pub(crate) buffer: u32,

    /// Run this command, and record only what comes from it; its output goes to standard error
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

impl TargetArgs {
    /// Tasks of this computer, or of a process or a cgroup, without an end.
    pub(crate) fn of_tasks(
        pid: Option<u32>,
        cgroup: Option<PathBuf>,
        no_kernel_threads: bool,
    ) -> Self {
        let buffer = RecordOptions::default().buffer;
        let (duration, ops, command) = (None, false, Vec::new());
        Self { duration, pid, cgroup, no_kernel_threads, ops, buffer, command }
    }

    /// The tasks.
    pub(crate) fn scope(&self) -> Result<Scope, RecordError> {
        Ok(match (self.pid, &self.cgroup) {
            (Some(pid), _) => Scope::Process(pid),
            (None, Some(path)) => Scope::Cgroup(Cgroup::find(path)?),
            (None, None) if self.command.is_empty() => Scope::System,
            (None, None) => Scope::Children,
        })
    }

    /// Whether all tasks of the computer are recorded.
    pub(crate) fn is_whole(&self) -> bool {
        self.pid.is_none() && self.cgroup.is_none() && self.command.is_empty()
    }
}

fn size(text: &str) -> Result<u32, String> {
    let expected = || "expected a power of two from 4K to 1G, as 16M or 64K".to_string();
    let (digits, scale) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let size = digits.parse::<u32>().ok().and_then(|n| n.checked_mul(1 << scale));
    size.filter(|size| size.is_power_of_two() && (4096..=1 << 30).contains(size))
        .ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two() {
        assert_eq!(size("16M"), Ok(16 << 20));
        assert_eq!(size("64k"), Ok(65536));
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("1G"), Ok(1 << 30));
        for bad in ["", "M", "3M", "2K", "2G", "-1", "5000000000", "4Ä"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
