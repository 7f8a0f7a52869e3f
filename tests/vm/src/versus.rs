// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulator against kernel: the same workloads under the same policies in both hosts, and how
//! far the numbers are from each other. `docs/simulator-vs-kernel.md` explains it.

pub mod case;
pub mod compare;
pub mod guest;
pub mod kept;
pub mod numbers;
mod played;
pub mod programs;
pub mod sequence;
pub mod simulate;
pub mod spread;
pub mod table;
pub mod tolerance;
