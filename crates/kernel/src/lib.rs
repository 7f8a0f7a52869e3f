// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs sched_ext policies in the kernel of this machine, by libbpf.
//!
//! An object is linked twice: by `rota-object`, for its types (so a setting means the same
//! as in the simulator), and by libbpf, which brings it into the kernel. What the first
//! [`Image`](rota_object::image::Image) holds (globals, sizes, the ops table) is copied to
//! the second before it is loaded.

mod attached;
pub mod check;
mod class;
mod configuration;
pub mod control;
pub mod counts;
mod energy;
mod error;
pub mod events;
mod exit;
pub mod fair;
mod fdinfo;
mod globals;
mod inner_maps;
mod kernel_log;
mod live;
mod loaded;
mod objects;
mod ops;
mod process;
mod scheduler;
pub mod stats;
pub mod sysfs;
#[cfg(test)]
mod testing;
mod topology;

pub use attached::Attached;
pub use class::{join_sched_ext, set_class, Class};
pub use configuration::Configuration;
pub use error::LoadError;
pub use exit::Exit;
pub use fair::Fair;
pub use kernel_log::KernelLog;
pub use live::{kernel_btf, link, VMLINUX_BTF};
pub use loaded::Loaded;
pub use objects::{join, JoinError};
pub use process::{end_thread, process_cpu_time};
pub use scheduler::{LoadOptions, Scheduler};
pub use topology::Topology;

/// Map of shares, pid to share, that overrides weights.
pub const SHARES_MAP: &str = "rota_shares";
