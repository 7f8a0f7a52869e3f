// SPDX-License-Identifier: MIT OR Apache-2.0
//! C. S. Wong, I. K. T. Tan, R. D. Kumari, J. W. Lam, W. Fun, *Fairness and Interactive
//! Performance of O(1) and CFS Linux Kernel Schedulers*, 2008.

mod fairness;
pub(crate) mod formulas;
mod interactivity;
mod priorities;

use crate::{Experiment, Paper};

pub(crate) const PAPER: Paper = Paper {
    name: "o1cfs",
    expected: include_str!("../../papers/o1cfs/expected.toml"),
    costs_in: None,
    experiments: &[
        Experiment { figures: &["fig1a", "fig1b", "fig1c", "fig1d"], work: 1, run: fairness::run },
        Experiment { figures: &["fig2a", "fig2b"], work: 361, run: interactivity::run },
        Experiment { figures: &["formulas"], work: 2, run: formulas::run },
        Experiment { figures: &["priorities"], work: 4, run: priorities::run },
    ],
};

/// A scheduler of the comparison.
struct Entry {
    /// As the paper calls it.
    name: &'static str,
    policy: &'static str,
}

const O1: Entry = Entry { name: "O(1)", policy: "o1" };
const CFS: Entry = Entry { name: "CFS", policy: "cfs" };
/// The last three are ours.
const ENTRIES: [&Entry; 5] = [
    &O1,
    &CFS,
    &Entry { name: "EEVDF", policy: "eevdf" },
    &Entry { name: "VTRR", policy: "vtrr" },
    &Entry { name: "WFQ", policy: "wfq" },
];
