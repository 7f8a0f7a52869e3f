// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the loader makes of objects and kernels.

mod btf;
mod co_re;
mod fixture;
mod hostile;
mod linked;
mod settings;
mod statistics;
mod support;

/// Of the crate.
const FIXTURES: &str = "tests/fixtures";
