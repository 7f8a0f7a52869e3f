// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels whose types lie about their functions.
//!
//! Some kernel functions get an argument that the caller does not pass, the calling
//! program's `aux`. A build step has to hide it: the function's public prototype loses it,
//! and a twin named `…_impl` keeps it. In kernels built without that step the prototype
//! still has it, and every program that calls the function is refused.

use rota_object::btf::{Btf, Kind, Type};

/// Functions whose prototype has an argument that nobody can pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenKfuncs {
    /// Their names, sorted.
    pub names: Vec<String>,
}

/// Finds sched_ext functions with a malformed prototype in a kernel's types.
pub fn kfuncs_are_broken(kernel: &Btf) -> Option<BrokenKfuncs> {
    let mut names = Vec::new();
    let mut twins = Vec::new();
    for id in kernel.ids().filter(|id| kernel.kind(*id) == Kind::Func) {
        let name = kernel.name(id);
        if !name.starts_with("scx_bpf_") {
            continue;
        }
        if let Some(public) = name.strip_suffix("_impl") {
            twins.push(public);
        }
        let Type::Func(_, proto, _) = kernel.get(id) else { continue };
        let Type::FuncProto(proto) = kernel.get(proto) else { continue };
        if proto.params().any(|p| p.name == "aux") {
            names.push(name);
        }
    }
    names.retain(|name| !name.ends_with("_impl") && !twins.contains(name));
    names.sort_unstable();
    names.dedup();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    (!names.is_empty()).then_some(BrokenKfuncs { names })
}
