// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schedulers and the five clients of the paper's measurements [VTRR §5.3, §5.4].

use crate::error::Error;
use crate::rig::{hogs_told, linked};
use rota_sim::Policy;
use rota_workload::Workload;
use std::sync::Arc;

/// Of WFQ and VTRR: two of Linux 2.2's ticks [VTRR §4].
pub(crate) const QUANTUM_NS: u64 = 20_000_000;

/// Shares of the five clients.
pub(crate) const SHARES: [u64; 5] = [1, 2, 3, 4, 5];

/// A scheduler that was measured.
pub(crate) struct Entry {
    /// As the paper calls it.
    pub(crate) name: &'static str,
    /// As it ships.
    pub(crate) policy: &'static str,
    set: &'static [(&'static str, &'static str)],
    /// Knows nice values only.
    by_nice: bool,
}

const QUANTUM: &[(&str, &str)] = &[("quantum_ns", "20000000")];

pub(crate) const LINUX: Entry =
    Entry { name: "Linux 2.2", policy: "linux22", set: &[], by_nice: true };
pub(crate) const WFQ: Entry = Entry { name: "WFQ", policy: "wfq", set: QUANTUM, by_nice: false };
pub(crate) const VTRR: Entry = Entry { name: "VTRR", policy: "vtrr", set: QUANTUM, by_nice: false };

impl Entry {
    /// Its object, with the paper's quantum.
    pub(crate) fn linked(&self) -> Result<Policy, Error> {
        linked(self.policy, self.set)
    }

    /// Clients that compute, in this order. For Linux a share is a quantum of as many times 20 ms,
    /// and so a user priority: 19, 17, 15, 13, 11 for 1 to 5 [VTRR §5.3].
    pub(crate) fn hogs(&self, shares: &[u64]) -> Result<Arc<Workload>, Error> {
        let setting = |share: &u64| match self.by_nice {
            true => format!("\"priority\": {}", 21 - 2 * *share as i64),
            false => format!("\"share\": {share}"),
        };
        hogs_told(shares.iter().map(setting), |at| format!("share{}", shares[at]))
    }
}
