// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota top`.

use crate::commands::record::TargetArgs;
use crate::error::EXIT_CODES;
use crate::options::duration;
use clap::{Args, ValueHint};
use rota_kernel::control::SOCKET;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct TopArgs {
    /// Play this trace instead of this machine's events: what --trace FILE.parquet or FILE.csv wrote,
    /// or a trace of another tool that rota import reads
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,

    /// Play it so many times as fast as it was
    #[arg(long, value_name = "FACTOR", requires = "trace", default_value = "1", value_parser = speed)]
    pub(crate) speed: f64,

    /// Print one screen as text, and end
    #[arg(long)]
    pub(crate) once: bool,

    /// When --once prints the screen [default: 5s; at the end of a trace]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "once")]
    pub(crate) after: Option<u64>,

    /// Only this process: its threads, its children, and all that come from them
    #[arg(long, value_name = "PID", conflicts_with = "trace")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1 << 22))]
    pub(crate) pid: Option<u32>,

    /// Only tasks that are in this cgroup (v2) or below it, or come there: its folder, or its path
    /// below the root of the cgroups
    #[arg(long, value_name = "PATH", conflicts_with_all = ["pid", "trace"])]
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) cgroup: Option<PathBuf>,

    /// Leave out kernel threads
    #[arg(long, conflicts_with = "trace")]
    pub(crate) no_kernel_threads: bool,

    /// Control socket of the running policy
    #[arg(long, value_name = "SOCKET", value_hint = ValueHint::FilePath)]
    #[arg(default_value = SOCKET, conflicts_with = "trace")]
    pub(crate) control: PathBuf,
}

impl TopArgs {
    /// What is recorded to be shown.
    pub(super) fn target(&self) -> TargetArgs {
        TargetArgs::of_tasks(self.pid, self.cgroup.clone(), self.no_kernel_threads)
    }
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse::<f64>().ok().filter(|speed| (0.001..=1000.0).contains(speed));
    speed.ok_or_else(|| "expected a number from 0.001 to 1000".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_numbers_of_some_size() {
        assert_eq!((speed("2"), speed("0.5")), (Ok(2.0), Ok(0.5)));
        for bad in ["0", "-1", "nan", "inf", "1e9", "fast", ""] {
            assert!(speed(bad).is_err(), "{bad}");
        }
    }
}
