// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines that come along.

use crate::error::MachineError;
use crate::read::parse;
use crate::Machine;

/// Name and text of each.
const FILES: [(&str, &str); 6] = [
    ("flat", include_str!("presets/flat.toml")),
    ("server", include_str!("presets/server.toml")),
    ("two-socket", include_str!("presets/two-socket.toml")),
    ("hybrid", include_str!("presets/hybrid.toml")),
    ("phone", include_str!("presets/phone.toml")),
    ("cloud-2", include_str!("presets/cloud-2.toml")),
];

/// Their names.
pub const PRESETS: [&str; 6] = ["flat", "server", "two-socket", "hybrid", "phone", "cloud-2"];

/// The preset of a name.
pub fn preset(name: &str) -> Result<Machine, MachineError> {
    match FILES.iter().find(|(known, _)| *known == name) {
        Some((name, text)) => parse(&format!("{name}.toml"), text),
        None => {
            let expected = format!("no such machine, expected one of {}", PRESETS.join(", "));
            Err(MachineError::new(name, expected))
        }
    }
}
