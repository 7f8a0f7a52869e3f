// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the kernel's BTF puts the few fields that helpers read themselves.

use rota_object::btf::{Btf, Composite, Type};

/// Offsets and sizes; `None` or 0 where the BTF has no such type or field.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) pid: Option<u32>,
    pub(crate) tgid: Option<u32>,
    /// Offset and length of `task_struct::comm`.
    pub(crate) comm: Option<(u32, u32)>,
    /// `cgroup::kn` and `kernfs_node::id`.
    pub(crate) cgroup_kn: Option<u32>,
    pub(crate) kn_id: Option<u32>,
    /// Bytes of `struct bpf_cpumask`.
    pub(crate) cpumask_object: u32,
}

/// Bytes of a cpumask if the BTF has none: 8,192 CPUs, as distributions configure.
const CPUMASK_BYTES: u32 = 1024;

impl Layout {
    pub(crate) fn of(btf: &Btf) -> Self {
        let task = Fields::of(btf, "task_struct");
        let mask = btf.find_struct("cpumask").and_then(|id| btf.size_of(id));
        let object = btf.find_struct("bpf_cpumask").and_then(|id| btf.size_of(id));
        let cpumask = mask.filter(|&size| size > 0).unwrap_or(CPUMASK_BYTES);
        Self {
            pid: task.offset("pid"),
            tgid: task.offset("tgid"),
            comm: task.place("comm"),
            cgroup_kn: Fields::of(btf, "cgroup").offset("kn"),
            kn_id: Fields::of(btf, "kernfs_node").offset("id"),
            // The kernel's holds a reference count behind the mask.
            cpumask_object: object.unwrap_or(0).max(cpumask.saturating_add(8)),
        }
    }
}

/// The members of one struct.
struct Fields<'a> {
    btf: &'a Btf,
    composite: Option<Composite<'a>>,
}

impl<'a> Fields<'a> {
    fn of(btf: &'a Btf, name: &str) -> Self {
        let composite = match btf.find_struct(name).map(|id| btf.get(id)) {
            Some(Type::Struct(composite)) => Some(composite),
            _ => None,
        };
        Self { btf, composite }
    }

    fn offset(&self, name: &str) -> Option<u32> {
        self.place(name).map(|(offset, _)| offset)
    }

    fn place(&self, name: &str) -> Option<(u32, u32)> {
        let member = self.composite?.members().find(|member| member.name == name)?;
        Some((member.bit_offset / 8, self.btf.size_of(member.ty)?))
    }
}
