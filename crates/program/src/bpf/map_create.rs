// SPDX-License-Identifier: MIT OR Apache-2.0
//! `BPF_MAP_CREATE`: `map_create()` and what each type's `map_alloc_check()` says.

use super::attr::Attr;
use super::objects::{Map, Object};
use super::played::{Ctx, Played};
use super::table::{Entries, Queue, Table};
use super::uapi::map_flag;
use super::Reply;
use crate::Errno;
use rota_object::btf::{Type, TypeId};
use rota_object::image::map_type;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: u64 = 4096;
/// The most that a map may hold here, in bytes; the kernel asks its memory controller.
const MOST: u64 = 1 << 30;
/// `KMALLOC_MAX_SIZE`, the bound of keys and of values of hash maps.
const LARGEST_ENTRY: u32 = 4 << 20;

impl Map {
    pub(super) fn is_per_cpu(&self) -> bool {
        matches!(
            self.kind,
            map_type::PERCPU_ARRAY | map_type::PERCPU_HASH | map_type::LRU_PERCPU_HASH
        )
    }

    pub(super) fn holds_maps(&self) -> bool {
        matches!(self.kind, map_type::ARRAY_OF_MAPS | map_type::HASH_OF_MAPS)
    }

    /// `bpf_map_value_size()`: bytes of a value as commands have it.
    pub(super) fn command_size(&self, cpus: u32) -> usize {
        match self.kind {
            _ if self.is_per_cpu() => {
                (self.value_size as usize).next_multiple_of(8) * cpus as usize
            }
            map_type::ARRAY_OF_MAPS | map_type::HASH_OF_MAPS | map_type::PROG_ARRAY => 4,
            _ => self.value_size as usize,
        }
    }

    /// Bytes from a value of an array to the next.
    pub(super) fn stride(&self) -> u64 {
        u64::from(self.value_size).next_multiple_of(8)
    }

    /// Whether its bytes are those of a file that the program maps.
    pub(super) fn is_mapped(&self) -> bool {
        matches!(self.table, Table::Pages)
    }

    /// `bpf_map_is_rdonly()`: neither side writes it any more.
    pub(super) fn is_constant(&self) -> bool {
        self.flags & map_flag::RDONLY_PROG != 0 && self.frozen
    }

    /// Bytes of the file that the program maps, 0 if it cannot map it. Ring buffers have two pages
    /// with positions, then their data twice (`ringbuf_map_mmap_kern()`).
    pub(super) fn mapped_bytes(&self) -> u64 {
        let entries = u64::from(self.max_entries);
        match self.kind {
            map_type::ARRAY if self.is_mapped() => (self.stride() * entries).next_multiple_of(PAGE),
            map_type::ARENA => entries * PAGE,
            map_type::RINGBUF | map_type::USER_RINGBUF => 2 * PAGE + 2 * entries,
            _ => 0,
        }
    }

    /// The same map without contents: what another map has as its inner map's prototype.
    fn like(&self) -> Map {
        Map { name: self.name.clone(), table: Table::None, inner: None, frozen: false, ..*self }
    }
}

impl Played {
    pub(super) fn map_create(&mut self, attr: &Attr, c: &mut Ctx<'_, '_>) -> Result<Reply, Errno> {
        attr.ends_at(92)?;
        let mut flags = attr.u32(16);
        if flags & map_flag::TOKEN_FD != 0 {
            // there are no tokens: bpf_token_get_from_fd()
            return Err(c.caller.object_of(attr.fd(76)).err().unwrap_or(Errno::EINVAL));
        }
        if flags & !map_flag::ALL != 0 || flags & (map_flag::RDONLY | map_flag::WRONLY) == 0x18 {
            return Err(Errno::EINVAL);
        }
        // maps of another module's types: there are no modules
        if flags & map_flag::VTYPE_BTF_OBJ_FD != 0 {
            c.caller.object_of(attr.fd(72))?;
            flags &= !map_flag::VTYPE_BTF_OBJ_FD;
        }
        let (kernel_type, key_type, value_type) = (attr.u32(60), attr.u32(52), attr.u32(56));
        if kernel_type != 0 && (attr.u32(0) != map_type::STRUCT_OPS || key_type | value_type != 0) {
            return Err(Errno::EINVAL);
        }
        if key_type != 0 && value_type == 0 {
            return Err(Errno::EINVAL);
        }
        let mut map = Map {
            name: attr.name(28)?,
            kind: attr.u32(0),
            key_size: attr.u32(4),
            value_size: attr.u32(8),
            max_entries: attr.u32(12),
            flags,
            extra: attr.u64(64),
            btf: None,
            key_type: TypeId(key_type),
            value_type: TypeId(value_type),
            kernel_type: TypeId(kernel_type),
            inner: None,
            frozen: false,
            table: Table::None,
        };
        let takes_extra = matches!(map.kind, map_type::BLOOM_FILTER | map_type::ARENA);
        if map.extra != 0 && !takes_extra {
            return Err(Errno::EINVAL);
        }
        if map.holds_maps() {
            let inner = c.caller.object_of(attr.fd(20))?;
            let inner = self.objects.map(inner)?;
            if inner.holds_maps() || inner.kind == map_type::STRUCT_OPS {
                return Err(Errno::ENOTSUPP);
            }
            map.inner = Some(Box::new(inner.like()));
        }
        map.table = self.table_of(&map)?;
        if key_type != 0 || value_type != 0 || kernel_type != 0 {
            // a table's types are the kernel's, its descriptor may still be there
            let types = (kernel_type == 0 || attr.u32(48) != 0)
                .then(|| c.caller.object_of(attr.fd(48)))
                .transpose()?;
            if let Some(types) = types {
                let btf = &self.objects.types(types)?.btf;
                for (id, size) in [(key_type, map.key_size), (value_type, map.value_size)] {
                    let known = btf.size_of(TypeId(id)).filter(|known| *known == size);
                    if id != 0 && known.is_none() {
                        return Err(Errno::EINVAL);
                    }
                }
            }
            map.btf = types;
        }
        Ok(self.add_map(map))
    }

    fn add_map(&mut self, map: Map) -> Reply {
        let id = self.objects.add(Object::Map(map));
        self.descriptor(id)
    }

    /// An empty table, or what is wrong with the definition.
    fn table_of(&self, map: &Map) -> Result<Table, Errno> {
        let (key, value, max) = (map.key_size, map.value_size, map.max_entries);
        let bytes = map.command_size(self.cpus) as u64 * u64::from(max);
        let sound = |sound: bool| if sound { Ok(()) } else { Err(Errno::EINVAL) };
        let fits = |bytes: u64| if bytes <= MOST { Ok(()) } else { Err(Errno::E2BIG) };
        let mapped = map.flags & map_flag::MMAPABLE != 0;
        if mapped && !matches!(map.kind, map_type::ARRAY | map_type::ARENA) {
            return Err(Errno::EINVAL);
        }
        Ok(match map.kind {
            map_type::ARRAY | map_type::PERCPU_ARRAY => {
                sound(key == 4 && value > 0 && max > 0)?;
                fits(bytes)?;
                if mapped {
                    Table::Pages
                } else {
                    let size = map.command_size(self.cpus);
                    Table::Array { values: vec![0; bytes as usize], size }
                }
            }
            map_type::HASH
            | map_type::PERCPU_HASH
            | map_type::LRU_HASH
            | map_type::LRU_PERCPU_HASH => {
                sound(key > 0 && value > 0 && max > 0)?;
                if key > LARGEST_ENTRY || value > LARGEST_ENTRY {
                    return Err(Errno::E2BIG);
                }
                let lru = matches!(map.kind, map_type::LRU_HASH | map_type::LRU_PERCPU_HASH);
                Table::Hash(Entries::new(max, lru))
            }
            map_type::LPM_TRIE => {
                sound((5..=260).contains(&key) && value > 0 && max > 0)?;
                sound(map.flags & map_flag::NO_PREALLOC != 0)?;
                Table::Trie(Entries::new(max, false))
            }
            map_type::PROG_ARRAY | map_type::ARRAY_OF_MAPS => {
                sound(key == 4 && value == 4 && max > 0)?;
                Table::Objects { slots: BTreeMap::new(), max }
            }
            map_type::HASH_OF_MAPS => {
                sound(key > 0 && value == 4 && max > 0)?;
                Table::ObjectsByKey(Entries::new(max, false))
            }
            map_type::QUEUE | map_type::STACK => {
                sound(key == 0 && value > 0 && max > 0)?;
                if value > LARGEST_ENTRY {
                    return Err(Errno::E2BIG);
                }
                Table::Queue(Queue::new(max, map.kind == map_type::STACK))
            }
            map_type::BLOOM_FILTER => {
                sound(key == 0 && value > 0 && value <= LARGEST_ENTRY && max > 0)?;
                Table::Bloom(BTreeSet::new())
            }
            map_type::RINGBUF | map_type::USER_RINGBUF => {
                sound(key == 0 && value == 0 && max.is_power_of_two())?;
                sound(u64::from(max) % PAGE == 0)?;
                Table::None
            }
            map_type::ARENA => {
                sound(key == 0 && value == 0 && max > 0 && mapped)?;
                sound(map.extra % PAGE == 0)?;
                // 4 GiB, as pointers in it have 32 bits
                fits_arena(max)?;
                Table::None
            }
            map_type::TASK_STORAGE | map_type::CGRP_STORAGE => {
                sound(key == 4 && value > 0 && max == 0)?;
                sound(map.flags & map_flag::NO_PREALLOC != 0)?;
                Table::None
            }
            map_type::PERF_EVENT_ARRAY | map_type::CGROUP_ARRAY => {
                sound(key == 4 && value == 4 && max > 0)?;
                Table::None
            }
            map_type::STACK_TRACE => {
                sound(key == 4 && value >= 8 && value % 8 == 0 && max > 0)?;
                Table::None
            }
            map_type::STRUCT_OPS => {
                sound(key == 4 && max == 1 && map.kernel_type.0 != 0)?;
                let Type::Struct(wrapper) = self.btf.get(map.kernel_type) else {
                    return Err(Errno::EINVAL);
                };
                if self.table_type(map.kernel_type).is_none() {
                    return Err(Errno::ENOTSUPP);
                }
                sound(wrapper.size == value)?;
                Table::StructOps(None)
            }
            // bpf_map_types[] has no such type, or nothing here could use it
            _ => return Err(Errno::EINVAL),
        })
    }
}

fn fits_arena(pages: u32) -> Result<(), Errno> {
    match u64::from(pages) * PAGE <= 1 << 32 {
        true => Ok(()),
        false => Err(Errno::E2BIG),
    }
}
