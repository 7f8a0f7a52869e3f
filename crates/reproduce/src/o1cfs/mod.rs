// SPDX-License-Identifier: MIT OR Apache-2.0
//! C. S. Wong, I. K. T. Tan, R. D. Kumari, J. W. Lam, W. Fun, *Fairness and Interactive
//! Performance of O(1) and CFS Linux Kernel Schedulers*, 2008.

mod fairness;

use crate::{Experiment, Paper};

pub(crate) const PAPER: Paper = Paper {
    name: "o1cfs",
    expected: include_str!("../../../../papers/o1cfs/expected.toml"),
    costs_in: None,
    experiments: &[Experiment {
        figures: &["fig1a", "fig1b", "fig1c", "fig1d"],
        run: fairness::run,
    }],
};
