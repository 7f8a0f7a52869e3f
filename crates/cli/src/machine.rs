// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that the user names: a preset or a file.

use crate::error::Error;
use rota_machine_file::{parse, preset, Machine, PRESETS};
use std::io::Read;
use std::path::Path;

/// Most bytes of a machine file: no machine needs as many.
const LARGEST: u64 = 1 << 20;

/// The machine of `--machine` and of `rota machine`.
pub(crate) fn find(name: &str) -> Result<Machine, Error> {
    if PRESETS.contains(&name) {
        return preset(name).map_err(Error::input);
    }
    let path = Path::new(name);
    if path.extension().is_none_or(|ending| ending != "toml") {
        let known = PRESETS.join(", ");
        return Err(Error::input(format!(
            "machine {name}: there is none of this name, expected {known} or a FILE.toml"
        )));
    }
    let file = std::fs::File::open(path).map_err(|e| Error::file("read", path, &e))?;
    let mut text = String::new();
    let read = file.take(LARGEST).read_to_string(&mut text);
    read.map_err(|e| Error::file("read", path, &e))?;
    parse(name, &text).map_err(Error::input)
}
