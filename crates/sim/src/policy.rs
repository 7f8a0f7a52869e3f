// SPDX-License-Identifier: MIT OR Apache-2.0
//! A policy as the simulated machine takes it.

use crate::bundle::{self, BundleError, Origin, SetUp};
use crate::described::described;
use crate::engine::Engine;
use crate::error::SimError;
use crate::setup;
use rota_jit::Jit;
use rota_machine::consts::OPS_SWITCH_PARTIAL;
use rota_machine::hardware::Hardware;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_manifest::Setup;
use rota_object::error::LoadError;
use rota_object::image::{Image, OpsField, StructOps};
use rota_object::link::{link, Object};
use rota_object::settings::SettingError;
use std::sync::Arc;

/// An object linked against a kernel to simulate.
#[derive(Clone)]
pub struct Policy {
    image: Arc<Image>,
    kernel: Kernel,
    /// What its program had set up, of one that was bundled.
    set_up: Option<Arc<SetUp>>,
    /// What runs its code; its clones share what was compiled.
    compiler: Option<Arc<Jit>>,
}

impl std::fmt::Debug for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Policy").field("name", &self.image.name).finish_non_exhaustive()
    }
}

impl Policy {
    /// Links a BPF object (ELF, aligned to 8 bytes); `name` is what errors call it. Tunables that
    /// follow the tick, the mode of preemption, the base slice or the release have those of `kernel`
    /// from here on.
    pub fn link(name: &str, object: &[u8], kernel: &Kernel) -> Result<Self, LoadError> {
        let object = Object::parse(name, object)?;
        let mut image = link(&object, kernel.btf(), kernel)?;
        image.follow_tick(kernel.hz());
        let release = kernel.fair_release();
        image.follow_release(release.major, release.minor);
        if let Some(mode) = kernel.preempt() {
            image.follow_preempt(mode.is_at_once());
        }
        if let Some(ns) = kernel.base_slice_ns() {
            image.follow_base_slice(ns);
        }
        Ok(Self {
            image: Arc::new(image),
            kernel: kernel.clone(),
            set_up: None,
            compiler: Engine::Auto.compiler(),
        })
    }

    /// What a program loaded and set up, for this kernel: nothing of it is changed any more.
    pub fn of_image(image: Image, kernel: &Kernel) -> Self {
        Self {
            image: Arc::new(image),
            kernel: kernel.clone(),
            set_up: None,
            compiler: Engine::Auto.compiler(),
        }
    }

    /// What a program had set up by the time it attached, from a bundle
    /// ([`Simulation::bundle_by`](crate::Simulation::bundle_by)), for the kernel that it saw.
    pub fn of_bundle(name: &str, bytes: &[u8]) -> Result<Self, BundleError> {
        let (image, kernel, set_up) = bundle::read(name, bytes)?;
        let compiler = Engine::Auto.compiler();
        Ok(Self { image: Arc::new(image), kernel, set_up: Some(Arc::new(set_up)), compiler })
    }

    /// The program that set it up, of a bundle.
    pub fn origin(&self) -> Option<&Origin> {
        self.set_up.as_deref().map(|set_up| &set_up.origin)
    }

    /// The machine that it is set up for, of a bundle.
    pub fn topology(&self) -> Option<&Topology> {
        self.set_up.as_deref().map(|set_up| &set_up.topology)
    }

    pub(crate) fn set_up(&self) -> Option<&SetUp> {
        self.set_up.as_deref()
    }

    /// What runs its code from now on; [`Engine::Auto`] unless something else is said. Runs are the same
    /// with each. False if this computer cannot: then nothing changes.
    pub fn run_by(&mut self, engine: Engine) -> bool {
        let compiler = engine.compiler();
        let can = engine != Engine::Compiled || compiler.is_some();
        if can {
            self.compiler = compiler;
        }
        can
    }

    /// Has what runs another's code run its own, too, and share what was compiled.
    pub fn run_as(&mut self, other: &Self) {
        self.compiler.clone_from(&other.compiler);
    }

    pub(crate) fn compiler(&self) -> Option<Arc<dyn rota_vm::engine::Engine>> {
        self.compiler.clone().map(|jit| jit as _)
    }

    /// Chooses a scheduler of an object that has several, by the name of its `sched_ext_ops`.
    pub fn choose(&mut self, name: &str) -> Result<(), SimError> {
        Ok(rota_machine::policy::choose_scheduler(self.image_mut(), name)?)
    }

    /// How many schedulers the object has.
    pub fn schedulers(&self) -> usize {
        rota_machine::policy::schedulers(&self.image).count()
    }

    /// Sets a global variable before the scheduler is attached: `slice_us`, or a path as
    /// `conf.limits[2]`.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), SettingError> {
        self.image_mut().set_variable(path, value)
    }

    /// Sets a plain member of the scheduler's `sched_ext_ops` before it is attached: `flags`.
    pub fn set_ops(&mut self, member: &str, value: &str) -> Result<(), SettingError> {
        self.image_mut().set_ops(member, value)
    }

    /// Changes the object as a loader would: what `setup` says of it, and then `set`. The rest of
    /// `setup` is for [`Simulation::with_setup`](crate::Simulation::with_setup).
    pub fn prepare(&mut self, setup: &Setup, set: &[(String, String)]) -> Result<(), SettingError> {
        setup::prepare(self.image_mut(), setup, set)
    }

    /// `SCX_OPS_SWITCH_PARTIAL`: the scheduler takes tasks of `SCHED_EXT` only.
    pub fn make_partial(&mut self) -> Result<(), SettingError> {
        let flags = self.flags() | OPS_SWITCH_PARTIAL;
        self.image_mut().set_ops("flags", &flags.to_string())
    }

    /// Whether it takes tasks of `SCHED_EXT` only.
    pub fn is_partial(&self) -> bool {
        self.flags() & OPS_SWITCH_PARTIAL != 0
    }

    /// `ops.flags`.
    fn flags(&self) -> u64 {
        let is_ops = |s: &&StructOps| s.type_name.starts_with("sched_ext_ops");
        let ops = self.image.struct_ops.iter().find(is_ops);
        match ops.and_then(|ops| ops.fields.get("flags")) {
            Some(OpsField::Int(flags)) => *flags,
            _ => 0,
        }
    }

    /// Tells a policy that asks how the machine's CPUs are arranged, as `rota run` does.
    pub(crate) fn describe(
        &mut self,
        topology: &Topology,
        hardware: Option<&Hardware>,
    ) -> Result<(), SettingError> {
        if !self.image.asks_for_topology() {
            return Ok(());
        }
        let described = described(topology, hardware);
        if described.is_flat() {
            return Ok(()); // and the image stays the one that is shared
        }
        self.image_mut().set_topology(&described)
    }

    /// The linked object.
    pub fn image(&self) -> &Arc<Image> {
        &self.image
    }

    fn image_mut(&mut self) -> &mut Image {
        Arc::make_mut(&mut self.image)
    }

    /// The kernel for which it is linked.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }
}
