// SPDX-License-Identifier: MIT OR Apache-2.0
//! C. S. Wong, I. Tan, R. D. Kumari, F. Wey, *Towards Achieving Fairness in the Linux Scheduler*,
//! 2008.

mod blocked;
mod pairs;
mod productivity;
mod programs;
mod shares;
mod slices;
mod threads;

use crate::effort::Effort;
use crate::{Experiment, Paper};

pub(crate) const PAPER: Paper = Paper {
    name: "pfs",
    expected: include_str!("../../papers/pfs/expected.toml"),
    costs_in: None,
    experiments: &[
        Experiment { figures: &["fig2", "fig7", "fig10"], work: 8, run: shares::run },
        Experiment { figures: &["fig3"], work: 26, run: threads::run },
        Experiment { figures: &["fig5", "fig8"], work: 198, run: pairs::run },
        Experiment { figures: &["fig6", "fig9"], work: 119, run: productivity::run },
        Experiment { figures: &["blocking"], work: 120, run: blocked::run },
        Experiment { figures: &["slices"], work: 1, run: slices::run },
    ],
};

/// A scheduler of the comparison.
struct Entry {
    name: &'static str,
    policy: &'static str,
    set: &'static [(&'static str, &'static str)],
}

const CFS: Entry = Entry { name: "CFS", policy: "cfs", set: &[] };
/// Beyond the paper.
const EEVDF: Entry = Entry { name: "EEVDF", policy: "eevdf", set: &[] };
/// As published: shares hold on each CPU's queue.
const PFS_OF_QUEUES: Entry =
    Entry { name: "PFS scope=queue", policy: "pfs", set: &[("scope", "queue")] };
/// They are those of the machine, which is ours.
const PFS: Entry = Entry { name: "PFS scope=machine", policy: "pfs", set: &[("scope", "machine")] };
const TFPS_OF_QUEUES: Entry =
    Entry { name: "TFPS scope=queue", policy: "tfps", set: &[("scope", "queue")] };
const TFPS: Entry =
    Entry { name: "TFPS scope=machine", policy: "tfps", set: &[("scope", "machine")] };
/// What is said wherever both stand side by side.
const SCOPES: &str = "scope=queue is PFS as published, with shares of each CPU's queue; \
                      scope=machine, with shares of the machine, is ours and the policy's default.";

/// Times that each test is repeated, with other start times of the threads.
fn repetitions(effort: Effort) -> u64 {
    match effort {
        Effort::Quick => 2,
        Effort::Default => 4,
        // [PFS §4.2, §4.3, §4.4]
        Effort::Full => 100,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    // No number is no agreement.
    values.into_iter().fold(0.0, |most: f64, value| if value <= most { most } else { value })
}

/// How far something is from what is due, in percent of that.
fn off_percent(found: f64, due: f64) -> f64 {
    (found / due - 1.0).abs() * 100.0
}
