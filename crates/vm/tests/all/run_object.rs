// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles a fixture and starts it on the test host.

use crate::fixture::compile;
use crate::run_support::{table, Hosted, TestHost};
use rota_object::btf::Btf;
use rota_object::image::FuncId;
use rota_object::link::{link, Kernel, Object};
use rota_vm::runtime::Runtime;
use rota_vm::table::CallTable;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A kernel that has the generic kernel functions and nothing else.
struct Generic(CallTable<TestHost>);

impl Kernel for Generic {
    fn kfunc(&self, name: &str) -> Option<RangeInclusive<u8>> {
        self.0.kfunc(name).map(|row| row.arity.clone())
    }
    fn has_ksym(&self, _: &str) -> bool {
        false
    }
    fn kconfig(&self, _: &str) -> Option<u64> {
        None
    }
    fn kernel_version(&self) -> u32 {
        7 << 16 | 2 << 8
    }
}

/// Compiles `fixtures/<source>` for the ISA version `cpu` and starts it.
pub(crate) fn start(source: &str, cpu: &str) -> Hosted {
    let object = Object::parse(source, &compile(source, &[&format!("-mcpu={cpu}")]))
        .expect("object is well-formed");
    let kernel = Generic(table(Vec::new()));
    let image = link(&object, &Arc::new(Btf::empty()), &kernel).expect("object links");
    let mut host = TestHost::new();
    let runtime = Runtime::new(Arc::new(image), &kernel.0, &mut host).expect("maps exist");
    Hosted { host, runtime }
}

impl Hosted {
    /// r0 of a function by name.
    pub(crate) fn run(&mut self, name: &str, args: &[u64]) -> u64 {
        self.try_run(name, args).unwrap_or_else(|fault| panic!("{fault}"))
    }

    /// As `run`, for calls that may fault.
    pub(crate) fn try_run(
        &mut self,
        name: &str,
        args: &[u64],
    ) -> Result<u64, rota_vm::error::Fault> {
        let functions = &self.runtime.image().functions;
        let at = functions.iter().position(|function| function.name == name);
        let at = at.unwrap_or_else(|| panic!("no function {name}"));
        self.call(FuncId(at as u32).0, args).map(|ret| ret.r0)
    }
}
