// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is printed: tables for people, JSON for programs, messages on standard error.

pub(crate) mod blocked;
pub(crate) mod comparison;
pub(crate) mod json;
pub(crate) mod messages;
pub(crate) mod requests;
pub(crate) mod stats;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod tunables;
pub(crate) mod unfilled;
pub(crate) mod units;

use crate::simulation::{Finished, Load};
use rota_bpf::image::Image;
use rota_machine::config::Config;

/// A run to be printed.
pub(crate) struct Run<'a> {
    /// Short name of the policy.
    pub(crate) policy: &'a str,
    /// Where it is from.
    pub(crate) source: &'a str,
    /// Its object, as it ran.
    pub(crate) image: &'a Image,
    /// Variables that `--set` named.
    pub(crate) set: &'a [(String, String)],
    pub(crate) config: &'a Config,
    pub(crate) load: &'a Load,
    pub(crate) finished: &'a Finished,
}
