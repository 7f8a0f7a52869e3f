// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `rota` command.
fn main() {}
