// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens to an object before its scheduler is attached: what a manifest says a
//! loader would do.

use crate::error::SimError;
use rota_machine::policy::BpfOps;
use rota_machine::system::System;
use rota_machine::topology::Topology;
use rota_manifest::{CpuFacts, Run, Setup};
use rota_object::image::{FuncId, Image};
use rota_object::settings::SettingError;
use rota_object::topology::CpuPlace;
use rota_vm::host::Host;
use rota_vm::memory::Perm;

/// What a loader would read from the simulated machine.
pub fn facts(topology: &Topology) -> CpuFacts {
    let cpus = 0..topology.cpus();
    CpuFacts {
        core: cpus.clone().map(|cpu| topology.core_of(cpu)).collect(),
        llc: cpus.clone().map(|cpu| topology.llc_of(cpu)).collect(),
        node: cpus.map(|cpu| topology.node_of(cpu)).collect(),
    }
}

/// What a loader tells a policy of the simulated machine.
pub(crate) fn described(topology: &Topology) -> rota_object::topology::Topology {
    let place = |cpu| CpuPlace {
        cpu,
        core: topology.core_of(cpu),
        cluster: topology.core_of(cpu),
        llc: topology.llc_of(cpu),
        node: topology.node_of(cpu),
    };
    let cpus = (0..topology.cpus()).map(place).collect();
    rota_object::topology::Topology { cpus, distances: Vec::new() }
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
        let (map, key, value) = image.map_entry(&entry.map, &entry.key, &entry.value)?;
        runtime.map_put(system, map, &key, &value).map_err(|fault| SimError::Map {
            object: image.name.clone(),
            map: entry.map.clone(),
            what: fault.to_string(),
        })?;
    }
    let run = |run| {
        let result = run_program(ops, system, &image, run);
        result.map_err(|error| match error {
            SimError::Program { object, program, what, .. } => {
                SimError::Program { object, program, what, printed: system.printed().to_vec() }
            }
            error => error,
        })
    };
    setup.runs.iter().try_for_each(run)
}

fn failed(image: &Image, run: &Run, what: String) -> SimError {
    let (object, program) = (image.name.clone(), run.program.clone());
    SimError::Program { object, program, what, printed: Vec::new() }
}

/// A set-up program and its context.
pub fn program(image: &Image, run: &Run) -> Result<(FuncId, Vec<u8>), SimError> {
    let function = image.function_named(&run.program)?;
    let parts = run.ctx.iter().map(|(path, value)| (path.as_str(), value.as_str()));
    let context = match image.context_type(function) {
        Some(ty) => image.encode(ty, parts)?,
        None if run.ctx.is_empty() => Vec::new(),
        None => return Err(failed(image, run, "takes no argument that ctx could fill".into())),
    };
    Ok((function, context))
}

fn run_program(
    ops: &mut BpfOps,
    system: &mut System,
    image: &Image,
    run: &Run,
) -> Result<(), SimError> {
    let (function, context) = program(image, run)?;
    if !system.may_execute(0) {
        return Ok(());
    }
    let addr = system.memory().alloc(&run.program, context.len() as u32, Perm::ReadWrite);
    if let Ok(place) = system.memory().bytes_mut(addr, context.len() as u32) {
        place.copy_from_slice(&context);
    }
    let result = system.as_outsider(|system| ops.runtime().call(system, function, &[addr]));
    system.memory().free(addr);
    let ret = result.map_err(|fault| failed(image, run, fault.to_string()))?;
    system.count_executed(ret.instructions);
    // A program returns an int.
    match ret.r0 as i32 {
        0 => Ok(()),
        code => Err(failed(image, run, format!("returned {code}, expected 0"))),
    }
}
