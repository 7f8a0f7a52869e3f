// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the end-to-end tests share: running the `rota` command as a user does, and
//! checking its summary and trace against the laws every scheduler must keep.

pub mod command;
pub mod laws;
pub mod summary;
pub mod trace;
