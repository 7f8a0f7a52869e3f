// SPDX-License-Identifier: MIT OR Apache-2.0
//! The global variables of a simulated policy, read by name as its BTF describes them.

use crate::error::SimError;
use crate::simulation::Loaded;
use rota_object::image::Variable;
use rota_object::settings::Value;
use rota_vm::host::Host;
use std::sync::Arc;

/// A global variable and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its name in the policy.
    pub name: String,
    /// The section that it is in: `.bss`, `.data`, `.rodata` …
    pub section: String,
    /// What it holds.
    pub value: Value,
}

impl Loaded {
    /// What a global variable holds now, before, in or after a run. A path leads to a part of one:
    /// `limits[2]`, `uei.kind`.
    pub fn global(&mut self, path: &str) -> Result<Value, SimError> {
        let image = Arc::clone(self.ops.runtime().image());
        Ok(image.value_of(path, |variable| self.bytes_of(variable))?)
    }

    /// All global variables, in the object's order. The first of several with the same name stands
    /// for them.
    pub fn globals(&mut self) -> Vec<Global> {
        let image = Arc::clone(self.ops.runtime().image());
        let of = |variable: &Variable| {
            let value = image.value_of(&variable.name, |found| self.bytes_of(found)).ok()?;
            let section = image.maps.get(variable.map.0 as usize)?.name.clone();
            Some(Global { name: variable.name.clone(), section, value })
        };
        image.variables.iter().filter_map(of).collect()
    }

    pub(crate) fn bytes_of(&mut self, variable: &Variable) -> Vec<u8> {
        let Some(base) = self.ops.runtime().map_base(variable.map) else { return Vec::new() };
        let from = base + u64::from(variable.offset);
        let bytes = self.machine.system.memory().bytes(from, variable.size);
        bytes.map(<[u8]>::to_vec).unwrap_or_default()
    }
}
