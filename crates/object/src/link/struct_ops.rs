// SPDX-License-Identifier: MIT OR Apache-2.0
//! struct_ops variables: the tables of callbacks and settings.

use super::code::Code;
use super::object::{text_of, Object, Section};
use crate::btf::{essential_name, Btf, Composite, Kind, Type};
use crate::image::{FuncId, OpsField, StructOps};
use std::collections::BTreeMap;

const SECTIONS: [&str; 2] = [".struct_ops", ".struct_ops.link"];
/// Nesting of plain structs inside an ops struct.
const MAX_NESTING: u32 = 4;
/// Members of one ops struct, nested ones included.
const MAX_MEMBERS: u32 = 10_000;

/// Reads all struct_ops variables.
pub(super) fn collect(
    object: &Object,
    code: &Code,
    kernel: &Btf,
) -> Result<Vec<StructOps>, String> {
    let btf = &object.btf;
    let mut all = Vec::new();
    for name in SECTIONS {
        let Some(section) = object.section(name) else { continue };
        let section = &object.sections[section];
        let Some(Type::Datasec(sec)) = btf.find(Kind::Datasec, name).map(|id| btf.get(id)) else {
            return Err(format!("section {name} has no BTF; compile with -g"));
        };
        let functions = functions(object, code, section)?;
        for var in sec.vars() {
            let Type::Var(name, ty, _) = btf.get(var.ty) else { continue };
            let Type::Struct(table) = btf.resolved(ty) else {
                let ty = btf.type_name(ty);
                return Err(format!("struct_ops variable {name}: is {ty}, expected a struct"));
            };
            let mut reader = Reader {
                btf,
                data: &section.data,
                functions: &functions,
                fields: BTreeMap::new(),
                budget: MAX_MEMBERS,
            };
            reader
                .read(table, u64::from(var.offset), "", MAX_NESTING)
                .map_err(|e| format!("struct_ops variable {name}: {e}"))?;
            let mut ops = StructOps {
                name: name.to_string(),
                type_name: essential_name(table.name).to_string(),
                fields: reader.fields,
                tags: btf.decl_tags(var.ty, None).into_iter().map(String::from).collect(),
            };
            drop_optional(&mut ops, kernel);
            check_members(&ops, kernel)?;
            all.push(ops);
        }
    }
    Ok(all)
}

/// Function pointers in a section, by offset.
fn functions(
    object: &Object,
    code: &Code,
    section: &Section,
) -> Result<BTreeMap<u64, FuncId>, String> {
    let mut all = BTreeMap::new();
    for r in &section.relocs {
        let symbol = object.symbol(r.symbol)?;
        let at = u64::from(r.offset);
        let addend = section.data.get(at as usize..at as usize + 8).map_or(0, little_endian);
        let target = symbol.section.and_then(|s| {
            code.function_in(s, symbol.value.wrapping_add(addend))
                .or_else(|| code.function_in(s, symbol.value))
        });
        let Some(target) = target else {
            return Err(format!(
                "section {}+{at:#x}: '{}' is no function",
                section.name, symbol.name
            ));
        };
        all.insert(at, target);
    }
    Ok(all)
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Members that the object says it can do without (`optional:NAME, NAME`), and this kernel lacks.
fn drop_optional(ops: &mut StructOps, kernel: &Btf) {
    let Some(ty) = kernel.find_struct(&ops.type_name) else { return };
    let lists = ops.tags.iter().filter_map(|tag| tag.strip_prefix("optional:"));
    for name in lists.flat_map(|list| list.split(',')).map(str::trim) {
        if kernel.field_at(ty, name).is_err() {
            ops.fields.remove(name);
        }
    }
}

/// The kernel refuses members that it does not know, unless they are zero.
fn check_members(ops: &StructOps, kernel: &Btf) -> Result<(), String> {
    let Some(ty) = kernel.find_struct(&ops.type_name) else {
        // The reduced types have no others' tables. Programs in them are not hosted, but examined.
        if kernel.is_reduced() && !ops.type_name.starts_with("sched_ext_ops") {
            return Ok(());
        }
        return Err(format!(
            "struct_ops variable {}: the kernel's BTF has no struct {}",
            ops.name, ops.type_name
        ));
    };
    for field in ops.fields.keys() {
        if let Err(e) = kernel.field_at(ty, field) {
            return Err(format!("struct_ops variable {}: member {field}: {e}", ops.name));
        }
    }
    Ok(())
}

struct Reader<'a> {
    btf: &'a Btf,
    data: &'a [u8],
    functions: &'a BTreeMap<u64, FuncId>,
    fields: BTreeMap<String, OpsField>,
    budget: u32,
}

impl Reader<'_> {
    fn read(
        &mut self,
        table: Composite<'_>,
        at: u64,
        prefix: &str,
        depth: u32,
    ) -> Result<(), String> {
        for m in table.members() {
            let start = at + u64::from(m.bit_offset / 8);
            let path = match (prefix, m.name) {
                ("", name) => name.to_string(),
                (prefix, "") => prefix.to_string(),
                (prefix, name) => format!("{prefix}.{name}"),
            };
            self.budget = self.budget.checked_sub(1).ok_or("has too many members")?;
            let pointer = matches!(self.btf.resolved(m.ty), Type::Ptr(_));
            if let Some(f) = self.functions.get(&start).filter(|_| pointer) {
                self.fields.insert(path, OpsField::Func(*f));
                continue;
            }
            let size = self.btf.size_of(m.ty).unwrap_or(0);
            let end = start + u64::from(size);
            let Some(bytes) = self.data.get(start as usize..end as usize) else {
                return Err(format!("member {path} lies outside its section"));
            };
            if bytes.iter().all(|b| *b == 0) {
                let inner = start..end;
                if self.functions.range(inner).next().is_none() {
                    continue;
                }
            }
            let field = match self.btf.resolved(m.ty) {
                Type::Int(_) | Type::Enum(_) | Type::Ptr(_) if size <= 8 => {
                    let word = little_endian(bytes);
                    OpsField::Int(match m.bits {
                        0 => word,
                        bits => word >> (m.bit_offset % 8) & (u64::MAX >> (64 - bits.min(64))),
                    })
                }
                Type::Array(a) if self.btf.size_of(a.elem) == Some(1) => {
                    OpsField::Str(text_of(bytes))
                }
                Type::Struct(inner) | Type::Union(inner) if depth > 0 => {
                    self.read(inner, start, &path, depth - 1)?;
                    continue;
                }
                _ => {
                    let ty = self.btf.type_name(m.ty);
                    return Err(format!("member {path} of type {ty} cannot be initialised"));
                }
            };
            self.fields.insert(path, field);
        }
        Ok(())
    }
}
