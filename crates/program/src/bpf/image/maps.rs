// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maps of the image: those that its programs use, and those that are in these.

use super::types::Types;
use super::{Btf, Caller, ImageError, ObjectId, Played, Program, Table};
use crate::bpf::attr::word;
use crate::bpf::objects::Map;
use rota_object::btf::{Kind, Type, TypeId, VOID};
use rota_object::image::{map_type, MapDef, MapId};
use std::collections::BTreeMap;

/// Bytes of a page of an arena.
const PAGE: u64 = 4096;
/// Where user space sees an arena that it has not mapped.
const UNMAPPED_ARENA: u64 = 1 << 44;

type Defined = (BTreeMap<ObjectId, MapId>, Vec<MapDef>);

impl Played {
    /// Maps that programs use, and those that are in these.
    pub(super) fn used_maps(&self, programs: &[(ObjectId, &Program)]) -> Vec<ObjectId> {
        let mut wanted: Vec<ObjectId> = Vec::new();
        let mut next: Vec<ObjectId> = programs.iter().flat_map(|(_, p)| p.used_maps()).collect();
        while let Some(id) = next.pop() {
            let Ok(map) = self.objects.map(id) else { continue };
            if wanted.contains(&id) {
                continue;
            }
            wanted.push(id);
            if map.holds_maps() {
                match &map.table {
                    Table::Objects { slots, .. } => next.extend(slots.values()),
                    Table::ObjectsByKey(entries) => {
                        next.extend(entries.iter().map(|(_, value)| ObjectId(word(value, 0))));
                    }
                    _ => {}
                }
            }
        }
        wanted.sort_unstable();
        wanted
    }

    pub(super) fn map_defs(
        &self,
        wanted: &[ObjectId],
        types: &Types,
        caller: &dyn Caller,
    ) -> Result<Defined, ImageError> {
        let (mut ids, mut defs) = (BTreeMap::new(), Vec::new());
        for id in wanted {
            let Ok(map) = self.objects.map(*id) else { continue };
            let mut def = definition(map, types);
            self.contents(*id, map, &mut def, caller)?;
            ids.insert(*id, MapId(defs.len() as u32));
            defs.push(def);
        }
        Ok((ids, defs))
    }

    /// Contents that a map has from the beginning: global data, which may be constants of the code,
    /// and an arena's last pages.
    fn contents(
        &self,
        id: ObjectId,
        map: &Map,
        def: &mut MapDef,
        caller: &dyn Caller,
    ) -> Result<(), ImageError> {
        match (map.kind, &map.table) {
            (map_type::ARRAY, Table::Pages) => {
                let stride = map.stride();
                let bytes = if map.max_entries == 1 {
                    u64::from(map.value_size)
                } else {
                    stride * u64::from(map.max_entries)
                };
                let mut initial = vec![0; bytes as usize];
                caller.read_pages(id, 0, &mut initial);
                def.initial = Some(initial.into());
            }
            (map_type::ARRAY, Table::Array { values, .. }) if map.max_entries == 1 => {
                def.initial = Some(values.clone().into());
            }
            (map_type::ARENA, _) => {
                let address = if map.extra == 0 { UNMAPPED_ARENA } else { map.extra };
                def.user_address = Some(address);
                let pages = arena_pages(id, caller);
                if pages.first() == Some(&0) {
                    return Err(ImageError::Map {
                        map: def.name.clone(),
                        what:
                            "holds data at the start of the arena, where pointers look like NULL; \
                               libbpf 1.7 and later has it at the end"
                                .into(),
                    });
                }
                let first = tail(&pages, map.max_entries);
                if first < map.max_entries {
                    let mut initial = vec![0; ((map.max_entries - first) as u64 * PAGE) as usize];
                    caller.read_pages(id, u64::from(first) * PAGE, &mut initial);
                    def.initial = Some(initial.into());
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Numbers of the pages that user space has written, ascending.
fn arena_pages(id: ObjectId, caller: &dyn Caller) -> Vec<u32> {
    let ranges = caller.data_in_pages(id);
    ranges
        .into_iter()
        .flat_map(|r| r.start / PAGE..r.end.div_ceil(PAGE))
        .map(|p| p as u32)
        .collect()
}

/// The first of the pages that are an arena's last ones without a gap; its size if there is none.
fn tail(pages: &[u32], max: u32) -> u32 {
    let mut first = max;
    for page in pages.iter().rev() {
        if page + 1 == first {
            first = *page;
        }
    }
    first
}

/// The definition without contents.
fn definition(map: &Map, types: &Types) -> MapDef {
    let btf = &types.btf;
    let shift = types.shift(map.btf);
    let shifted = |ty: TypeId| shift.filter(|_| ty != VOID).map(|shift| shift.of_type(ty));
    let value_type = shifted(map.value_type);
    let section = value_type.filter(|ty| btf.kind(*ty) == Kind::Datasec);
    MapDef {
        name: section.map_or_else(|| full_name(&map.name, btf), |ty| btf.name(ty).to_owned()),
        kind: map.kind,
        key_size: map.key_size,
        value_size: map.value_size,
        max_entries: map.max_entries,
        flags: map.flags,
        extra: map.extra,
        initial: None,
        read_only: map.is_constant(),
        key_type: shifted(map.key_type),
        value_type,
        inner: map.inner.as_ref().map(|inner| Box::new(definition(inner, types))),
        user_address: None,
        slots: Vec::new(),
        programs: Vec::new(),
    }
}

/// The kernel keeps 15 letters of a name; the object's types have the rest.
fn full_name(name: &str, btf: &Btf) -> String {
    let Some(Type::Datasec(maps)) = btf.find(Kind::Datasec, ".maps").map(|id| btf.get(id)) else {
        return name.to_owned();
    };
    let names = maps.vars().map(|var| btf.name(var.ty));
    let mut fitting = names.filter(|full| full.get(..15) == Some(name));
    match (fitting.next(), fitting.next()) {
        (Some(full), None) => full.to_owned(),
        _ => name.to_owned(),
    }
}
