// SPDX-License-Identifier: MIT OR Apache-2.0
//! What user space does to the scheduler's object while it runs: variables and maps that are
//! written, and `syscall` programs that run (`bpf_prog_test_run_syscall()`).

use crate::ops::Ops;
use crate::policy::BpfOps;
use crate::run::{Machine, RunError};
use crate::system::System;
use rota_object::image::{FuncId, Image};
use rota_object::settings::SettingError;
use rota_vm::error::Fault;
use rota_vm::host::Host;
use rota_vm::memory::Perm;
use rota_workload::events::{Action, ObjectAction, OutsideEvent};

/// What came of it.
#[derive(Debug)]
pub enum Done {
    /// No more than what was asked for.
    Quietly,
    /// A program returned this, after so many instructions.
    Returned(i32, u64),
    /// The object has no such thing, or does not take it.
    Refused(String),
    /// The program was stopped.
    Fault(Fault),
}

impl Machine {
    /// Whether the scheduler's object has what the events name.
    pub(crate) fn check_objects(&mut self, o: &mut dyn Ops) -> Result<(), RunError> {
        let workload = std::sync::Arc::clone(self.runner.workload());
        for event in &workload.outside {
            let Action::Object(action) = &event.action else { continue };
            let fits = o.fits(action);
            fits.map_err(|what| RunError::Event { event: event.label(), what })?;
        }
        Ok(())
    }

    /// Lets user space act on the object.
    pub(crate) fn act_on_object(
        &mut self,
        o: &mut dyn Ops,
        event: &OutsideEvent,
        action: &ObjectAction,
    ) {
        let system = &mut self.system;
        if !system.may_execute(0) {
            return;
        }
        if let ObjectAction::Program { cpu, .. } = action {
            // smp_call_function_single() to a CPU that is not there: -ENXIO
            if !system.hotplug.is_active(*cpu) {
                return self.happened(event, format!("is refused (ENXIO): CPU {cpu} is offline"));
            }
            system.running.this_cpu = *cpu;
            system.update_curr(*cpu);
        }
        let done = system.as_outsider(|system| o.act(system, action));
        match done {
            Done::Quietly => {}
            Done::Returned(value, instructions) => {
                system.count_executed(instructions);
                if value != 0 || !event.by_loader {
                    self.happened(event, format!("returned {value}"));
                }
            }
            Done::Refused(what) => self.happened(event, what),
            Done::Fault(fault) => system.fault(&action.to_string(), None, fault),
        }
    }
}

/// A `syscall` program of an object and its context, whose parts are zero where they are not named.
pub fn program(
    image: &Image,
    name: &str,
    ctx: &[(String, String)],
) -> Result<(FuncId, Vec<u8>), String> {
    let text = |error: SettingError| error.to_string();
    let function = image.function_named(name).map_err(text)?;
    let section = image.functions.get(function.0 as usize).map_or("", |f| f.section.as_str());
    if section != "syscall" {
        return Err(format!(
            "{name} is in section {section:?}: only those in \"syscall\" can be run"
        ));
    }
    let parts = ctx.iter().map(|(path, value)| (path.as_str(), value.as_str()));
    match image.context_type(function) {
        Some(ty) => Ok((function, image.encode(ty, parts).map_err(text)?)),
        None if ctx.is_empty() => Ok((function, Vec::new())),
        None => Err(format!("{name} takes no argument that ctx could fill")),
    }
}

/// Whether an object has what an action names.
pub(crate) fn fits(image: &Image, action: &ObjectAction) -> Result<(), String> {
    let text = |error: SettingError| error.to_string();
    match action {
        ObjectAction::Variable { path, value } => {
            let (_, mut bytes) = image.writable(path).map_err(text)?;
            image.write_in(path, value, &mut bytes).map_err(text)
        }
        ObjectAction::Map { map, key, value } => {
            image.map_entry(map, key, value).map(|_| ()).map_err(text)
        }
        ObjectAction::Program { program: name, ctx, .. } => program(image, name, ctx).map(|_| ()),
    }
}

impl BpfOps {
    /// See [`Ops::act`].
    pub(crate) fn act_on(
        &mut self,
        system: &mut System,
        action: &ObjectAction,
    ) -> Result<Done, String> {
        let text = |error: SettingError| error.to_string();
        let image = self.runtime().image().clone();
        match action {
            ObjectAction::Variable { path, value } => {
                let (place, _) = image.writable(path).map_err(text)?;
                let base = self.runtime().map_base(place.map).unwrap_or(0);
                let (at, size) = (base + u64::from(place.offset), place.bytes);
                let place = system.memory().bytes_mut(at, size).map_err(|f| f.to_string())?;
                image.write_in(path, value, place).map_err(text)?;
                Ok(Done::Quietly)
            }
            ObjectAction::Map { map, key, value } => {
                let (map, key, value) = image.map_entry(map, key, value).map_err(text)?;
                let put = self.runtime().map_put(system, map, &key, &value);
                put.map_err(|fault| fault.to_string())?;
                Ok(Done::Quietly)
            }
            ObjectAction::Program { program: name, ctx, .. } => {
                let (function, ctx) = program(&image, name, ctx)?;
                let size = ctx.len() as u32;
                let addr = system.memory().alloc(name, size, Perm::ReadWrite);
                if let Ok(place) = system.memory().bytes_mut(addr, size) {
                    place.copy_from_slice(&ctx);
                }
                let result = self.runtime().call(system, function, &[addr]);
                system.memory().free(addr);
                Ok(match result {
                    // a program returns an int
                    Ok(ret) => Done::Returned(ret.r0 as i32, ret.instructions),
                    Err(fault) => Done::Fault(fault),
                })
            }
        }
    }
}
