// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel functions of the simulated kernel: one row each, grouped as the kernel's
//! BTF sets are.

mod absent;
pub(crate) mod cgroup;
pub(crate) mod cid;
mod cpu;
mod dispatch;
mod exit;
mod idle;
pub mod iter;
pub(crate) mod renamed;
mod task;

pub(crate) use crate::contexts::allow;

use crate::system::System;
use rota_vm::error::Fault;
use rota_vm::table::{CallFn, CallTable, Kfunc};
use std::sync::{Arc, OnceLock};

/// A row. `cost` is in BPF instructions: a model of the work relative to interpreted code,
/// 1 for a plain read, 15 for a queue insertion, 25 for a move between queues, plus what
/// searches take.
const fn row(
    name: &'static str,
    args: u8,
    contexts: u32,
    cost: u32,
    run: CallFn<System>,
) -> Kfunc<System> {
    // kernels differ about the implicit bpf_prog_aux argument: one more is accepted
    Kfunc { name, arity: args..=args + 1, contexts, cost, run, absent: None, simple: None }
}

fn rows() -> Vec<Kfunc<System>> {
    let groups = [
        dispatch::rows(),
        iter::rows(),
        idle::rows(),
        cpu::rows(),
        task::rows(),
        cgroup::rows(),
        exit::rows(),
        cid::rows(),
    ];
    let mut all: Vec<_> = groups.into_iter().flatten().collect();
    all.iter_mut().for_each(|row| row.absent = absent::answer(row.name));
    all.extend(renamed::rows(&all));
    all
}

/// The table, built once.
pub fn table() -> Arc<CallTable<System>> {
    static TABLE: OnceLock<Arc<CallTable<System>>> = OnceLock::new();
    Arc::clone(TABLE.get_or_init(|| {
        let mut kfuncs = rota_vm::kfuncs::generic();
        kfuncs.extend(rows());
        Arc::new(CallTable::new(rota_vm::helpers::all(), kfuncs))
    }))
}

impl System {
    /// The task behind a `struct task_struct *` argument.
    pub(crate) fn task_arg(&self, addr: u64, name: &str) -> Result<crate::task::Tid, Fault> {
        self.tasks
            .at(addr)
            .ok_or_else(|| Fault::denied(format!("{name}(): {addr:#x} is not a live task_struct")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_object::btf::{reference, Kind, Type};

    /// Arguments of a kernel function as the bundled kernel's BTF has them.
    fn declared(name: &str) -> Option<usize> {
        let btf = reference();
        let Type::Func(_, proto, _) = btf.get(btf.find(Kind::Func, name)?) else { return None };
        let Type::FuncProto(proto) = btf.get(proto) else { return None };
        Some(proto.params().count())
    }

    #[test]
    fn rows_take_as_many_arguments_as_the_kernel_says() {
        let (table, mut compared) = (table(), 0);
        for name in table.kfunc_names() {
            let Some(arguments) = declared(name) else { continue };
            let row = table.kfunc(name).expect("it was listed");
            assert!(
                row.arity.contains(&(arguments as u8)),
                "{name} takes {arguments} arguments, its row says {:?}",
                row.arity
            );
            compared += 1;
        }
        assert!(compared > 100, "only {compared} functions are in the bundled BTF");
    }
}
