// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maps: those that `.maps` defines by BTF, and one per section of global data.

use super::code::Code;
use super::object::Object;
use crate::btf::{Btf, Composite, Kind, Member, Type, TypeId};
use crate::image::{map_type, Initial, MapDef, MapId};
use std::collections::BTreeMap;

/// Where clang puts globals of the arena address space.
const ARENA_SECTION: &str = ".addr_space.1";
const MAPS_SECTION: &str = ".maps";

/// All maps of an object.
pub(super) struct Maps {
    pub(super) defs: Vec<MapDef>,
    /// Maps by offset in `.maps`.
    by_offset: BTreeMap<u64, MapId>,
    /// Index of `.maps`.
    section: Option<usize>,
    /// Data sections.
    data: BTreeMap<usize, MapId>,
    /// The `.kconfig` map and the offsets of its variables.
    kconfig: Option<(MapId, BTreeMap<String, u32>)>,
}

impl Maps {
    /// Defines all maps.
    pub(super) fn define(object: &Object, code: &Code) -> Result<Maps, String> {
        let section = object.section(MAPS_SECTION);
        let mut maps = Maps {
            defs: Vec::new(),
            by_offset: BTreeMap::new(),
            section,
            data: BTreeMap::new(),
            kconfig: None,
        };
        if let Some(section) = section {
            maps.define_from_btf(object, section)?;
            maps.fill_slots(object, code, section)?;
        }
        for (index, s) in object.sections.iter().enumerate() {
            if is_data(&s.name) && s.size > 0 {
                maps.add_data(object, index)?;
            }
        }
        Ok(maps)
    }

    /// Adds a map.
    pub(super) fn push(&mut self, def: MapDef) -> MapId {
        self.defs.push(def);
        MapId(self.defs.len() as u32 - 1)
    }

    /// The map that starts at an offset of a section, if that is `.maps`.
    pub(super) fn at(&self, section: usize, offset: u64) -> Option<MapId> {
        (self.section == Some(section)).then(|| self.by_offset.get(&offset).copied()).flatten()
    }

    /// The map that holds a data section.
    pub(super) fn data(&self, section: usize) -> Option<MapId> {
        self.data.get(&section).copied()
    }

    /// The `.kconfig` map, if there is one, and where its variables are.
    pub(super) fn kconfig(&self) -> Option<&(MapId, BTreeMap<String, u32>)> {
        self.kconfig.as_ref()
    }

    /// Adds the `.kconfig` map.
    pub(super) fn set_kconfig(&mut self, def: MapDef, offsets: BTreeMap<String, u32>) -> MapId {
        let id = self.push(def);
        self.kconfig = Some((id, offsets));
        id
    }

    /// True for the section that defines maps.
    pub(super) fn defines(&self, section: usize) -> bool {
        self.section == Some(section)
    }

    fn define_from_btf(&mut self, object: &Object, section: usize) -> Result<(), String> {
        let btf = &object.btf;
        let Some(sec) = btf.find(Kind::Datasec, MAPS_SECTION) else {
            return Err("section .maps has no BTF; compile with -g".into());
        };
        let Type::Datasec(sec) = btf.get(sec) else { return Ok(()) };
        for var in sec.vars() {
            let Type::Var(name, ty, _) = btf.get(var.ty) else { continue };
            let (Type::Struct(def), true) =
                (btf.resolved(ty), u64::from(var.offset) < object.sections[section].size.into())
            else {
                return Err(format!("map {name}: is {}, expected a struct", btf.type_name(ty)));
            };
            let def = definition(btf, name, def, true)?;
            let id = self.push(def);
            self.by_offset.insert(var.offset.into(), id);
        }
        Ok(())
    }

    /// Reads the relocations of `.maps`: initial inner maps and programs in `values`.
    fn fill_slots(&mut self, object: &Object, code: &Code, section: usize) -> Result<(), String> {
        for r in &object.sections[section].relocs {
            let offset = u64::from(r.offset);
            let owner = self.by_offset.range(..=offset).next_back();
            let Some((start, owner)) = owner.map(|(s, m)| (*s, m.0 as usize)) else {
                return Err(format!(".maps+{offset:#x}: relocation outside of any map"));
            };
            let name = self.defs[owner].name.clone();
            let values = values_offset(&object.btf, &name).unwrap_or(0);
            let symbol = object.symbol(r.symbol)?;
            let slot = (offset - start).checked_sub(values).filter(|s| s % 8 == 0);
            let (Some(slot), Some(target)) = (slot, symbol.section) else {
                return Err(format!("map {name}: '{}' is not an initial value", symbol.name));
            };
            let slot = (slot / 8) as u32;
            if self.defs[owner].max_entries <= slot && self.defs[owner].max_entries != 0 {
                return Err(format!("map {name}: initial slot {slot} is beyond max_entries"));
            }
            if let Some(inner) = self.at(target, symbol.value) {
                self.defs[owner].slots.push((slot, inner));
            } else if let Some(f) = code.function_in(target, symbol.value) {
                self.defs[owner].programs.push((slot, f));
            } else {
                return Err(format!(
                    "map {name}: slot {slot} holds '{}', expected a map or a function",
                    symbol.name
                ));
            }
        }
        Ok(())
    }

    fn add_data(&mut self, object: &Object, index: usize) -> Result<(), String> {
        let s = &object.sections[index];
        let initial = Initial::new(&s.data, s.size as usize);
        if s.name == ARENA_SECTION {
            let arena = self.defs.iter().position(|d| d.kind == map_type::ARENA);
            let Some(arena) = arena else {
                return Err(format!("section {ARENA_SECTION}: the object defines no arena map"));
            };
            let room = u64::from(self.defs[arena].max_entries) * 4096;
            if room < u64::from(s.size) {
                return Err(format!(
                    "map {}: {room} bytes are too few for arena globals of {} bytes",
                    self.defs[arena].name, s.size
                ));
            }
            self.defs[arena].initial = Some(initial);
            self.data.insert(index, MapId(arena as u32));
            return Ok(());
        }
        let id = self.push(MapDef {
            name: s.name.clone(),
            kind: map_type::ARRAY,
            key_size: 4,
            value_size: s.size,
            max_entries: 1,
            initial: Some(initial),
            read_only: s.name.starts_with(".rodata"),
            value_type: object.btf.find(Kind::Datasec, &s.name),
            ..MapDef::default()
        });
        self.data.insert(index, id);
        Ok(())
    }
}

/// Sections that become maps of global data.
fn is_data(name: &str) -> bool {
    let named = |base: &str| {
        name.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    named(".data") || named(".rodata") || named(".bss") || name == ARENA_SECTION
}

/// Offset of the `values` member of a map's definition.
fn values_offset(btf: &Btf, map: &str) -> Option<u64> {
    let Type::Var(_, ty, _) = btf.get(btf.find(Kind::Var, map)?) else { return None };
    btf.field_at(ty, "values").ok().map(|f| u64::from(f.offset()))
}

/// Reads a BTF map definition.
fn definition(btf: &Btf, name: &str, def: Composite<'_>, outer: bool) -> Result<MapDef, String> {
    let mut map = MapDef { name: name.to_string(), ..MapDef::default() };
    for m in def.members() {
        let number = || number(btf, m).ok_or_else(|| bad(btf, name, m, "an integer"));
        let number32 =
            || number().and_then(|n| u32::try_from(n).map_err(|_| bad(btf, name, m, "32 bits")));
        match m.name {
            "type" => map.kind = number32()?,
            "max_entries" => map.max_entries = number32()?,
            "map_flags" => map.flags = number32()?,
            "map_extra" => map.extra = number()?,
            "key_size" => map.key_size = number32()?,
            "value_size" => map.value_size = number32()?,
            // Placement and pinning have no meaning without a kernel.
            "numa_node" | "pinning" => {}
            "key" | "value" => {
                let Type::Ptr(ty) = btf.resolved(m.ty) else {
                    return Err(bad(btf, name, m, "a type"));
                };
                let size = btf.size_of(ty).ok_or_else(|| bad(btf, name, m, "a sized type"))?;
                if m.name == "key" {
                    (map.key_size, map.key_type) = (size, Some(ty));
                } else {
                    (map.value_size, map.value_type) = (size, Some(ty));
                }
            }
            "values" if outer => {
                map.value_size = 4;
                if let Some(inner) = inner_definition(btf, m.ty) {
                    let inner = definition(btf, &format!("{name}.inner"), inner, false)?;
                    map.inner = Some(Box::new(inner));
                } else if map.kind != map_type::PROG_ARRAY {
                    return Err(bad(btf, name, m, "an array of map definitions"));
                }
            }
            other => return Err(format!("map {name}: unknown attribute '{other}'")),
        }
    }
    if map.kind == 0 {
        return Err(format!("map {name}: has no type"));
    }
    if matches!(map.kind, map_type::RINGBUF | map_type::USER_RINGBUF) && map.max_entries != 0 {
        map.max_entries = ring_size(map.max_entries);
    }
    Ok(map)
}

fn bad(btf: &Btf, map: &str, m: Member<'_>, expected: &str) -> String {
    format!("map {map}: attribute {} is {}, expected {expected}", m.name, btf.type_name(m.ty))
}

/// `__uint` is a pointer to an array of that length, `__ulong` an enum of one value.
fn number(btf: &Btf, m: Member<'_>) -> Option<u64> {
    match btf.resolved(m.ty) {
        Type::Ptr(to) => match btf.resolved(to) {
            Type::Array(a) => Some(u64::from(a.len)),
            _ => None,
        },
        Type::Enum(e) if e.len() == 1 => e.value(0).map(|v| v.value),
        _ => None,
    }
}

/// `__array(values, struct …)`: a zero-sized array of pointers to a struct.
fn inner_definition(btf: &Btf, ty: TypeId) -> Option<Composite<'_>> {
    let Type::Array(a) = btf.resolved(ty) else { return None };
    let Type::Ptr(to) = btf.resolved(a.elem) else { return None };
    match btf.resolved(to) {
        Type::Struct(def) => Some(def),
        _ => None,
    }
}

/// Ring buffers are a power of two of pages.
fn ring_size(bytes: u32) -> u32 {
    bytes.max(4096).checked_next_power_of_two().unwrap_or(bytes)
}
