// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which version of a program it is, by what it says itself.

use crate::launch::Launch;
use crate::program::Program;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use std::ffi::OsString;
use std::time::Duration;

/// A program that does something else instead is ended.
const PATIENCE: Duration = Duration::from_secs(2);
/// Letters of a version at most.
const LONGEST: usize = 200;

/// The first line that a program prints for `--version` after all of its other words, confined as any
/// other run of it; `None` if it knows no such option: if it prints nothing, attaches a scheduler, does
/// not end by itself, or with another status than 0.
///
/// The other words may name what is meant: for `python3 loader.py` that is the script.
pub fn version(command: &[OsString]) -> Option<String> {
    let launch = Launch {
        command: command.iter().cloned().chain(["--version".into()]).collect(),
        topology: Topology::flat(1).ok()?,
        hardware: None,
        kernel: Kernel::default(),
        groups: Vec::new(),
        call_ns: 0,
        seed: 0,
        log: None,
        timeout: PATIENCE,
    };
    let mut program = Program::start(launch).ok()?;
    let attached = program.set_up().is_ok();
    if attached || program.ended != Some(0) {
        return None;
    }
    let line = program.printed_first()?;
    Some(line.chars().take(LONGEST).collect())
}
