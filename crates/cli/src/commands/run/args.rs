// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota run`.

use super::status::StatusArgs;
use crate::complete;
use crate::error::EXIT_CODES;
use crate::options::{duration, name_and_value};
use clap::{Args, ValueHint};
use rota_kernel::control::MAX_SHARE;
use std::path::PathBuf;

/// Highest pid that Linux gives out, `PID_MAX_LIMIT`.
const PID_MAX: u32 = 1 << 22;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct RunArgs {
    /// A shipped policy (see `rota list`), or anyone's FILE.bpf.o or FILE.bpf.c
    #[arg(value_name = "POLICY|FILE", value_hint = ValueHint::FilePath)]
    #[arg(required_unless_present = "monitor")]
    #[arg(add = complete::policies())]
    pub(crate) policy: Option<String>,

    /// Set a tunable or any global of the policy (repeatable); comes after --manifest
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = name_and_value)]
    #[arg(add = complete::tunables())]
    pub(crate) set: Vec<(String, String)>,

    /// Give a thread a share of its own instead of its weight (repeatable)
    #[arg(long = "share", value_name = "PID=N", value_parser = share)]
    pub(crate) shares: Vec<(u32, u64)>,

    /// What the scheduler's own loader would set, as TOML (docs/third-party.md)
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub(crate) manifest: Option<PathBuf>,

    /// Schedule only tasks that ask for it, with the policy SCHED_EXT
    #[arg(long)]
    pub(crate) partial: bool,

    /// Stop after this time, as 10s or 5min [default: run until stopped]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<u64>,

    /// Bytes of the debug dump that an ejection leaves, and print it [default: 32768]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=64 << 20))]
    pub(crate) exit_dump_len: Option<u32>,

    /// Socket for `rota set` and `rota run --monitor`
    #[arg(long, value_name = "SOCKET", value_hint = ValueHint::FilePath)]
    #[arg(default_value = rota_kernel::control::SOCKET)]
    pub(crate) control: PathBuf,

    /// Print the policy's tunables and stop
    #[arg(long)]
    pub(crate) help_tunables: bool,

    /// Print all messages of libbpf and the verifier, and the debug dump of an ejection
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Search for headers of a FILE.bpf.c here too (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) include: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) status: StatusArgs,
}

fn share(text: &str) -> Result<(u32, u64), String> {
    let expected = || "expected PID=N, for example 1234=300".to_string();
    let (pid, share) = text.split_once('=').ok_or_else(expected)?;
    let pid: u32 = pid.trim().parse().map_err(|_| expected())?;
    let share: u64 = share.trim().parse().map_err(|_| expected())?;
    if pid == 0 || pid > PID_MAX {
        return Err(format!("no thread has the pid {pid}: expected 1 to {PID_MAX}"));
    }
    if !(1..=MAX_SHARE).contains(&share) {
        return Err(format!("a share of {share} is out of range: expected 1 to {MAX_SHARE}"));
    }
    Ok((pid, share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_a_pid_and_a_number() {
        assert_eq!(share("1234=300"), Ok((1234, 300)));
        assert_eq!(share(" 1 = 2 "), Ok((1, 2)));
        assert_eq!(share("3=1000000"), Ok((3, 1_000_000)));
        for bad in
            ["1234", "=3", "a=3", "3=", "3=-1", "0=1", "4194305=1", "3=0", "3=1000001", "3=1.5"]
        {
            assert!(share(bad).is_err(), "{bad}");
        }
    }
}
