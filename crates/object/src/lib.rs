// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads an eBPF object and links it against a kernel's types, without a kernel.

pub mod btf;
pub mod error;
pub mod image;
pub mod link;
pub mod settings;
pub mod statistics;
