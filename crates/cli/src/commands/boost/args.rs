// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota boost`.

use crate::error::EXIT_CODES;
use crate::options::{duration, duration_or_seconds};
use clap::{Args, ValueHint};
use rota_boost::control;
use rota_boost::customers::{Clients, Customers};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct BoostArgs {
    /// Clients that make a thread worth boosting: any of remote, other-user, other-session,
    /// other-cgroup, on-behalf (of such a client), unknown. Never the process itself, its
    /// ancestors and descendants
    #[arg(long, value_name = "LIST", default_value_t)]
    pub(crate) customers: Customers,

    /// What to do for clients that get answers: none, fair (they run sooner, and get no more CPU
    /// time than without), or full (as for servers)
    #[arg(long, value_name = "WHAT", default_value_t)]
    pub(crate) clients: Clients,

    /// CPU time that servers of people (users that can log in) may use beyond their users' fair
    /// share, all together, in percent of the machine; 0 for none
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent_or_none)]
    pub(crate) user_budget: f64,

    /// The same for servers of services (users that cannot log in)
    #[arg(long, value_name = "PERCENT", default_value_t = 25.0, value_parser = percent_or_none)]
    pub(crate) service_budget: f64,

    /// CPU time of one request without an answer or sleep; a thread that uses more is no server
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = duration)]
    pub(crate) request_budget: u64,

    /// An answer in pieces is over when nothing was sent for this time
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = duration)]
    pub(crate) quiet: u64,

    /// A request without an answer is over after this time
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) give_up: u64,

    /// Average the load over this time
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(crate) load_window: u64,

    /// CPU time of the daemon itself, in percent of one CPU; above that it checks less often
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    pub(crate) own_budget: f64,

    /// Raise the autogroup of a boosted thread's session, too; with it all that is in it
    #[arg(long)]
    pub(crate) autogroups: bool,

    /// Raise the cpu cgroup of a boosted thread and those above it, too; with them all that is
    /// in them
    #[arg(long)]
    pub(crate) cgroups: bool,

    /// Print what would be boosted, and change nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// Print every change with its reason
    #[arg(long)]
    pub(crate) log: bool,

    /// Print a line of totals per interval, as 1 (seconds) or 500ms
    #[arg(long, value_name = "INTERVAL", value_parser = duration_or_seconds)]
    pub(crate) stats: Option<u64>,

    /// Stop after this time, as 10s or 1.5min [default: Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<u64>,

    /// Ask the running `rota boost` what it did to a process and why, and stop
    #[arg(long, value_name = "PID", conflicts_with = "undo")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1 << 22))]
    pub(crate) explain: Option<u32>,

    /// With --explain: print one JSON object
    #[arg(long, requires = "explain")]
    pub(crate) json: bool,

    /// Where `rota boost` listens for --explain
    #[arg(long, value_name = "SOCKET", default_value = control::SOCKET)]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) control: PathBuf,

    /// Take back what a killed `rota boost` left, and stop
    #[arg(long)]
    pub(crate) undo: bool,

    /// File that lists what is to be taken back
    #[arg(long, value_name = "FILE", default_value = "/run/rota/boost.saved")]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) saved: PathBuf,
}

fn percent(text: &str) -> Result<f64, String> {
    let value = text.trim_end_matches('%').parse::<f64>().ok();
    value
        .filter(|p| (0.0..=100.0).contains(p) && *p > 0.0)
        .ok_or_else(|| "expected a number above 0, up to 100".into())
}

fn percent_or_none(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(0.0) => Ok(0.0),
        _ => percent(text).map_err(|_| "expected a number from 0 to 100".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{percent, percent_or_none};

    #[test]
    fn percentages_are_above_nothing_and_up_to_everything() {
        assert_eq!((percent("50"), percent("0.5%")), (Ok(50.0), Ok(0.5)));
        for bad in ["0", "-1", "101", "NaN", "inf", "x", ""] {
            assert!(percent(bad).is_err(), "{bad}");
            assert_eq!(percent_or_none(bad).is_ok(), bad == "0", "{bad}");
        }
        assert_eq!((percent_or_none("0%"), percent_or_none("5")), (Ok(0.0), Ok(5.0)));
    }
}
