// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a manifest says a loader would do with an object.

use crate::error::Error;
use rota_kernel::Loaded;
use rota_manifest::{CpuFacts, Manifest, Setup};
use rota_object::image::Image;
use std::path::Path;

/// A manifest's values for one machine; nothing to do without a manifest.
pub(crate) fn setup(
    manifest: Option<&Path>,
    facts: &CpuFacts,
    image: &Image,
) -> Result<Setup, Error> {
    let Some(path) = manifest else { return Ok(Setup::default()) };
    let text = std::fs::read_to_string(path).map_err(|e| Error::file("read", path, &e))?;
    let manifest = Manifest::parse(&path.display().to_string(), &text)?;
    let constant = |name: &str| image.kernel_btf.enum_value(name).map(i128::from);
    Ok(manifest.expand(facts, &constant)?)
}

/// Fills the maps of an object in the kernel of this machine, and runs its set-up programs.
pub(crate) fn loaded(loaded: &Loaded, setup: &Setup) -> Result<(), Error> {
    for map in &setup.inner_maps {
        loaded.fill_inner_maps(map)?;
    }
    let image = loaded.image();
    for entry in &setup.entries {
        let (_, key, value) = image.map_entry(&entry.map, &entry.key, &entry.value)?;
        loaded.put(&entry.map, &key, &value)?;
    }
    for run in &setup.runs {
        let (_, mut context) = rota_sim::program(image, run)?;
        let code = loaded.run(&run.program, &mut context)?;
        if code != 0 {
            let (object, program) = (&image.name, &run.program);
            let what = format!("{object}: program {program}: returned {code}, expected 0");
            return Err(Error::input(what));
        }
    }
    Ok(())
}
