// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens to an object before its scheduler is attached: what a manifest says a
//! loader would do.

use crate::error::SimError;
use crate::steps::{steps, Place};
use rota_machine::config::Config;
use rota_machine::policy::BpfOps;
use rota_machine::system::System;
use rota_machine::topology::Topology;
use rota_manifest::{CpuFacts, Entry, Run, Setup, Value};
use rota_object::btf::Kind;
use rota_object::image::{FuncId, Image, MapId};
use rota_object::settings::SettingError;
use rota_vm::host::Host;
use rota_vm::memory::Perm;
use rota_workload::events::{Action, ObjectAction, OutsideEvent, When};
use rota_workload::Workload;
use std::sync::Arc;

/// What a loader would read from the simulated machine.
pub fn facts(topology: &Topology) -> CpuFacts {
    let cpus = 0..topology.cpus();
    CpuFacts {
        core: cpus.clone().map(|cpu| topology.core_of(cpu)).collect(),
        llc: cpus.clone().map(|cpu| topology.llc_of(cpu)).collect(),
        node: cpus.map(|cpu| topology.node_of(cpu)).collect(),
    }
}

/// What a manifest may ask of an object and of the kernel against which it is linked.
#[derive(Clone, Copy, Debug)]
pub struct ForObject<'a>(pub &'a Image);

impl rota_manifest::Object for ForObject<'_> {
    fn constant(&self, name: &str) -> Option<i128> {
        self.0.kernel_btf.enum_value(name).map(i128::from)
    }

    fn has_function(&self, name: &str) -> bool {
        self.0.kernel_btf.find(Kind::Func, name).is_some()
    }

    fn size_of(&self, name: &str) -> Option<u32> {
        self.0.type_named(name).and_then(|ty| self.0.btf.size_of(ty))
    }

    fn has_variable(&self, path: &str) -> bool {
        self.0.variable_text(path).is_ok()
    }

    fn has_member(&self, name: &str) -> bool {
        let ops = self
            .0
            .struct_ops
            .iter()
            .filter_map(|ops| self.0.kernel_btf.find_struct(&ops.type_name));
        ops.into_iter().any(|ty| self.0.kernel_btf.field_at(ty, name).is_ok())
    }

    fn has_program(&self, name: &str) -> bool {
        self.0.function_named(name).is_ok()
    }
}

/// Changes the object itself: sizes, globals and the ops table. `set` comes last.
pub fn prepare(
    image: &mut Image,
    setup: &Setup,
    set: &[(String, String)],
) -> Result<(), SettingError> {
    for (array, elements) in &setup.resize {
        image.resize_array(array, *elements)?;
    }
    for (map, entries) in &setup.max_entries {
        image.set_max_entries(map, *entries)?;
    }
    for (member, value) in &setup.ops {
        image.set_ops(member, value)?;
    }
    image.add_flags(setup.add_flags);
    for (program, is_loaded) in &setup.programs {
        image.load_program(program, *is_loaded)?;
    }
    for map in &setup.inner_maps {
        image.fill_inner_maps(map)?;
    }
    for (path, value) in setup.set.iter().chain(set) {
        image.set_variable(path, value)?;
    }
    Ok(())
}

/// Fills the maps of a loaded instance and runs its set-up programs.
pub(crate) fn instance(
    ops: &mut BpfOps,
    system: &mut System,
    setup: &Setup,
) -> Result<(), SimError> {
    let runtime = ops.runtime();
    let image = runtime.image().clone();
    for entry in &setup.entries {
        let (map, key, value) = encoded(&image, entry)?;
        runtime.map_put(system, map, &key, &value).map_err(|fault| SimError::Map {
            object: image.name.clone(),
            map: entry.map.clone(),
            what: fault.to_string(),
        })?;
    }
    let mut guest = Guest { ops, system };
    let done = steps(&image, &setup.steps, &mut guest);
    done.map_err(|(step, what)| SimError::Step {
        object: image.name.clone(),
        step,
        what,
        printed: system.printed().to_vec(),
    })
}

/// The workload, and what the loader does while the scheduler runs: programs at their times, from
/// when it is attached first.
pub(crate) fn with_timed(
    workload: Arc<Workload>,
    setup: &Setup,
    config: &Config,
    object: &str,
) -> Arc<Workload> {
    if setup.timed.is_empty() {
        return workload;
    }
    let mut workload = (*workload).clone();
    let attached_ns = config.lifecycle.iter().find(|(_, load)| *load).map_or(0, |(at, _)| *at);
    for timed in &setup.timed {
        let Run { program, ctx, cpu, .. } = &timed.run;
        let ctx = ctx.iter().filter_map(|(path, value)| match value {
            Value::Text(text) => Some((path.clone(), text.clone())),
            Value::Kept(_) => None,
        });
        let (program, cpu, ctx) = (program.clone(), cpu.unwrap_or(0), ctx.collect());
        let action = Action::Object(ObjectAction::Program { program, cpu, ctx });
        let mut at_ns = attached_ns.saturating_add(timed.timing.at_ns);
        while at_ns < config.duration_ns {
            workload.outside.push(OutsideEvent {
                place: format!("{object}: manifest"),
                name: None,
                when: When::At,
                at_ns,
                action: action.clone(),
                by_loader: true,
            });
            let Some(every_ns) = timed.timing.every_ns else { break };
            at_ns = at_ns.saturating_add(every_ns);
        }
    }
    Arc::new(workload)
}

/// A map and the bytes of its key and value. A value for each CPU is as long as all of them.
pub fn encoded(image: &Image, entry: &Entry) -> Result<(MapId, Vec<u8>, Vec<u8>), SettingError> {
    let mut whole = Vec::new();
    let mut found = None;
    for value in &entry.values {
        let (map, key, value) = image.map_entry(&entry.map, &entry.key, value)?;
        whole.extend(value);
        found = Some((map, key));
    }
    let (map, key) = found.ok_or_else(|| SettingError::Refused {
        name: entry.map.clone(),
        why: "there is no CPU to have a value".into(),
    })?;
    Ok((map, key, whole))
}

/// The simulated machine.
struct Guest<'a> {
    ops: &'a mut BpfOps,
    system: &'a mut System,
}

impl Place for Guest<'_> {
    fn run(&mut self, program: FuncId, ctx: &mut [u8], cpu: u32) -> Result<i32, String> {
        if !self.system.may_execute(0) {
            return Ok(0);
        }
        let Self { ops, system } = self;
        let size = ctx.len() as u32;
        let addr = system.memory().alloc("ctx", size, Perm::ReadWrite);
        if let Ok(place) = system.memory().bytes_mut(addr, size) {
            place.copy_from_slice(ctx);
        }
        let call = |system: &mut System| ops.runtime().call(system, program, &[addr]);
        let result = system.as_outsider_on(cpu, call);
        if let Ok(place) = system.memory().bytes(addr, size) {
            ctx.copy_from_slice(place);
        }
        system.memory().free(addr);
        let ret = result.map_err(|fault| fault.to_string())?;
        system.count_executed(ret.instructions);
        // A program returns an int.
        Ok(ret.r0 as i32)
    }

    fn memory(
        &mut self,
        addr: u64,
        size: u32,
        change: &mut dyn FnMut(&mut [u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        change(self.system.memory().bytes_mut(addr, size).map_err(|fault| fault.to_string())?)
    }
}
