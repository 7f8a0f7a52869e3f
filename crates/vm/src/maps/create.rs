// SPDX-License-Identifier: MIT OR Apache-2.0
//! A map from its definition.

use super::{trie, Array, Body, Hash, Map, Queue, Ring, Special, Storage, Trie, UserRing};
use crate::memory::{Memory, Perm, PAGE_SIZE};
use rota_object::btf::Btf;
use rota_object::image::{map_type, MapDef};
use std::collections::BTreeSet;

/// No map of an object may need more memory than this at once.
const MAX_BYTES: u64 = 1 << 30;

/// Keys and values are no larger than this in the kernel either (keys) or in any use
/// (values of maps that grow by entry).
const MAX_KEY: u32 = 512;
const MAX_ENTRY: u64 = 32 << 20;

/// A new map.
pub(crate) struct Created {
    pub(crate) map: Map,
    /// Where its values (or an arena's globals) start, 0 if they have no fixed place.
    pub(crate) base: u64,
}

/// Creates a map in guest memory. `Err` says what is wrong with the definition.
pub(crate) fn create(
    def: &MapDef,
    btf: &Btf,
    memory: &mut Memory,
    cpus: u32,
) -> Result<Created, String> {
    let cpus = cpus.max(1);
    let mut base = 0;
    let body = match def.kind {
        map_type::ARRAY => {
            let array = array(def, memory, 1)?;
            base = array.at(0, 0).unwrap_or(0);
            Body::Array(array)
        }
        map_type::PERCPU_ARRAY => Body::Array(array(def, memory, cpus)?),
        map_type::HASH => Body::Hash(hash(def, 1, false)?),
        map_type::LRU_HASH => Body::Hash(hash(def, 1, true)?),
        map_type::PERCPU_HASH => Body::Hash(hash(def, cpus, false)?),
        map_type::LRU_PERCPU_HASH => Body::Hash(hash(def, cpus, true)?),
        map_type::QUEUE | map_type::STACK => {
            entry_fits(def, 1)?;
            Body::Queue(Queue::new(def.max_entries, def.kind == map_type::STACK))
        }
        map_type::TASK_STORAGE | map_type::CGRP_STORAGE => {
            entry_fits(def, 1)?;
            Body::Storage(Storage::new(&def.name, stride(def)))
        }
        map_type::RINGBUF | map_type::USER_RINGBUF => {
            let size = def.max_entries;
            if !size.is_power_of_two() || size % PAGE_SIZE != 0 || u64::from(size) > MAX_BYTES / 2 {
                return Err(format!("ring size {size} is not a power of two of whole pages"));
            }
            if def.kind == map_type::RINGBUF {
                Body::Ring(Ring::new(memory, &def.name, size))
            } else {
                Body::UserRing(UserRing::new(memory, &def.name, size))
            }
        }
        map_type::ARENA => {
            base = arena(def, memory)?;
            Body::Arena
        }
        map_type::PROG_ARRAY => {
            let mut programs = vec![None; slots(def)?];
            for (index, func) in &def.programs {
                *initial_slot(&mut programs, *index)? = Some(*func);
            }
            Body::Programs(programs)
        }
        map_type::ARRAY_OF_MAPS => {
            let mut inner = vec![None; slots(def)?];
            for (index, id) in &def.slots {
                *initial_slot(&mut inner, *index)? = Some(id.0);
            }
            Body::Maps(inner)
        }
        map_type::HASH_OF_MAPS => Body::MapsByKey(hash(def, 1, false)?),
        map_type::STRUCT_OPS => Body::StructOps,
        map_type::LPM_TRIE => Body::Trie(prefixes(def)?),
        map_type::BLOOM_FILTER => {
            entry_fits(def, 1)?;
            Body::Bloom(BTreeSet::new())
        }
        map_type::PERF_EVENT_ARRAY | map_type::STACK_TRACE | map_type::CGROUP_ARRAY => {
            Body::Outside
        }
        other => return Err(unsupported(other)),
    };
    let special = Special::of(btf, def.value_type);
    let (key_size, value_size) = (def.key_size, def.value_size);
    Ok(Created { map: Map { name: def.name.clone(), key_size, value_size, special, body }, base })
}

/// Map types that no part of the machine would use.
const OF_OTHERS: [(u32, &str, &str); 14] = [
    (14, "DEVMAP", "network packets"),
    (15, "SOCKMAP", "sockets"),
    (16, "CPUMAP", "network packets"),
    (17, "XSKMAP", "network packets"),
    (18, "SOCKHASH", "sockets"),
    (19, "CGROUP_STORAGE_DEPRECATED", "cgroup socket programs"),
    (20, "REUSEPORT_SOCKARRAY", "sockets"),
    (21, "PERCPU_CGROUP_STORAGE_DEPRECATED", "cgroup socket programs"),
    (24, "SK_STORAGE", "data of sockets"),
    (25, "DEVMAP_HASH", "network packets"),
    (28, "INODE_STORAGE", "data of files"),
    (34, "INSN_ARRAY", "jump tables of clang 22 and later, off with -mllvm -disable-gotox"),
    (35, "RHASH", "resizable hash maps"),
    (0, "UNSPEC", "nothing"),
];

fn unsupported(kind: u32) -> String {
    match OF_OTHERS.iter().find(|(number, ..)| *number == kind) {
        Some((_, name, purpose)) => {
            format!("BPF_MAP_TYPE_{name} is not supported: it is for {purpose}")
        }
        None => format!("map type {kind} is unknown"),
    }
}

/// `trie_alloc()`: keys are a length and up to 256 bytes, and entries are not preallocated.
fn prefixes(def: &MapDef) -> Result<Trie, String> {
    const NO_PREALLOC: u32 = 1;
    let data = (def.key_size as usize).checked_sub(trie::LENGTH).filter(|d| (1..=256).contains(d));
    if data.is_none() || def.flags & NO_PREALLOC == 0 {
        return Err(format!(
            "a trie with keys of {} bytes and flags {:#x} is not possible: 5 to 260 bytes and \
             BPF_F_NO_PREALLOC are",
            def.key_size, def.flags
        ));
    }
    Ok(Trie::new(hash(def, 1, false)?))
}

fn stride(def: &MapDef) -> u32 {
    def.value_size.max(1).div_ceil(8).saturating_mul(8)
}

fn array(def: &MapDef, memory: &mut Memory, cpus: u32) -> Result<Array, String> {
    // A single value, global data above all, ends where its type ends.
    let single = def.max_entries == 1 && cpus == 1;
    let stride = if single { def.value_size.max(1) } else { stride(def) };
    let bytes = u64::from(stride) * u64::from(def.max_entries) * u64::from(cpus);
    if def.max_entries == 0 {
        return Err("has 0 entries: its size must be set before loading".to_owned());
    }
    if bytes > MAX_BYTES || def.key_size != 4 {
        let (entries, size, key) = (def.max_entries, def.value_size, def.key_size);
        return Err(format!(
            "array of {entries} values of {size} bytes, key of {key}, is not possible"
        ));
    }
    let base = memory.alloc(&def.name, bytes as u32, Perm::ReadWrite);
    if let Some(initial) = &def.initial {
        let filled = initial.filled();
        let filled = &filled[..filled.len().min(bytes as usize)];
        if let Ok(data) = memory.bytes_mut(base, filled.len() as u32) {
            data.copy_from_slice(filled);
        }
    }
    if def.read_only {
        memory.set_perm(base, Perm::ReadOnly);
    }
    memory.keep(base);
    Ok(Array::new(base, def.max_entries, stride, cpus))
}

fn hash(def: &MapDef, cpus: u32, lru: bool) -> Result<Hash, String> {
    entry_fits(def, cpus)?;
    if def.key_size == 0 || def.max_entries == 0 {
        let (key, entries) = (def.key_size, def.max_entries);
        return Err(format!(
            "hash with a key of {key} bytes and {entries} entries is not possible"
        ));
    }
    Ok(Hash::new(&def.name, def.key_size, stride(def), def.max_entries, cpus, lru))
}

fn entry_fits(def: &MapDef, cpus: u32) -> Result<(), String> {
    let bytes = u64::from(stride(def)) * u64::from(cpus);
    if def.key_size > MAX_KEY || bytes > MAX_ENTRY {
        let (key, value) = (def.key_size, def.value_size);
        return Err(format!("key of {key} or value of {value} bytes is too large"));
    }
    Ok(())
}

fn slots(def: &MapDef) -> Result<usize, String> {
    match def.max_entries {
        1..=0x10_0000 => Ok(def.max_entries as usize),
        other => Err(format!("{other} entries are not possible")),
    }
}

fn initial_slot<T>(slots: &mut [T], index: u32) -> Result<&mut T, String> {
    slots.get_mut(index as usize).ok_or(format!("initial slot {index} is beyond its end"))
}

/// An arena with its globals on its last pages, as libbpf loads them
/// (`bpf_object__create_maps()`: `arena_data_off`).
fn arena(def: &MapDef, memory: &mut Memory) -> Result<u64, String> {
    if let Some(address) = def.user_address {
        return arena_of_user(def, address, memory);
    }
    let base = memory.alloc_arena(&def.name, def.max_entries);
    Ok(globals(def, base, memory)?.unwrap_or(base + u64::from(PAGE_SIZE)))
}

/// Puts an arena's globals on its last pages; returns where they start, if there are any.
fn globals(def: &MapDef, base: u64, memory: &mut Memory) -> Result<Option<u64>, String> {
    let Some(initial) = def.initial.as_ref().filter(|initial| !initial.is_empty()) else {
        return Ok(None);
    };
    let pages = (initial.len() as u32).div_ceil(PAGE_SIZE);
    let too_many = || format!("{} bytes of globals do not fit", initial.len());
    let start = memory.arena_tail(base, pages).ok_or_else(too_many)?;
    let filled = initial.filled();
    let data = memory.bytes_mut(start, filled.len() as u32).map_err(|fault| fault.to_string())?;
    data.copy_from_slice(filled);
    Ok(Some(start))
}

/// An arena where user space has mapped it, so that pointers mean the same on both sides. Its
/// `initial` contents are its last pages.
fn arena_of_user(def: &MapDef, address: u64, memory: &mut Memory) -> Result<u64, String> {
    let region = u32::try_from(address >> 32).ok().filter(|_| address as u32 == 0);
    // its first page is the one that NULL is in
    let pages = def.max_entries.checked_sub(1);
    let base = region
        .zip(pages)
        .and_then(|(region, pages)| memory.alloc_arena_at(&def.name, region, pages));
    let Some(base) = base else {
        return Err(format!(
            "an arena at {address:#x} is not possible: expected a free multiple of 4 GiB"
        ));
    };
    globals(def, base, memory)?;
    Ok(base)
}
