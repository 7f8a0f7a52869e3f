// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects that a program loads and attaches, one after the other.

use super::{checked, is_scheduler, AttachError, Binding, BpfOps};
use crate::kfuncs;
use crate::run::RunError;
use crate::system::System;
use crate::user_half::{Live, Step, UserHalf};
use rota_object::image::{Image, StructOps};
use rota_vm::runtime::Runtime;
use std::sync::Arc;

impl BpfOps {
    /// As [`BpfOps::load`], with the program that loaded the object: it goes on until it attaches
    /// the scheduler, with the table that it has by then. The machine must have it
    /// ([`crate::run::Machine::add_program`]).
    pub fn load_by(
        mut program: Box<dyn UserHalf>,
        image: Arc<Image>,
        system: &mut System,
    ) -> Result<Self, AttachError> {
        system.attend_to(&image);
        let mut rt = Runtime::new(Arc::clone(&image), &kfuncs::table(), system)?;
        rt.set_budget(system.config.budget);
        let table = system.as_program(|system| program.attach(Live { rt: &mut rt, system }));
        let table = table.map_err(AttachError::Program)?;
        if !is_scheduler(&table) {
            return Err(AttachError::NoScheduler { object: image.name.clone() });
        }
        let binding = Binding::with(&image, &table)?;
        let table = Some(Box::new(table));
        Ok(Self { user_half: Some(program), table, ..Self::bind(rt, binding, system)? })
    }

    /// The program's next step. One that loads another object has that in place of the one before
    /// when it goes on.
    pub(super) fn go_on_by(
        &mut self,
        program: &mut dyn UserHalf,
        system: &mut System,
    ) -> Result<Step, RunError> {
        loop {
            let step = program.go_on(Live { rt: &mut self.rt, system });
            let done = match step {
                Step::Load if system.takes_another() => self.load_again(program, system),
                Step::Attach if system.takes_another() => {
                    self.bind_again(program, system).map(|()| false)
                }
                _ => Ok(false),
            };
            match done {
                Ok(true) => {}
                Ok(false) => return Ok(step),
                Err(error) => return Err(RunError::Load(error.to_string())),
            }
        }
    }

    /// Whether the program has another object.
    fn load_again(
        &mut self,
        program: &mut dyn UserHalf,
        system: &mut System,
    ) -> Result<bool, AttachError> {
        let Some(image) = program.image() else { return Ok(false) };
        system.attend_to(&image);
        // the other's arenas may be where these were
        self.rt.unload(system);
        self.rt = Runtime::new(Arc::new(image), &kfuncs::table(), system)?;
        self.rt.set_budget(system.config.budget);
        self.table = None;
        Ok(true)
    }

    fn bind_again(
        &mut self,
        program: &mut dyn UserHalf,
        system: &mut System,
    ) -> Result<(), AttachError> {
        let image = self.rt.image();
        let table = program.table().filter(is_scheduler);
        let table = table.ok_or_else(|| AttachError::NoScheduler { object: image.name.clone() })?;
        self.binding = checked(&self.rt, Binding::with(image, &table)?)?;
        self.table = Some(Box::new(table));
        system.hosted.binding = Some(Arc::clone(&self.binding));
        Ok(())
    }

    /// The table that its program attached, of one that a program loaded.
    pub fn table(&self) -> Option<&StructOps> {
        self.table.as_deref()
    }
}
