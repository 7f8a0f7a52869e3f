// SPDX-License-Identifier: MIT OR Apache-2.0
//! A real web server in a kernel: Figure 8 of the PBS paper, and customers beside busy tasks.

pub mod answers;
pub mod cas;
mod draw;
pub mod pbs;
pub mod server;
