// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shares of tasks that come and go, in a kernel: Figure 4 of the PBS paper.

pub mod jobs;
pub mod numbers;
pub mod show;
