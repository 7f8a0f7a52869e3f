// SPDX-License-Identifier: MIT OR Apache-2.0
//! A policy as the simulated machine takes it.

use crate::setup;
use rota_machine::kfuncs::SimKernel;
use rota_manifest::Setup;
use rota_object::btf::Btf;
use rota_object::error::LoadError;
use rota_object::image::Image;
use rota_object::link::{link, Object};
use rota_object::settings::SettingError;
use std::sync::Arc;

/// An object linked against a simulated kernel with so many ticks per second.
#[derive(Clone)]
pub struct Policy {
    image: Arc<Image>,
    hz: u32,
}

impl std::fmt::Debug for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Policy").field("name", &self.image.name).finish_non_exhaustive()
    }
}

impl Policy {
    /// Links a BPF object (ELF, aligned to 8 bytes); `name` is what errors call it. `kernel` are the
    /// types of the simulated kernel, as [`rota_object::btf::reference`].
    pub fn link(name: &str, object: &[u8], kernel: &Arc<Btf>, hz: u32) -> Result<Self, LoadError> {
        let object = Object::parse(name, object)?;
        let image = Arc::new(link(&object, kernel, &SimKernel { hz })?);
        Ok(Self { image, hz })
    }

    /// Sets a global variable before the scheduler is attached: `slice_us`, or a path as
    /// `conf.limits[2]`.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), SettingError> {
        self.image_mut().set_variable(path, value)
    }

    /// Changes the object as a loader would: what `setup` says of it, and then `set`. The rest of
    /// `setup` is for [`Simulation::with_setup`](crate::Simulation::with_setup).
    pub fn prepare(&mut self, setup: &Setup, set: &[(String, String)]) -> Result<(), SettingError> {
        setup::prepare(self.image_mut(), setup, set)
    }

    /// The linked object.
    pub fn image(&self) -> &Arc<Image> {
        &self.image
    }

    fn image_mut(&mut self) -> &mut Image {
        Arc::make_mut(&mut self.image)
    }

    /// Ticks per second of the kernel for which it is linked.
    pub fn hz(&self) -> u32 {
        self.hz
    }
}
