// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schedulers and the five clients of the paper's measurements [VTRR §5.3, §5.4].

use crate::bench::{hogs, image};
use crate::error::Error;
use rota_bpf::image::Image;
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
}

pub(crate) const WFQ: Entry = Entry { name: "WFQ", policy: "wfq" };
pub(crate) const VTRR: Entry = Entry { name: "VTRR", policy: "vtrr" };

impl Entry {
    /// Its object, with the paper's quantum.
    pub(crate) fn image(&self) -> Result<Arc<Image>, Error> {
        image(self.policy, &[("quantum_ns", "20000000")])
    }

    /// The five clients, in the order of their shares.
    pub(crate) fn hogs(&self) -> Result<Arc<Workload>, Error> {
        hogs(&SHARES, |at| format!("share{}", SHARES[at]))
    }
}
