// SPDX-License-Identifier: MIT OR Apache-2.0
//! Named global variables, and those that mirror the kernel's enumerators.

use super::externs::KCONFIG;
use super::maps::Maps;
use super::object::Object;
use crate::btf::{Btf, Type};
use crate::image::{Initial, MapDef, Variable};

/// All variables of data sections, in the order of sections and then offsets.
pub(super) fn variables(object: &Object, maps: &Maps) -> Vec<Variable> {
    let btf = &object.btf;
    let mut all = Vec::new();
    for id in btf.ids() {
        let Type::Datasec(sec) = btf.get(id) else { continue };
        let data = object.section(sec.name).and_then(|s| maps.data(s));
        let config = maps.kconfig().filter(|_| sec.name == KCONFIG);
        let Some(map) = data.or(config.map(|c| c.0)) else { continue };
        let room = maps.defs[map.0 as usize].initial.as_ref().map_or(0, Initial::len);
        for var in sec.vars() {
            let Type::Var(name, ty, _) = btf.get(var.ty) else { continue };
            let Some(size) = btf.size_of(ty) else { continue };
            let offset = match data {
                Some(_) => Some(var.offset),
                None => config.and_then(|c| c.1.get(name).copied()),
            };
            let Some(offset) = offset else { continue };
            if u64::from(offset) + u64::from(size) > room as u64 {
                continue;
            }
            let tags = btf.decl_tags(var.ty, None).into_iter().map(String::from).collect();
            all.push(Variable { name: name.to_string(), map, offset, size, ty, tags });
        }
    }
    all.sort_by_key(|v| (v.map, v.offset));
    all
}

/// Gives read-only variables named `__` + an enumerator of the kernel its value:
/// how schedulers read enumerators that differ between kernels.
pub(super) fn fill_enum_mirrors(kernel: &Btf, variables: &[Variable], maps: &mut [MapDef]) {
    for v in variables {
        let Some(name) = v.name.strip_prefix("__") else { continue };
        let def = &mut maps[v.map.0 as usize];
        if !def.read_only || !matches!(v.size, 1 | 2 | 4 | 8) {
            continue;
        }
        if let (Some(value), Some(initial)) = (kernel.enum_value(name), &mut def.initial) {
            initial.set(v.offset as usize, &value.to_le_bytes()[..v.size as usize]);
        }
    }
}
