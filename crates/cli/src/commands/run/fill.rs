// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a manifest says a loader would do, done in the kernel of this machine.

use crate::error::Error;
use rota_kernel::Loaded;
use rota_manifest::Setup;
use rota_object::image::{FuncId, Image};
use rota_sim::Place;

/// Fills the maps of an object in the kernel of this machine, and runs its set-up programs.
pub(super) fn loaded(loaded: &Loaded, setup: &Setup) -> Result<(), Error> {
    for map in &setup.inner_maps {
        loaded.fill_inner_maps(map)?;
    }
    let image = loaded.image();
    for entry in &setup.entries {
        if entry.values.len() > 1 {
            let what = format!(
                "{}: map {}: a value for each CPU is for simulated machines only",
                image.name, entry.map
            );
            return Err(Error::input(what));
        }
        let (_, key, value) = rota_sim::encoded(image, entry)?;
        loaded.put(&entry.map, &key, &value)?;
    }
    let done = rota_sim::steps(image, &setup.steps, &mut InKernel { loaded, image });
    done.map_err(|(step, what)| Error::input(format!("{}: {step}: {what}", image.name)))
}

/// The kernel of this machine.
struct InKernel<'a> {
    loaded: &'a Loaded,
    image: &'a Image,
}

impl Place for InKernel<'_> {
    fn run(&mut self, program: FuncId, ctx: &mut [u8], cpu: u32) -> Result<i32, String> {
        if cpu != 0 {
            return Err(format!("on CPU {cpu}: a chosen CPU is for simulated machines only"));
        }
        let name = self.image.functions.get(program.0 as usize).map_or("", |f| f.name.as_str());
        self.loaded.run(name, ctx).map_err(|error| error.to_string())
    }

    fn memory(
        &mut self,
        _: u64,
        _: u32,
        _: &mut dyn FnMut(&mut [u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        Err("to write to the arena is for simulated machines only".into())
    }
}
