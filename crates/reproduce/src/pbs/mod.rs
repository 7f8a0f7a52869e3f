// SPDX-License-Identifier: MIT OR Apache-2.0
//! H. Feng, V. Misra, D. Rubenstein, *PBS: A Unified Priority-Based Scheduler*, SIGMETRICS 2007.

mod bonus;
mod constant;
mod extensions;
mod map;
mod picks;
mod properties;
mod requests;
mod scenario;
mod shares;
mod sliced;
mod starvation;
mod users;

use crate::{Experiment, Paper};

pub(crate) const PAPER: Paper = Paper {
    name: "pbs",
    expected: include_str!("../../papers/pbs/expected.toml"),
    costs_in: None,
    experiments: &[
        Experiment { figures: &["fig1"], work: 1, run: map::run },
        Experiment { figures: &["fig2"], work: 6, run: shares::four_tasks },
        Experiment { figures: &["fig3"], work: 1, run: shares::newcomers },
        Experiment { figures: &["fig4"], work: 2, run: bonus::run },
        Experiment { figures: &["fig7"], work: 905, run: users::run },
        Experiment { figures: &["fig8"], work: 292, run: requests::web },
        Experiment { figures: &["fig9"], work: 504, run: requests::tiers },
        Experiment { figures: &["properties"], work: 13, run: properties::run },
        Experiment { figures: &["starvation"], work: 8, run: starvation::run },
        Experiment { figures: &["extensions"], work: 12, run: extensions::run },
        Experiment { figures: &["algorithm1"], work: 9, run: constant::run },
    ],
};

/// What the paper's Figures 2 to 4 are of, from nearly first come, first served, to nearly least
/// attained service; it names the first, the last, 0.4, 1 and 2.
const ALPHAS: [f64; 6] = [0.01, 0.4, 1.0, 2.0, 10.0, 100.0];
