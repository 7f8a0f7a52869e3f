// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that the user names: a preset or a file.

use crate::error::Error;
use crate::nearest::hint;
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
        let (known, meant) = (PRESETS.join(", "), hint(name, &PRESETS));
        return Err(Error::input(format!(
            "machine {name}: there is none of this name, expected {known} or a FILE.toml{meant}"
        )));
    }
    let file = std::fs::File::open(path).map_err(|e| Error::file("read", path, &e))?;
    let mut text = String::new();
    let read = file.take(LARGEST).read_to_string(&mut text);
    read.map_err(|e| Error::file("read", path, &e))?;
    parse(name, &text).map_err(Error::input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_machine_has_is_refused_with_the_nearest_one() {
        let error = find("hybird").err().map(|error| error.to_string());
        assert_eq!(
            error.as_deref(),
            Some(
                "machine hybird: there is none of this name, expected flat, server, two-socket, \
                 hybrid, phone, cloud-2 or a FILE.toml (did you mean hybrid?)"
            )
        );
    }
}
