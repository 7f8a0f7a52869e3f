// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines read from a computer: what `/sys` says of its CPUs, caches and nodes becomes a machine
//! to simulate, by the rules of a machine file.
//!
//! What is not found is left off, or assumed and listed, as where a machine file is silent. What
//! was found and is not taken as it is, is in the machine's notes.
//!
//! ```no_run
//! let machine = rota_machine_import::sysfs(std::path::Path::new("/")).expect("a Linux system");
//! println!("{} CPUs", machine.topology.cpus());
//! ```

mod arrange;
mod found;
mod hwloc;
mod numbers;
mod sysfs;
mod text;

pub use hwloc::{hwloc_xml, LARGEST_XML};
pub use sysfs::sysfs;
