// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that the user names: a preset, a file, a computer's description.

use crate::error::Error;
use crate::nearest::hint;
use crate::time::duration;
use crate::Session;
use rota_kernel::{Configuration, Fair};
use rota_machine::kernel::{Preempt, Release, Settings};
use rota_machine_file::{parse, preset, Machine, PRESETS};
use rota_machine_import::{hwloc_xml, sysfs, LARGEST_XML};
use std::io::Read;
use std::path::Path;
use std::sync::PoisonError;

/// Most bytes of a machine file: no machine needs as many.
const LARGEST_TOML: usize = 1 << 20;

/// The computer that this runs on.
pub const THIS: &str = "this";

/// The one without models, and with one cache for all.
pub const FLAT: &str = "flat";

impl Session {
    /// The machine of this name. Tells once what of a computer is not as it is there.
    pub fn machine(&self, name: &str) -> Result<Machine, Error> {
        let mut known = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(machine) = known.get(name) {
            return Ok(machine.clone());
        }
        let machine = read_new(name)?;
        for note in &machine.notes {
            self.tell(&format!("note: machine {name}: {note}"));
        }
        if let Some(kernel) = set_as(&machine.kernel) {
            self.tell(&format!("note: machine {name}: {kernel}"));
        }
        known.insert(name.to_owned(), machine.clone());
        Ok(machine)
    }

    /// Remembers a machine that a workload describes; returns the name by which it is found.
    pub fn know(&self, name: &str, machine: Machine) -> String {
        let mut known = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |other: &Machine| other.to_toml() == machine.to_toml();
        let numbered = (2u32..).map(|number| format!("{name} {number}"));
        let free = std::iter::once(name.to_owned())
            .chain(numbered)
            .find(|name| !is_reserved(name) && known.get(name).is_none_or(same));
        let name = free.unwrap_or_else(|| name.to_owned());
        known.insert(name.clone(), machine);
        name
    }
}

/// How a machine's kernel is set, in words; `None`: as any.
pub fn set_as(settings: &Settings) -> Option<String> {
    let Settings { release, hz, preempt, base_slice_ns } = settings;
    let known = [
        release.map(|release| format!("Linux {release}")),
        hz.map(|hz| format!("{hz} Hz")),
        preempt.map(|mode| format!("preempt {mode}")),
        base_slice_ns.map(|ns| format!("base slice {}", duration(ns))),
    ];
    let known: Vec<String> = known.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// Whether the name means the same machine whatever was read.
fn is_reserved(name: &str) -> bool {
    PRESETS.contains(&name) || name == THIS
}

/// The machine of `rota machine`, which shows its notes itself.
pub fn read_new(name: &str) -> Result<Machine, Error> {
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
pub fn this_kernel() -> Settings {
    let built = Configuration::read().unwrap_or_default();
    let fair = Fair::read().ok();
    let preempt = fair.as_ref().map(|fair| fair.preempt.as_str()).or(built.preempt);
    Settings {
        release: rustix::system::uname().release().to_str().ok().and_then(Release::find),
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
        let session = Session::new(Box::new(|_| ()));
        let know = |name: &str, machine| session.know(name, machine);
        assert_eq!(know(THIS, machine(3)), "this 2");
        assert_eq!(know("server", machine(3)), "server 2");
        assert_eq!(
            (know("own", machine(3)), know("own", machine(5))),
            ("own".into(), "own 2".into())
        );
        assert_eq!(know("own", machine(3)), "own");
        assert_eq!(session.machine("own 2").map(|machine| machine.topology.cpus()).ok(), Some(5));
    }

    #[test]
    fn a_name_that_no_machine_has_is_refused_with_the_nearest_one() {
        let session = Session::new(Box::new(|_| ()));
        let error = session.machine("hybird").err().map(|error| error.to_string());
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
