// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens to an object before its scheduler is attached: what a manifest says a
//! loader would do, and `--set`.

use crate::error::Error;
use rota_bpf::host::Host;
use rota_bpf::image::{FuncId, Image};
use rota_bpf::memory::Perm;
use rota_kernel::Loaded;
use rota_machine::core::Core;
use rota_machine::policy::BpfOps;
use rota_machine::topology::Topology;
use rota_manifest::{MachineFacts, Manifest, Run, Setup};
use std::path::Path;

/// What a loader would read from the simulated machine.
pub(crate) fn facts(topology: &Topology) -> MachineFacts {
    let cpus = 0..topology.cpus();
    MachineFacts {
        core: cpus.clone().map(|cpu| topology.core_of(cpu)).collect(),
        llc: cpus.clone().map(|cpu| topology.llc_of(cpu)).collect(),
        node: cpus.map(|cpu| topology.node_of(cpu)).collect(),
    }
}

/// A manifest's values for one machine; nothing to do without a manifest.
pub(crate) fn setup(
    manifest: Option<&Path>,
    facts: &MachineFacts,
    image: &Image,
) -> Result<Setup, Error> {
    let Some(path) = manifest else { return Ok(Setup::default()) };
    let text = std::fs::read_to_string(path).map_err(|e| Error::file("read", path, &e))?;
    let manifest = Manifest::parse(&path.display().to_string(), &text)?;
    let constant = |name: &str| image.kernel_btf.enum_value(name).map(i128::from);
    Ok(manifest.expand(facts, &constant)?)
}

/// Changes the object itself: sizes, globals and the ops table. `--set` comes last.
pub(crate) fn object(
    image: &mut Image,
    setup: &Setup,
    set: &[(String, String)],
) -> Result<(), Error> {
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
pub(crate) fn instance(ops: &mut BpfOps, core: &mut Core, setup: &Setup) -> Result<(), Error> {
    let runtime = ops.runtime();
    let image = runtime.image().clone();
    for entry in &setup.entries {
        let (map, key, value) = image.map_entry(&entry.map, &entry.key, &entry.value)?;
        runtime
            .map_put(core, map, &key, &value)
            .map_err(|fault| Error::input(format!("{}: map {}: {fault}", image.name, entry.map)))?;
    }
    setup.runs.iter().try_for_each(|run| run_program(ops, core, &image, run))
}

/// As [`instance`], for an object in the kernel of this machine.
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
        let fail = |what: String| program_error(image, run, what);
        let (_, mut context) = program(image, run)?;
        match loaded.run(&run.program, &mut context)? {
            0 => {}
            code => return Err(fail(format!("returned {code}, expected 0"))),
        }
    }
    Ok(())
}

fn program_error(image: &Image, run: &Run, what: String) -> Error {
    Error::input(format!("{}: program {}: {what}", image.name, run.program))
}

/// A set-up program and its context.
fn program(image: &Image, run: &Run) -> Result<(FuncId, Vec<u8>), Error> {
    let function = image.function_named(&run.program)?;
    let parts = run.ctx.iter().map(|(path, value)| (path.as_str(), value.as_str()));
    let context = match image.context_type(function) {
        Some(ty) => image.encode(ty, parts)?,
        None if run.ctx.is_empty() => Vec::new(),
        None => {
            return Err(program_error(image, run, "takes no argument that ctx could fill".into()))
        }
    };
    Ok((function, context))
}

fn run_program(ops: &mut BpfOps, core: &mut Core, image: &Image, run: &Run) -> Result<(), Error> {
    let fail = |what: String| program_error(image, run, what);
    let (function, context) = program(image, run)?;
    if !core.may_execute(0) {
        return Ok(());
    }
    let addr = core.memory().alloc(&run.program, context.len() as u32, Perm::ReadWrite);
    if let Ok(place) = core.memory().bytes_mut(addr, context.len() as u32) {
        place.copy_from_slice(&context);
    }
    let result = ops.runtime().call(core, function, &[addr]);
    core.memory().free(addr);
    let ret = result.map_err(|fault| fail(fault.to_string()))?;
    core.count_executed(ret.instructions);
    // A program returns an int.
    match ret.r0 as i32 {
        0 => Ok(()),
        code => Err(fail(format!("returned {code}, expected 0"))),
    }
}
