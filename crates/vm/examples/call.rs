// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls a function of an object file: `call OBJECT FUNCTION [ARGUMENT …]` prints what it returns.

use rota_object::btf::Btf;
use rota_object::link::{link, Kernel, Object};
use rota_vm::error::Fault;
use rota_vm::host::Host;
use rota_vm::memory::Memory;
use rota_vm::runtime::Runtime;
use rota_vm::table::CallTable;
use rota_vm::{helpers, kfuncs};
use std::error::Error;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A computer with one CPU on which nothing else happens.
#[derive(Default)]
struct Quiet {
    memory: Memory,
    random: u32,
}

impl Host for Quiet {
    fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }
    fn now_ns(&self) -> u64 {
        0
    }
    fn cpu(&self) -> u32 {
        0
    }
    fn nr_cpus(&self) -> u32 {
        1
    }
    fn current_task(&self) -> u64 {
        0
    }
    fn random_u32(&mut self) -> u32 {
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.random
    }
    fn print(&mut self, text: &str) {
        print!("{text}");
    }
    fn timer_start(&mut self, _timer: u64, _at_ns: u64, _cpu: Option<u32>) {}
    fn timer_cancel(&mut self, _timer: u64) -> bool {
        false
    }
    fn ksym(&mut self, _name: &str) -> Option<u64> {
        None
    }
    fn per_cpu_ptr(&mut self, _addr: u64, _cpu: u32) -> u64 {
        0
    }
    fn cgroup_of(&mut self, _task: u64) -> u64 {
        0
    }
    fn may_call(&self, _contexts: u32, _name: &str) -> Result<(), Fault> {
        Ok(())
    }
}

/// A kernel that has the functions of the table, and no types, variables or options.
struct Bare<'a>(&'a CallTable<Quiet>);

impl Kernel for Bare<'_> {
    fn kfunc(&self, name: &str) -> Option<RangeInclusive<u8>> {
        self.0.kfunc(name).map(|row| row.arity.clone())
    }
    fn has_ksym(&self, _name: &str) -> bool {
        false
    }
    fn kconfig(&self, _name: &str) -> Option<u64> {
        None
    }
    fn kernel_version(&self) -> u32 {
        0
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(path), Some(function)) = (words.next(), words.next()) else {
        return Err("usage: call OBJECT FUNCTION [ARGUMENT …]".into());
    };
    let arguments = words.map(|word| word.parse::<u64>()).collect::<Result<Vec<_>, _>>()?;

    let table = CallTable::new(helpers::all(), kfuncs::generic());
    let object = Object::parse(&path, &std::fs::read(&path)?)?;
    let image = link(&object, &Arc::new(Btf::empty()), &Bare(&table))?;
    let mut host = Quiet::default();
    let mut runtime = Runtime::new(Arc::new(image), &table, &mut host)?;
    let function = runtime.image().function_named(&function)?;
    let ret = runtime.call(&mut host, function, &arguments)?;
    println!("r0 = {} after {} instructions", ret.r0, ret.instructions);
    Ok(())
}
