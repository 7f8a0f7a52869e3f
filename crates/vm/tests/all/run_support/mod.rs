// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small host, an image builder and an assembler for tests of the runtime. Whoever uses it says by
//! a function `engine` of the crate what runs the code unless a test says it.

#![allow(dead_code, unreachable_pub)] // every test file uses its own part

pub mod asm;
pub mod operated;
pub mod random;

use rota_object::btf::Btf;
use rota_object::image::{map_type, FuncId, Function, Image, Insn, MapDef, MapId, Symbol};
use rota_vm::engine::Engine;
use rota_vm::error::Fault;
use rota_vm::host::Host;
use rota_vm::memory::Memory;
use rota_vm::runtime::{Ret, Runtime};
use rota_vm::table::{CallTable, Kfunc};
use rota_vm::{helpers, kfuncs};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A host with a clock that stands still unless the test moves it.
pub struct TestHost {
    pub memory: Memory,
    pub now_ns: u64,
    pub cpu: u32,
    pub nr_cpus: u32,
    pub task: u64,
    pub random: u32,
    pub printed: Vec<String>,
    pub timers: BTreeMap<u64, (u64, Option<u32>)>,
    pub engine: Option<Arc<dyn Engine>>,
}

impl TestHost {
    pub fn new() -> Self {
        Self {
            memory: Memory::new(),
            now_ns: 1_000_000_000,
            cpu: 0,
            nr_cpus: 4,
            task: 0,
            random: 1,
            printed: Vec::new(),
            timers: BTreeMap::new(),
            engine: crate::engine(),
        }
    }
}

impl Host for TestHost {
    fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }
    fn engine(&self) -> Option<Arc<dyn Engine>> {
        self.engine.clone()
    }
    fn may_call(&self, _contexts: u32, _name: &str) -> Result<(), Fault> {
        Ok(())
    }
    fn now_ns(&self) -> u64 {
        self.now_ns
    }
    fn cpu(&self) -> u32 {
        self.cpu
    }
    fn nr_cpus(&self) -> u32 {
        self.nr_cpus
    }
    fn current_task(&self) -> u64 {
        self.task
    }
    fn random_u32(&mut self) -> u32 {
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.random
    }
    fn print(&mut self, text: &str) {
        self.printed.push(text.to_owned());
    }
    fn timer_start(&mut self, timer: u64, at_ns: u64, cpu: Option<u32>) {
        self.timers.insert(timer, (at_ns, cpu));
    }
    fn timer_cancel(&mut self, timer: u64) -> bool {
        self.timers.remove(&timer).is_some()
    }
    fn ksym(&mut self, _: &str) -> Option<u64> {
        None
    }
    fn per_cpu_ptr(&mut self, _: u64, _: u32) -> u64 {
        0
    }
    fn cgroup_of(&mut self, _: u64) -> u64 {
        0
    }
}

/// All helpers, the generic kernel functions, and `rows`.
pub fn table(rows: Vec<Kfunc<TestHost>>) -> CallTable<TestHost> {
    let mut all = kfuncs::generic();
    all.extend(rows);
    CallTable::new(helpers::all(), all)
}

/// Builds an image function by function.
pub struct Builder {
    pub image: Image,
}

impl Builder {
    pub fn new() -> Self {
        let empty = Arc::new(Btf::empty());
        let image = Image {
            name: "test".into(),
            license: "GPL".into(),
            code: Vec::new(),
            symbols: BTreeMap::new(),
            functions: Vec::new(),
            lines: Vec::new(),
            maps: Vec::new(),
            struct_ops: Vec::new(),
            kfuncs: Vec::new(),
            ksyms: Vec::new(),
            untold_types: Vec::new(),
            kernel_fields: BTreeSet::new(),
            variables: Vec::new(),
            btf: Arc::clone(&empty),
            kernel_btf: empty,
        };
        Self { image }
    }

    /// Adds a function; its lines may carry symbols.
    pub fn function(mut self, name: &str, code: Vec<asm::Line>) -> Self {
        let start = self.image.code.len() as u32;
        for line in code {
            if let Some(symbol) = line.symbol {
                let slot = self.image.code.len() as u32;
                let symbol = match symbol {
                    asm::Ref::Symbol(symbol) => symbol,
                    asm::Ref::Kfunc(name) => Symbol::Kfunc(self.kfunc(name)),
                };
                self.image.symbols.insert(slot, symbol);
            }
            self.image.code.extend(line.insns);
        }
        let len = self.image.code.len() as u32 - start;
        self.image.functions.push(Function {
            name: name.into(),
            section: ".text".into(),
            start,
            len,
            btf: None,
            args: 5,
        });
        self
    }

    /// Adds raw instructions as one function.
    pub fn raw(self, name: &str, code: &[Insn]) -> Self {
        let line = asm::Line { insns: code.to_vec(), symbol: None };
        self.function(name, vec![line])
    }

    pub fn map(mut self, def: MapDef) -> Self {
        self.image.maps.push(def);
        self
    }

    fn kfunc(&mut self, name: &str) -> u32 {
        let known = self.image.kfuncs.iter().position(|k| k == name);
        known.unwrap_or_else(|| {
            self.image.kfuncs.push(name.to_owned());
            self.image.kfuncs.len() - 1
        }) as u32
    }

    pub fn start(self) -> Hosted {
        self.start_with(TestHost::new(), Vec::new())
    }

    pub fn start_with(self, mut host: TestHost, rows: Vec<Kfunc<TestHost>>) -> Hosted {
        let table = table(rows);
        let runtime = Runtime::new(Arc::new(self.image), &table, &mut host).expect("image loads");
        Hosted { host, runtime }
    }
}

/// A running image.
pub struct Hosted {
    pub host: TestHost,
    pub runtime: Runtime<TestHost>,
}

impl Hosted {
    pub fn call(&mut self, func: u32, args: &[u64]) -> Result<Ret, Fault> {
        self.runtime.call(&mut self.host, FuncId(func), args)
    }

    /// r0 of the first function.
    pub fn result(&mut self, args: &[u64]) -> u64 {
        self.call(0, args).expect("no fault").r0
    }
}

/// A map of plain bytes.
pub fn map(name: &str, kind: u32, key_size: u32, value_size: u32, max_entries: u32) -> MapDef {
    MapDef { name: name.into(), kind, key_size, value_size, max_entries, ..MapDef::default() }
}

/// A data section.
pub fn data(name: &str, content: Vec<u8>, read_only: bool) -> MapDef {
    let size = content.len() as u32;
    MapDef { initial: Some(content.into()), read_only, ..map(name, map_type::ARRAY, 4, size, 1) }
}

pub fn map_symbol(number: u32) -> Symbol {
    Symbol::Map(MapId(number))
}
