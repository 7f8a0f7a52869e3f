// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that the user names: a preset, a file, a computer's description.

use crate::error::Error;
use crate::nearest::hint;
use crate::output::{self, messages};
use rota_kernel::{Configuration, Fair};
use rota_machine::kernel::{Preempt, Settings};
use rota_machine_file::{parse, preset, Machine, PRESETS};
use rota_machine_import::{hwloc_xml, sysfs, LARGEST_XML};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Most bytes of a machine file: no machine needs as many.
const LARGEST_TOML: usize = 1 << 20;

/// The computer that this runs on.
pub(crate) const THIS: &str = "this";

/// The one without models, and with one cache for all.
pub(crate) const FLAT: &str = "flat";

/// Machines that were read: a command may ask several times, and must get the same one.
static READ: LazyLock<Mutex<BTreeMap<String, Machine>>> = LazyLock::new(Mutex::default);

/// The machine of `--machine`. Tells once what of a computer is not as it is there.
pub(crate) fn find(name: &str) -> Result<Machine, Error> {
    let mut known = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(machine) = known.get(name) {
        return Ok(machine.clone());
    }
    let machine = read_new(name)?;
    for note in &machine.notes {
        messages::line(&format!("note: machine {name}: {note}"));
    }
    if let Some(kernel) = output::machine::kernel(&machine.kernel) {
        messages::line(&format!("note: machine {name}: {kernel}"));
    }
    known.insert(name.to_owned(), machine.clone());
    Ok(machine)
}

/// Whether the name means the same machine whatever was read.
fn is_reserved(name: &str) -> bool {
    PRESETS.contains(&name) || name == THIS
}

/// Remembers a machine that a workload describes; returns the name by which it is found.
pub(crate) fn know(name: &str, machine: Machine) -> String {
    let mut known = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |other: &Machine| other.to_toml() == machine.to_toml();
    let numbered = (2u32..).map(|number| format!("{name} {number}"));
    let free = std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| !is_reserved(name) && known.get(name).is_none_or(same));
    let name = free.unwrap_or_else(|| name.to_owned());
    known.insert(name.clone(), machine);
    name
}

/// The machine of `rota machine`, which shows its notes itself.
pub(crate) fn read_new(name: &str) -> Result<Machine, Error> {
    if PRESETS.contains(&name) {
        return preset(name).map_err(Error::input);
    }
    if name == THIS {
        let mut machine = sysfs(Path::new("/")).map_err(Error::input)?;
        machine.kernel = this_kernel();
        return Ok(machine);
    }
    let path = Path::new(name);
    if path.is_dir() {
        return sysfs(path).map_err(Error::input);
    }
    let ending = path.extension().and_then(|ending| ending.to_str());
    let (largest, read): (_, fn(&str, &str) -> _) = match ending {
        Some("toml") => (LARGEST_TOML, parse),
        Some("xml") => (LARGEST_XML, hwloc_xml),
        _ => return Err(unknown(name)),
    };
    let file = std::fs::File::open(path).map_err(|e| Error::file("read", path, &e))?;
    let mut text = String::new();
    // One byte more shows that it is too large.
    let all = file.take(largest as u64 + 1).read_to_string(&mut text);
    all.map_err(|e| Error::file("read", path, &e))?;
    if text.len() > largest {
        return Err(Error::input(format!("{name}: expected at most {largest} bytes")));
    }
    read(name, &text).map_err(Error::input)
}

/// How the kernel of this computer is built and set, as far as it can be read.
pub(crate) fn this_kernel() -> Settings {
    let built = Configuration::read().unwrap_or_default();
    let fair = Fair::read().ok();
    let preempt = fair.as_ref().map(|fair| fair.preempt.as_str()).or(built.preempt);
    Settings {
        hz: built.hz,
        preempt: preempt.and_then(Preempt::find),
        base_slice_ns: fair.map(|fair| fair.base_slice_ns),
    }
}

fn unknown(name: &str) -> Error {
    let (known, meant) = (PRESETS.join(", "), hint(name, &PRESETS));
    Error::input(format!(
        "machine {name}: there is none of this name, expected {known}, {THIS}, a FILE.toml, \
             hwloc's FILE.xml or a DIR with a copy of /sys{meant}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_described_machine_never_takes_the_place_of_another_one() {
        let machine = |cpus: u32| {
            let text = format!("schema = 1\n[topology]\ncpus = {cpus}\n");
            parse("described.toml", &text).expect("a machine")
        };
        assert_eq!(know(THIS, machine(3)), "this 2");
        assert_eq!(know("server", machine(3)), "server 2");
        assert_eq!(
            (know("own", machine(3)), know("own", machine(5))),
            ("own".into(), "own 2".into())
        );
        assert_eq!(know("own", machine(3)), "own");
        assert_eq!(find("own 2").map(|machine| machine.topology.cpus()).ok(), Some(5));
    }

    #[test]
    fn a_name_that_no_machine_has_is_refused_with_the_nearest_one() {
        let error = find("hybird").err().map(|error| error.to_string());
        assert_eq!(
            error.as_deref(),
            Some(
                "machine hybird: there is none of this name, expected flat, server, two-socket, \
                 hybrid, phone, cloud-2, this, a FILE.toml, hwloc's FILE.xml or a DIR with a \
                 copy of /sys (did you mean hybrid?)"
            )
        );
    }
}
