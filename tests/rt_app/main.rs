// SPDX-License-Identifier: MIT OR Apache-2.0
//! rt-app's own files, and rt-app itself: what Rota simulates is what rt-app does.

mod agrees;
mod events;
mod examples;
mod real;
mod simulated;
mod work;

/// One test at a time: rt-app wants CPUs of its own.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
