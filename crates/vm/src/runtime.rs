// SPDX-License-Identifier: MIT OR Apache-2.0
//! One running instance of an image: its maps, its timers, and calls into its functions.

mod access;
mod calls;
mod elements;
mod exec;
mod expiry;
mod ownership;
mod rings;

pub use crate::code::{CodePlace, LimitedCall, UncheckedLoad};
pub use crate::maps::RingBytes;
pub use exec::{Exec, Step};

use crate::callback::Callback;
use crate::code::{Call, Code};
use crate::engine::Engine;
use crate::error::Fault;
use crate::host::Host;
use crate::layout::Layout;
use crate::maps::{Map, MapView};
use crate::memory::handle;
use crate::objects::Objects;
use crate::places::Places;
use crate::timers::Timers;
use rota_object::image::{FuncId, Image, MapId};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Instructions that one call may execute, unless set otherwise.
const DEFAULT_BUDGET: u64 = 10_000_000;

/// What a call returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ret {
    /// Register r0.
    pub r0: u64,
    /// Instructions executed, costs of helpers and kernel functions included.
    pub instructions: u64,
}

/// What an instance is made of.
pub(crate) struct Parts<H> {
    pub(crate) image: Arc<Image>,
    pub(crate) code: Arc<dyn Code<Runtime<H>, H>>,
    /// What the code was decoded for.
    pub(crate) places: Arc<Places>,
    pub(crate) maps: Vec<Map>,
    pub(crate) layout: Layout,
    pub(crate) engine: Option<Arc<dyn Engine>>,
}

/// A running instance.
pub struct Runtime<H> {
    image: Arc<Image>,
    code: Arc<dyn Code<Self, H>>,
    pub(crate) places: Arc<Places>,
    pub(crate) maps: Vec<Map>,
    /// What compiled code reads of each map.
    pub(crate) map_views: Vec<MapView>,
    /// Calls that are over, kept for their stacks. Boxed, as they are moved in and out.
    #[allow(clippy::vec_box)]
    idle: Vec<Box<Call<Self, H>>>,
    depth: u32,
    /// How often its code went on.
    runs: u64,
    budget: u64,
    /// Nothing of it may run any more.
    ended: bool,
    charged: i64,
    callback: Option<Box<dyn Callback<Self, H>>>,
    pub(crate) timers: Timers,
    pub(crate) objects: Objects,
    pub(crate) layout: Layout,
    /// CPU that `bpf_cpumask_any_distribute` chose last, by calling CPU.
    distributed: FxHashMap<u32, u32>,
    /// Regions to free once no guest code can hold a pointer to them.
    graveyard: Vec<u64>,
    /// Buffer for keys and values on their way into a map.
    pub(crate) scratch: Vec<u8>,
}

impl<H: Host> Runtime<H> {
    pub(crate) fn of(parts: Parts<H>) -> Self {
        let Parts { image, code, places, maps, layout, engine } = parts;
        if let Some(engine) = engine {
            code.compile(&*engine);
        }
        Self {
            layout,
            image,
            code,
            places,
            map_views: maps.iter().map(Map::view).collect(),
            maps,
            idle: Vec::new(),
            depth: 0,
            runs: 0,
            budget: DEFAULT_BUDGET,
            ended: false,
            charged: 0,
            callback: None,
            timers: Timers::default(),
            objects: Objects::default(),
            distributed: FxHashMap::default(),
            graveyard: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// How often its code began to run or went on. Nothing else changes the memory of an arena, but
    /// who has the runtime's host.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    pub(crate) fn count_run(&mut self) {
        self.runs += 1;
    }

    /// What is running.
    pub fn image(&self) -> &Arc<Image> {
        &self.image
    }

    /// Instructions that one call may execute.
    pub fn set_budget(&mut self, instructions: u64) {
        self.budget = instructions;
    }

    pub(crate) fn budget(&self) -> u64 {
        if self.ended {
            0
        } else {
            self.budget
        }
    }

    /// Adds to the instruction count of the running call: for kernel functions whose
    /// work is not constant.
    pub fn charge(&mut self, instructions: u64) {
        self.charged = self.charged.saturating_add(instructions.min(i64::MAX as u64) as i64);
    }

    #[inline]
    pub(crate) fn take_charge(&mut self) -> i64 {
        std::mem::take(&mut self.charged)
    }

    /// Asks the interpreter to call back before the running helper returns.
    pub(crate) fn call_back(&mut self, callback: Box<dyn Callback<Self, H>>) {
        self.callback = Some(callback);
    }

    #[inline]
    pub(crate) fn wants_callback(&self) -> bool {
        self.callback.is_some()
    }

    pub(crate) fn take_callback(&mut self) -> Option<Box<dyn Callback<Self, H>>> {
        self.callback.take()
    }

    /// The calls of kernel functions with limited contexts that a function makes, and those that
    /// it calls or hands out as callbacks. Calls that read-only data rules out do not count.
    pub fn limited_calls(&self, func: FuncId) -> Vec<LimitedCall> {
        self.code.limited_calls(func)
    }

    /// Loads through callbacks' arguments that may be NULL and are not compared: no kernel loads
    /// such a program.
    pub fn unchecked_loads(&self) -> &[UncheckedLoad] {
        self.code.unchecked_loads()
    }

    /// The place that a host was told of by [`Host::calls_from`].
    pub fn place(&self, site: u32) -> Option<CodePlace> {
        self.code.place(site as usize)
    }

    /// Where a function begins.
    pub fn entry(&self, func: FuncId) -> Option<CodePlace> {
        self.code.place(self.code.entry(func)?)
    }

    /// The decoded functions.
    pub(crate) fn code(&self) -> &Arc<dyn Code<Self, H>> {
        &self.code
    }

    /// The map that a guest pointer means.
    #[inline]
    pub(crate) fn map_at(&mut self, pointer: u64) -> Result<&mut Map, Fault> {
        let number = self.map_number(pointer)?;
        Ok(&mut self.maps[number as usize])
    }

    /// The number of the map that a guest pointer means.
    #[inline]
    pub(crate) fn map_number(&self, pointer: u64) -> Result<u32, Fault> {
        match handle::as_map(pointer).filter(|&number| (number as usize) < self.maps.len()) {
            Some(number) => Ok(number),
            None => Err(no_map(pointer)),
        }
    }

    /// Guest address of a named global.
    pub fn global_addr(&self, variable: &str) -> Option<u64> {
        let found = self.image.variables.iter().find(|v| v.name == variable)?;
        self.map_base(found.map).map(|base| base + u64::from(found.offset))
    }

    /// Guest address of the first value of an array or data section, or of an arena's globals.
    pub fn map_base(&self, map: MapId) -> Option<u64> {
        self.places.values.get(map.0 as usize).copied().filter(|&base| base != 0)
    }

    /// Where `bpf_cpumask_any_distribute` on a CPU notes its last choice.
    pub(crate) fn last_distributed(&mut self, cpu: u32) -> &mut u32 {
        self.distributed.entry(cpu).or_insert(0)
    }

    /// Frees a region once the outermost call is over: as after an RCU grace period.
    pub(crate) fn free_later(&mut self, addr: u64) {
        self.graveyard.push(addr);
    }

    fn bury(&mut self, host: &mut H) {
        for addr in self.graveyard.drain(..) {
            host.memory().free(addr);
        }
    }
}

#[cold]
fn no_map(pointer: u64) -> Fault {
    Fault::denied(format!("{pointer:#x} is not a map"))
}
