// SPDX-License-Identifier: MIT OR Apache-2.0
//! All global variables and maps of a simulated policy, as its BTF describes them.

use crate::simulation::Loaded;
use rota_object::btf::TypeId;
use rota_object::image::{map_type, MapDef, MapId};
use rota_object::settings::{tree, Tree};
use std::sync::Arc;

/// Entries of one map that are read.
const MAX_ENTRIES: usize = 1024;

/// What a policy has in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// Global variables, in the object's order.
    pub globals: Vec<DumpedGlobal>,
    /// Maps, in the object's order, without the sections of global variables.
    pub maps: Vec<DumpedMap>,
}

/// A global variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpedGlobal {
    /// Its name.
    pub name: String,
    /// The section that it is in: `.bss`, `.data`, `.rodata` …
    pub section: String,
    /// What it holds.
    pub value: Tree,
}

/// A map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpedMap {
    /// Its name.
    pub name: String,
    /// `array`, `hash`, `task storage` …
    pub kind: &'static str,
    /// Entries that it can have; of an arena pages.
    pub max_entries: u32,
    /// Entries that there are; of arrays those that are not zero.
    pub entries: Vec<DumpedEntry>,
    /// How many more there are.
    pub more: usize,
}

/// An entry of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpedEntry {
    /// Its key; of storage the owner: a task as `name[pid]`, a cgroup by its path.
    pub key: Option<Tree>,
    /// Its value, of per-CPU maps one for each CPU.
    pub values: Vec<Tree>,
}

impl Loaded {
    /// Everything that the policy has in memory now.
    pub fn dump(&mut self) -> Dump {
        let image = Arc::clone(self.ops.runtime().image());
        let mut globals = Vec::new();
        for variable in &image.variables {
            let Some(section) = image.maps.get(variable.map.0 as usize) else { continue };
            let bytes = self.bytes_of(variable);
            globals.push(DumpedGlobal {
                name: variable.name.clone(),
                section: section.name.clone(),
                value: tree(&image.btf, variable.ty, &bytes),
            });
        }
        let maps = (0..).zip(&image.maps);
        let maps = maps.filter(|(_, def)| def.initial.is_none() || def.kind == map_type::ARENA);
        let maps = maps.filter_map(|(id, def)| self.dump_map(MapId(id), def)).collect();
        Dump { globals, maps }
    }

    fn dump_map(&mut self, id: MapId, def: &MapDef) -> Option<DumpedMap> {
        let kind = kind(def.kind)?;
        let (name, max_entries) = (def.name.clone(), def.max_entries);
        let system = &mut self.machine.system;
        let rt = self.ops.runtime();
        let mut entries = Vec::new();
        let mut more = 0;
        if matches!(def.kind, map_type::QUEUE | map_type::STACK) {
            let values = rt.queue_values(id);
            more = values.len().saturating_sub(MAX_ENTRIES);
            for value in values.into_iter().take(MAX_ENTRIES) {
                let values = vec![self.typed(def.value_type, &value)];
                entries.push(DumpedEntry { key: None, values });
            }
            return Some(DumpedMap { name, kind, max_entries, entries, more });
        }
        let is_array = matches!(def.kind, map_type::ARRAY | map_type::PERCPU_ARRAY);
        let is_storage = matches!(def.kind, map_type::TASK_STORAGE | map_type::CGRP_STORAGE);
        let mut found = Vec::new();
        for key in rt.map_keys(system, id) {
            let Some(value) = rt.map_get(system, id, &key) else { continue };
            if !is_array || value.iter().any(|byte| *byte != 0) {
                found.push((key, value));
            }
        }
        more += found.len().saturating_sub(MAX_ENTRIES);
        for (key, value) in found.into_iter().take(MAX_ENTRIES) {
            let key = match key.first_chunk() {
                Some(owner) if is_storage => {
                    Tree::Text(self.machine.system.owner_name(u64::from_le_bytes(*owner)))
                }
                _ if is_array => {
                    Tree::Number(key.iter().rev().fold(0, |n, b| n << 8 | i128::from(*b)))
                }
                _ => self.typed(def.key_type, &key),
            };
            let size = (def.value_size as usize).max(1);
            let values = value.chunks(size).map(|one| self.typed(def.value_type, one)).collect();
            entries.push(DumpedEntry { key: Some(key), values });
        }
        Some(DumpedMap { name, kind, max_entries, entries, more })
    }

    /// Bytes as their type says, or, without one, as a number or bytes.
    fn typed(&mut self, ty: Option<TypeId>, bytes: &[u8]) -> Tree {
        let image = Arc::clone(self.ops.runtime().image());
        match ty {
            Some(ty) => tree(&image.btf, ty, bytes),
            None if bytes.len() <= 8 => {
                Tree::Number(bytes.iter().rev().fold(0, |n, b| n << 8 | i128::from(*b)))
            }
            None => Tree::List(bytes.iter().map(|byte| Tree::Number((*byte).into())).collect()),
        }
    }
}

/// What a kind of map is called; `None`: it has nothing to show.
fn kind(kind: u32) -> Option<&'static str> {
    Some(match kind {
        map_type::HASH => "hash",
        map_type::ARRAY => "array",
        map_type::PERCPU_HASH => "per-CPU hash",
        map_type::PERCPU_ARRAY => "per-CPU array",
        map_type::LRU_HASH => "LRU hash",
        map_type::QUEUE => "queue",
        map_type::STACK => "stack",
        map_type::TASK_STORAGE => "task storage",
        map_type::CGRP_STORAGE => "cgroup storage",
        map_type::ARENA => "arena",
        _ => return None,
    })
}
