// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which function of a policy is which callback: from the relocations of its
//! `struct sched_ext_ops` and that type in its own BTF.

use crate::elf::{self, Elf};
use object::build::elf::SectionId;
use object::elf::STT_OBJECT;
use rota_object::btf::{Btf, Type};

/// The callbacks that the bench calls, in the order of the bits in `bench_has_op`.
pub(crate) const HOOKS: [&str; 11] = [
    "init",
    "init_task",
    "enable",
    "set_weight",
    "set_cpumask",
    "select_cpu",
    "runnable",
    "enqueue",
    "dispatch",
    "running",
    "stopping",
];

/// A policy's callbacks and flags.
#[derive(Clone, Debug, Default)]
pub(crate) struct Callbacks {
    /// Callback and function, by name.
    pub(crate) functions: Vec<(String, String)>,
    /// `ops.flags`.
    pub(crate) flags: u64,
}

impl Callbacks {
    /// The function that is the given callback.
    pub(crate) fn function(&self, callback: &str) -> Option<&str> {
        self.functions.iter().find(|(op, _)| op == callback).map(|(_, function)| function.as_str())
    }

    /// Reads the first variable of a struct_ops section. An object without one has no
    /// callbacks, as a policy with an empty ops has none.
    pub(crate) fn read(elf: &Elf<'_>, btf: &Btf) -> Result<Self, String> {
        let Some(section) = struct_ops_section(elf) else { return Ok(Self::default()) };
        let Some(ty) = btf.find_struct("sched_ext_ops") else {
            return Err("its BTF has no struct sched_ext_ops".into());
        };
        let variable = elf
            .symbols
            .iter()
            .filter(|s| s.section == Some(section) && s.st_type() == STT_OBJECT)
            .min_by_key(|s| s.st_value)
            .ok_or("its struct_ops section has no variable")?;
        let range = variable.st_value..variable.st_value + variable.st_size;
        let mut found = Self::default();
        if let Some(field) = btf.member_at("sched_ext_ops", "flags") {
            let at = range.start as usize + field.offset() as usize;
            let data = elf::data(elf, section);
            found.flags = data.get(at..at + 8).map_or(0, elf::u64_at);
        }
        for relocation in elf::relocations_of(elf, section) {
            if !range.contains(&relocation.r_offset) {
                continue;
            }
            let bits = (relocation.r_offset - range.start) * 8;
            let (Type::Struct(ops), Some(symbol)) = (btf.resolved(ty), relocation.symbol) else {
                continue;
            };
            let member = ops.members().find(|m| u64::from(m.bit_offset) == bits);
            let name = member.ok_or("a callback is at no member of sched_ext_ops")?.name;
            found.functions.push((name.to_string(), elf::name(elf.symbols.get(symbol))));
        }
        Ok(found)
    }
}

/// The section of the ops variable.
pub(crate) fn struct_ops_section(elf: &Elf<'_>) -> Option<SectionId> {
    let is_ops = |name: &[u8]| name == b".struct_ops.link" || name == b".struct_ops";
    elf.sections.iter().find(|s| is_ops(s.name.as_slice())).map(|s| s.id())
}
