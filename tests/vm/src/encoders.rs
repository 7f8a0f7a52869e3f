// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures 7 to 9 of the VTRR paper with a real encoder in a real kernel [VTRR §5.4].

pub mod jobs;
pub mod numbers;
pub mod show;
