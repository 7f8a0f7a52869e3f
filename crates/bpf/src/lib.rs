// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hosts one eBPF object in user space, without a kernel.
//!
//! The loader ([`btf`], [`object`], [`link`]) turns an ELF file into an [`image::Image`];
//! the runtime ([`runtime`], [`memory`], [`vm`]) runs its functions for a [`host::Host`].

pub mod btf;
pub mod errno;
pub mod error;
pub mod format;
mod helpers;
pub mod host;
pub mod image;
pub mod kfuncs;
pub mod link;
mod maps;
pub mod memory;
pub mod runtime;
pub mod settings;
pub mod statistics;
pub mod vm;
