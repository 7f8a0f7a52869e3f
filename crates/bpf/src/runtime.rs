// SPDX-License-Identifier: MIT OR Apache-2.0
//! One running instance of an image: its maps, its timers, and calls into its functions.

use crate::error::{Fault, LoadError};
use crate::host::{Host, Kfunc};
use crate::image::{FuncId, Image, MapId};
use std::sync::Arc;

/// The kernel functions that hosted code may call.
pub struct KfuncTable<H> {
    rows: Vec<Kfunc<H>>,
}

impl<H: Host> KfuncTable<H> {
    /// The generic kernel functions and `rows`; a later row replaces an earlier one of its name.
    pub fn new(rows: Vec<Kfunc<H>>) -> Self {
        Self { rows }
    }

    /// Names of all rows.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.rows.iter().map(|row| row.name)
    }

    /// Whether a kernel function of this essential name exists.
    pub fn contains(&self, name: &str) -> bool {
        self.rows.iter().any(|row| row.name == name)
    }
}

/// What a call returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ret {
    /// Register r0.
    pub r0: u64,
    /// Instructions executed, costs of helpers and kernel functions included.
    pub instructions: u64,
}

/// A running instance.
pub struct Runtime<H> {
    image: Arc<Image>,
    kfuncs: Arc<KfuncTable<H>>,
}

impl<H: Host> Runtime<H> {
    /// Creates the image's maps in the host's memory and decodes its code.
    pub fn new(
        image: Arc<Image>,
        kfuncs: Arc<KfuncTable<H>>,
        _host: &mut H,
    ) -> Result<Self, LoadError> {
        Ok(Self { image, kfuncs })
    }

    /// What is running.
    pub fn image(&self) -> &Arc<Image> {
        &self.image
    }

    /// Calls a function and runs it to its end.
    pub fn call(&mut self, _host: &mut H, _func: FuncId, _args: &[u64]) -> Result<Ret, Fault> {
        Err(Fault::denied(format!("{} kfuncs", self.kfuncs.rows.len())))
    }

    /// Runs the callback of an expired timer.
    pub fn run_timer(&mut self, _host: &mut H, _timer: u64) -> Result<Ret, Fault> {
        Err(Fault::denied("no such timer"))
    }

    /// The task or cgroup at this address is gone: frees its storage entries.
    pub fn release_owner(&mut self, _host: &mut H, _owner: u64) {}

    /// Instructions that one call may execute.
    pub fn set_budget(&mut self, _instructions: u64) {}

    /// Adds to the instruction count of the running call.
    pub fn charge(&mut self, _instructions: u64) {}

    /// A map by name.
    pub fn map(&self, name: &str) -> Option<MapId> {
        self.image.maps.iter().position(|map| map.name == name).map(|at| MapId(at as u32))
    }

    /// The value at a key.
    pub fn map_get(&self, _host: &mut H, _map: MapId, _key: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// Stores a value.
    pub fn map_put(
        &mut self,
        _host: &mut H,
        _map: MapId,
        _key: &[u8],
        _value: &[u8],
    ) -> Result<(), Fault> {
        Ok(())
    }

    /// All keys, in a deterministic order.
    pub fn map_keys(&self, _host: &mut H, _map: MapId) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// Guest address of a named global.
    pub fn global_addr(&self, _variable: &str) -> Option<u64> {
        None
    }
}
