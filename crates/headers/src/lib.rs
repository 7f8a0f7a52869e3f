// SPDX-License-Identifier: MIT OR Apache-2.0
//! Headers for BPF sources that bring none: `vmlinux.h` of the types of any kernel, libbpf's, and
//! what to do about those that are missing.

mod align;
pub mod hints;
mod names;
pub mod places;
mod spell;
mod structs;
mod vmlinux;

pub use vmlinux::vmlinux;

/// libbpf's headers for BPF programs, by their names in the folder `bpf`.
pub fn libbpf() -> &'static [(&'static str, &'static str)] {
    include!(concat!(env!("OUT_DIR"), "/libbpf.rs"))
}
