// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota set`.

use crate::complete;
use crate::error::EXIT_CODES;
use crate::options::name_and_value;
use clap::{Args, ValueHint};
use rota_kernel::control::{Share, SOCKET};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct SetArgs {
    /// Tunables with their new values; without any, the present ones are printed
    #[arg(value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub(crate) set: Vec<(String, String)>,

    /// Give a thread a share instead of its weight, or none to take it away (repeatable)
    #[arg(long = "share", value_name = "PID=N|none", value_parser = share)]
    pub(crate) shares: Vec<Share>,

    /// Load this policy, and let it schedule in place of the one that does (`rota compare` takes the
    /// same)
    #[arg(long, value_name = "POLICY|FILE[:NAME=VALUE][:@FILE.toml]", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["set", "shares"], add = complete::policies())]
    pub(crate) policy: Option<String>,

    /// Print one JSON object (schema rota.set/1; with --policy, rota.get/1)
    #[arg(long)]
    pub(crate) json: bool,

    /// Control socket of the running policy
    #[arg(long, value_name = "SOCKET", value_hint = ValueHint::FilePath)]
    #[arg(default_value = SOCKET)]
    pub(crate) control: PathBuf,
}

fn share(text: &str) -> Result<Share, String> {
    let expected = || "expected PID=N or PID=none, for example 1234=300".to_string();
    let (pid, share) = text.split_once('=').ok_or_else(expected)?;
    let pid = pid.trim().parse().map_err(|_| expected())?;
    let share = match share.trim() {
        "none" => None,
        share => Some(share.parse().map_err(|_| expected())?),
    };
    Ok(Share { pid, share })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_is_a_number_or_none() {
        assert_eq!(share("12=300"), Ok(Share { pid: 12, share: Some(300) }));
        assert_eq!(share("12=none"), Ok(Share { pid: 12, share: None }));
        for bad in ["12", "=3", "a=3", "12=", "12=-1", "12=1.5"] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }
}
