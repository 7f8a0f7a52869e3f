// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines as files: how their CPUs are arranged, what work costs on them, and where each number
//! comes from. A machine is a preset or a TOML file.
//!
//! ```
//! let machine = rota_machine_file::preset("hybrid").expect("there is one");
//! assert_eq!((machine.topology.cpus(), machine.topology.cores()), (20, 14));
//! let again = rota_machine_file::parse("copy.toml", &machine.to_toml()).expect("as written");
//! assert_eq!(again.topology, machine.topology);
//! ```

mod core_type;
mod costs;
mod cpu_list;
mod document;
mod error;
mod kernel;
mod models;
mod numbers;
mod power;
mod presets;
mod read;
pub mod schema;
mod write;

pub use cpu_list::{cpu_list, parse_cpu_list};
pub use error::MachineError;
pub use models::{models, Model};
pub use presets::{preset, PRESETS};
pub use read::{parse, parse_json};

use rota_machine::config::{Config, Costs};
use rota_machine::hardware::Hardware;
use rota_machine::kernel::Settings;
use rota_machine::topology::Topology;
use std::sync::Arc;

/// A machine to simulate.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Where the numbers come from.
    pub source: String,
    /// How its CPUs are arranged.
    pub topology: Topology,
    /// How its kernel was built and set, as far as that is known.
    pub kernel: Settings,
    /// What its parts are; `None`: no model of hardware is on.
    pub hardware: Option<Arc<Hardware>>,
    /// What the kernel itself costs on it.
    pub costs: Costs,
    /// Values that were not given, and what was taken for them.
    pub assumed: Vec<Assumed>,
    /// What was left out or changed as it was read from a computer.
    pub notes: Vec<String>,
}

/// A value that nobody gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumed {
    /// Its key in a machine file.
    pub key: String,
    /// What was taken, as a file would have it.
    pub value: String,
    /// Why that.
    pub from: String,
}

impl Machine {
    /// A run on this machine.
    pub fn config(&self, duration_ns: u64) -> Config {
        let mut config = Config::new(self.topology.clone(), duration_ns);
        config.costs = self.costs.clone();
        config.hz = self.kernel.hz.unwrap_or(config.hz);
        config.hardware.clone_from(&self.hardware);
        config
    }
}
