// SPDX-License-Identifier: MIT OR Apache-2.0
//! J. Nieh, C. Vaill, H. Zhong, *Virtual-Time Round-Robin: An O(1) Proportional Share
//! Scheduler*, USENIX 2001.

mod cost;
#[cfg(test)]
mod cycle_tests;
mod dynamics;
mod encoders;
mod errors;
mod evenness;
mod examples;
mod field;
mod guests;
mod microscope;
mod sweep;
mod theory;
mod vectors;

use crate::{Experiment, Paper};

pub(crate) const PAPER: Paper = Paper {
    name: "vtrr",
    expected: include_str!("../../papers/vtrr/expected.toml"),
    costs_in: Some("fig3"),
    experiments: &[
        Experiment { figures: &["fig1", "fig2"], work: 592, run: errors::run },
        Experiment { figures: &["fig3"], work: 51, run: cost::run },
        Experiment { figures: &["fig4", "fig5", "fig6"], work: 1, run: microscope::run },
        Experiment { figures: &["fig7", "fig8", "fig9"], work: 1, run: encoders::run },
        Experiment { figures: &["guests"], work: 1, run: guests::run },
        Experiment { figures: &["examples"], work: 2, run: examples::run },
        Experiment { figures: &["dynamics"], work: 1, run: dynamics::run },
    ],
};
