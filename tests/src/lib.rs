// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the end-to-end tests share: running the `rota` command as a user does, and
//! checking its summary and trace against the laws every scheduler must keep, a browser
//! and something for it to show.

pub mod browser;
pub mod command;
pub mod comparison;
pub mod fetch;
pub mod laws;
pub mod modules;
pub mod promise;
pub mod readers;
pub mod summary;
pub mod trace;
