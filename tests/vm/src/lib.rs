// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real-kernel tests: finds a kernel, packs a guest, boots it, and judges what it reports.

pub mod console;
pub mod debian;
pub mod encoders;
pub mod estimate;
pub mod guest;
pub mod initramfs;
pub mod kernel;
mod libraries;
pub mod page;
pub mod plan;
pub mod qemu;
pub mod resume;
pub mod run;
pub mod scenario;
pub mod shares;
pub mod statement;
pub mod systemd;
pub mod verdict;
pub mod versus;
pub mod web;
