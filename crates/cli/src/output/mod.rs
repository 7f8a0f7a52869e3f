// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is printed: tables for people, JSON for programs, messages on standard error.

pub(crate) mod blocked;
pub(crate) mod calibrated;
pub(crate) mod comparison;
pub(crate) mod computer;
pub(crate) mod diff;
pub(crate) mod doubts;
pub(crate) mod dump;
pub(crate) mod exit;
pub(crate) mod fluid;
pub(crate) mod json;
pub(crate) mod kernels;
pub(crate) mod locks;
pub(crate) mod machine;
pub(crate) mod machine_picture;
pub(crate) mod messages;
pub(crate) mod periodic;
pub(crate) mod plain;
pub(crate) mod program;
pub(crate) mod reproduction;
pub(crate) mod requests;
pub(crate) mod stats;
pub(crate) mod suite;
pub(crate) mod summary;
pub(crate) mod sweep;
pub(crate) mod table;
pub(crate) mod tunables;
pub(crate) mod tune;
pub(crate) mod uncharged;
pub(crate) mod unfilled;
pub(crate) mod units;

pub(crate) use plain::stdout;

use crate::load::Load;
use rota_machine::config::Config;
use rota_object::image::Image;
use rota_sim::{Measured, Origin};
use std::sync::Arc;

/// The command line, quoted where a shell needs it.
pub(crate) fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("rota".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:=+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A run to be printed.
pub(crate) struct Run<'a> {
    /// Short name of the policy.
    pub(crate) policy: &'a str,
    /// Where it is from.
    pub(crate) source: &'a str,
    /// Release of the simulated kernel.
    pub(crate) kernel: &'a str,
    /// Its object, as it ran.
    pub(crate) image: &'a Image,
    /// The program that set it up, of a bundle.
    pub(crate) origin: Option<&'a Origin>,
    /// Cgroups and objects of its sub-schedulers.
    pub(crate) subs: &'a [(String, Arc<Image>)],
    /// Variables that `--set` named.
    pub(crate) set: &'a [(String, String)],
    pub(crate) config: &'a Config,
    pub(crate) load: &'a Load,
    /// Its choices are not those of the seed.
    pub(crate) is_replay: bool,
    /// Policy, workload, machine and seed in a line.
    pub(crate) described: &'a str,
    pub(crate) finished: &'a Measured,
    /// The program that brought the policy.
    pub(crate) program: Option<&'a Program>,
}

/// A scheduler's own program that took part.
pub(crate) struct Program {
    /// Its file's name, and where it is.
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) arguments: Vec<String>,
    /// What it says of itself, if it was asked.
    pub(crate) version: Option<String>,
    /// Of its file.
    pub(crate) sha256: String,
    /// CPU time of each of its system calls.
    pub(crate) cost_ns: u64,
    /// Those that followed it.
    pub(crate) then: Vec<Following>,
    /// When those before the last one ended, and with which status.
    pub(crate) ends: Vec<(u64, i32)>,
    /// What it asked for and did not get.
    pub(crate) unplayed: Vec<String>,
}

/// A program that followed another.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Following {
    /// When it was to do so.
    pub(crate) at_ns: u64,
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) version: Option<String>,
    pub(crate) sha256: String,
}
