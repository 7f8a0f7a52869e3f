// SPDX-License-Identifier: MIT OR Apache-2.0
//! One running instance of an image: its maps, its timers, and calls into its functions.

mod access;
mod layout;
mod objects;
mod table;
mod timers;

pub(crate) use layout::Layout;
pub use table::KfuncTable;

use crate::error::{Fault, FaultKind};
use crate::host::Host;
use crate::interpreter::decode::{self, Places};
use crate::interpreter::program::Program;
use crate::interpreter::{Callback, Exec, Step};
use crate::maps::{self, Body, Map};
use crate::memory::handle;
use objects::Objects;
use rota_object::error::LoadError;
use rota_object::image::{FuncId, Image, MapId};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use timers::Timers;

/// Instructions that one call may execute, unless set otherwise.
const DEFAULT_BUDGET: u64 = 10_000_000;

/// Calls inside calls, by way of kernel functions that call back.
const MAX_DEPTH: u32 = 16;

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
    program: Arc<Program<H>>,
    /// What the program was decoded for.
    places: Arc<Places>,
    /// Of each map's initial contents, the bytes up to the last that is not 0.
    filled: Arc<[usize]>,
    pub(crate) maps: Vec<Map>,
    /// Calls that are over, kept for their stacks.
    idle: Vec<Exec<H>>,
    depth: u32,
    budget: u64,
    charged: i64,
    callback: Option<Callback>,
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
    /// Creates the image's maps in the host's memory and decodes its code.
    pub fn new(
        image: Arc<Image>,
        kfuncs: Arc<KfuncTable<H>>,
        host: &mut H,
    ) -> Result<Self, LoadError> {
        let filled: Arc<[usize]> = image.maps.iter().map(maps::filled).collect();
        let (maps, places) = create_maps(&image, &filled, host)?;
        let places = Arc::new(places);
        let program = Arc::new(decode::decode(&image, &kfuncs, &places));
        let layout = Layout::of(&image.kernel_btf);
        Ok(Self::with(image, program, places, filled, maps, layout))
    }

    /// Another instance of the same image, for another host. What was decoded is used again
    /// if the new host puts everything where this one's did.
    pub fn another(&self, kfuncs: Arc<KfuncTable<H>>, host: &mut H) -> Result<Self, LoadError> {
        let image = Arc::clone(&self.image);
        let (maps, places) = create_maps(&image, &self.filled, host)?;
        let (program, places) = if places == *self.places {
            (Arc::clone(&self.program), Arc::clone(&self.places))
        } else {
            (Arc::new(decode::decode(&image, &kfuncs, &places)), Arc::new(places))
        };
        let (filled, layout) = (Arc::clone(&self.filled), self.layout.clone());
        Ok(Self { budget: self.budget, ..Self::with(image, program, places, filled, maps, layout) })
    }

    fn with(
        image: Arc<Image>,
        program: Arc<Program<H>>,
        places: Arc<Places>,
        filled: Arc<[usize]>,
        maps: Vec<Map>,
        layout: Layout,
    ) -> Self {
        Self {
            layout,
            image,
            program,
            places,
            filled,
            maps,
            idle: Vec::new(),
            depth: 0,
            budget: DEFAULT_BUDGET,
            charged: 0,
            callback: None,
            timers: Timers::default(),
            objects: Objects::default(),
            distributed: FxHashMap::default(),
            graveyard: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// What is running.
    pub fn image(&self) -> &Arc<Image> {
        &self.image
    }

    /// Calls a function and runs it to its end. Kernel functions may use it too.
    pub fn call(&mut self, host: &mut H, func: FuncId, args: &[u64]) -> Result<Ret, Fault> {
        self.call_with_key(host, func, args, None)
    }

    /// Like [`Runtime::call`]; with a key, the second argument points at a copy of it.
    pub(crate) fn call_with_key(
        &mut self,
        host: &mut H,
        func: FuncId,
        args: &[u64],
        key: Option<&[u8]>,
    ) -> Result<Ret, Fault> {
        if self.depth >= MAX_DEPTH {
            return Err(Fault::new(FaultKind::Stack));
        }
        let mut exec = match self.idle.pop() {
            Some(exec) => exec,
            None => Exec::new(self),
        };
        exec.start(host, func, args)?;
        if let Some(key) = key {
            exec.pass_key(host, key)?;
        }
        let outer_charge = std::mem::take(&mut self.charged);
        self.depth += 1;
        let result = exec.run(self, host, u64::MAX);
        self.depth -= 1;
        self.charged = outer_charge;
        self.idle.push(exec);
        if self.depth == 0 && !self.graveyard.is_empty() {
            self.bury(host);
        }
        match result? {
            Step::Done(ret) => Ok(ret),
            // Fuel beyond any budget: only the budget ends the run.
            Step::Paused => Err(Fault::new(FaultKind::Budget(self.budget))),
        }
    }

    /// Instructions that one call may execute.
    pub fn set_budget(&mut self, instructions: u64) {
        self.budget = instructions;
    }

    pub(crate) fn budget(&self) -> u64 {
        self.budget
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
    pub(crate) fn call_back(&mut self, callback: Callback) {
        self.callback = Some(callback);
    }

    #[inline]
    pub(crate) fn wants_callback(&self) -> bool {
        self.callback.is_some()
    }

    pub(crate) fn take_callback(&mut self) -> Option<Callback> {
        self.callback.take()
    }

    pub(crate) fn program(&self) -> &Arc<Program<H>> {
        &self.program
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

/// An image's maps in the host's memory, and where they and everything else are.
fn create_maps<H: Host>(
    image: &Image,
    filled: &[usize],
    host: &mut H,
) -> Result<(Vec<Map>, Places), LoadError> {
    let cpus = host.nr_cpus();
    let mut places = Places {
        values: Vec::new(),
        ksyms: Vec::new(),
        arrays: Vec::new(),
        arena: 0,
        frozen: FxHashMap::default(),
    };
    let mut maps = Vec::new();
    for (def, filled) in image.maps.iter().zip(filled) {
        let created = maps::create(def, *filled, &image.btf, host.memory(), cpus);
        let maps::Created { map, base } = created.map_err(|what| LoadError {
            object: image.name.clone(),
            what: format!("map {}: {what}", def.name),
        })?;
        match &map.body {
            Body::Arena => places.arena = base >> 32 << 32,
            Body::Array(_) if def.read_only => {
                let bytes = host.memory().bytes(base, def.value_size).unwrap_or(&[]);
                places.frozen.insert(base, bytes.into());
            }
            _ => {}
        }
        places.arrays.push(match &map.body {
            Body::Array(array) => Some(array.place()),
            _ => None,
        });
        places.values.push(base);
        maps.push(map);
    }
    for name in &image.ksyms {
        places.ksyms.push(host.ksym(name).unwrap_or(0));
    }
    Ok((maps, places))
}

#[cold]
fn no_map(pointer: u64) -> Fault {
    Fault::denied(format!("{pointer:#x} is not a map"))
}
