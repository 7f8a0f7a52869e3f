// SPDX-License-Identifier: MIT OR Apache-2.0
//! A real web server in a kernel: Figure 8 of the PBS paper, and customers and a film beside
//! busy tasks.

pub mod answers;
pub mod cas;
mod draw;
pub mod film;
pub mod pbs;
pub mod server;
