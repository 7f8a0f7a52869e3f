// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the loader hands to the runtime: one object, linked against one target
//! kernel, immutable and shared by any number of instances.

mod initial;
mod sound;

pub use initial::Initial;

use crate::btf::{Btf, BtfError, TypeId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Index into [`Image::maps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MapId(pub u32);

/// Index into [`Image::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FuncId(pub u32);

/// One instruction slot as in the ISA; `lddw` takes two, so jumps keep their offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Insn {
    /// Opcode byte.
    pub op: u8,
    /// Destination register, 0..=10.
    pub dst: u8,
    /// Source register, 0..=10 (or the pseudo kind of `call` and `lddw`).
    pub src: u8,
    /// Signed 16-bit offset.
    pub off: i16,
    /// Signed 32-bit immediate.
    pub imm: i32,
}

impl Insn {
    /// Bytes of a slot.
    pub const SIZE: usize = 8;

    /// Reads a slot: `struct bpf_insn` of `include/uapi/linux/bpf.h`.
    pub fn decode(slot: &[u8; Self::SIZE]) -> Self {
        let [op, registers, off0, off1, imm @ ..] = *slot;
        Self {
            op,
            dst: registers & 0xf,
            src: registers >> 4,
            off: i16::from_le_bytes([off0, off1]),
            imm: i32::from_le_bytes(imm),
        }
    }
}

/// What a relocated instruction refers to. Keyed by instruction slot in [`Image::symbols`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Symbol {
    /// `lddw` of a map's address.
    Map(MapId),
    /// `lddw` of an address inside a map's single value (globals) or inside an arena; there
    /// the offset counts from the arena's globals, [`MapDef::initial`].
    MapValue(MapId, u64),
    /// `call` of, or `lddw` of a pointer to, a BPF function.
    Func(FuncId),
    /// `call` of a kernel function known to the host: index into [`Image::kfuncs`].
    Kfunc(u32),
    /// `call` of a weak kernel function that this host does not have: faults when reached.
    MissingKfunc(String),
    /// `lddw` of a kernel variable (`runqueues`, …): index into [`Image::ksyms`].
    Ksym(u32),
    /// `lddw` of a plain value: kfunc existence (0/1), a kconfig constant, a missing weak variable.
    Value(u64),
    /// A CO-RE relocation that found no target: faults when reached.
    Poison(String),
}

/// One entry point or subprogram.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Function {
    /// ELF symbol name.
    pub name: String,
    /// ELF section, `struct_ops/simple_enqueue`, `.text`, `syscall` …
    pub section: String,
    /// First instruction slot in [`Image::code`].
    pub start: u32,
    /// Number of slots.
    pub len: u32,
    /// The function's BTF type, where known: argument count and names.
    pub btf: Option<TypeId>,
    /// Number of arguments of its BTF prototype.
    pub args: u8,
}

/// One source line, valid from `slot` on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// First instruction slot.
    pub slot: u32,
    /// Source file.
    pub file: Arc<str>,
    /// 1-based line.
    pub line: u32,
    /// Text of the line, as BTF carries it.
    pub text: Arc<str>,
}

/// `BPF_MAP_TYPE_*` numbers used by the runtime.
pub mod map_type {
    #![allow(missing_docs)]
    pub const HASH: u32 = 1;
    pub const ARRAY: u32 = 2;
    pub const PROG_ARRAY: u32 = 3;
    pub const PERF_EVENT_ARRAY: u32 = 4;
    pub const PERCPU_HASH: u32 = 5;
    pub const PERCPU_ARRAY: u32 = 6;
    pub const STACK_TRACE: u32 = 7;
    pub const CGROUP_ARRAY: u32 = 8;
    pub const LRU_HASH: u32 = 9;
    pub const LRU_PERCPU_HASH: u32 = 10;
    pub const LPM_TRIE: u32 = 11;
    pub const ARRAY_OF_MAPS: u32 = 12;
    pub const HASH_OF_MAPS: u32 = 13;
    pub const QUEUE: u32 = 22;
    pub const STACK: u32 = 23;
    pub const STRUCT_OPS: u32 = 26;
    pub const RINGBUF: u32 = 27;
    pub const TASK_STORAGE: u32 = 29;
    pub const BLOOM_FILTER: u32 = 30;
    pub const USER_RINGBUF: u32 = 31;
    pub const CGRP_STORAGE: u32 = 32;
    pub const ARENA: u32 = 33;
}

/// A map as the object defines it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MapDef {
    /// Name in the object (`.maps` variable, or the section for globals: `.rodata`, `.bss`, `.data.x`).
    pub name: String,
    /// `BPF_MAP_TYPE_*`, see [`map_type`].
    pub kind: u32,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Entries; pages for an arena, bytes for a ring buffer.
    pub max_entries: u32,
    /// `BPF_F_*` flags.
    pub flags: u32,
    /// `map_extra`.
    pub extra: u64,
    /// Contents of a global-data section (or of an arena's globals).
    pub initial: Option<Initial>,
    /// Guest code may not write it (`.rodata*`, `.kconfig`).
    pub read_only: bool,
    /// Key type in the object's own BTF.
    pub key_type: Option<TypeId>,
    /// Value type in the object's own BTF (locates locks, timers, kptrs, graph roots).
    pub value_type: Option<TypeId>,
    /// Prototype of the inner map of `*_OF_MAPS`.
    pub inner: Option<Box<MapDef>>,
    /// Where user space sees an arena (`user_vm_start`), if that is known: pointers in it are such
    /// addresses, so it is at this guest address.
    pub user_address: Option<u64>,
    /// Statically initialised slots: inner maps of `*_OF_MAPS`.
    pub slots: Vec<(u32, MapId)>,
    /// Statically initialised slots of a `PROG_ARRAY`.
    pub programs: Vec<(u32, FuncId)>,
}

/// One member of a struct_ops variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OpsField {
    /// A callback.
    Func(FuncId),
    /// A plain integer (flags, timeout_ms …).
    Int(u64),
    /// A `char[]` (name).
    Str(String),
}

/// A `.struct_ops` or `.struct_ops.link` variable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StructOps {
    /// Variable name.
    pub name: String,
    /// Kernel type without any `___flavor`, `sched_ext_ops`.
    pub type_name: String,
    /// Members that are not zero.
    pub fields: BTreeMap<String, OpsField>,
    /// BTF decl tags on the variable, `key:value` as written.
    pub tags: Vec<String>,
}

/// A global variable that BTF describes: a tunable if it is `const volatile`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Variable {
    /// Name.
    pub name: String,
    /// The data section it lives in.
    pub map: MapId,
    /// Byte offset in that section.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Type in the object's own BTF, as declared (with qualifiers).
    pub ty: TypeId,
    /// BTF decl tags, `key:value` as written.
    pub tags: Vec<String>,
}

/// A linked object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Image {
    /// File or policy name, for messages.
    pub name: String,
    /// `license` section.
    pub license: String,
    /// All code, function after function.
    pub code: Vec<Insn>,
    /// What relocated slots mean. Slots not named here are plain instructions.
    pub symbols: BTreeMap<u32, Symbol>,
    /// Every function.
    pub functions: Vec<Function>,
    /// Source lines sorted by slot.
    pub lines: Vec<Line>,
    /// Maps, global data included.
    pub maps: Vec<MapDef>,
    /// struct_ops variables.
    pub struct_ops: Vec<StructOps>,
    /// Kernel functions used: essential names, in the order [`Symbol::Kfunc`] counts them.
    pub kfuncs: Vec<String>,
    /// Kernel variables used, in the order [`Symbol::Ksym`] counts them.
    pub ksyms: Vec<String>,
    /// Types that the object asks for, of which a [reduced](Btf::is_reduced) BTF does not tell
    /// whether the kernel has them; taken as absent.
    pub untold_types: Vec<String>,
    /// Fields of kernel types that the object reads or asks for, and that the kernel has:
    /// `task_struct.scx.slice`.
    pub kernel_fields: BTreeSet<String>,
    /// Named globals.
    pub variables: Vec<Variable>,
    /// The object's own BTF.
    #[serde(serialize_with = "to_bytes", deserialize_with = "of_bytes")]
    pub btf: Arc<Btf>,
    /// The kernel's BTF that CO-RE resolved against; without any type once it has been read back:
    /// whoever does so knows the kernel.
    #[serde(skip, default = "of_no_kernel")]
    pub kernel_btf: Arc<Btf>,
}

fn to_bytes<S: Serializer>(btf: &Arc<Btf>, to: S) -> Result<S::Ok, S::Error> {
    btf.to_bytes().serialize(to)
}

fn of_bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<Btf>, D::Error> {
    let bytes = Vec::<u8>::deserialize(from)?;
    let parsed = Btf::parse(&bytes).map(Arc::new);
    parsed.map_err(|error: BtfError| serde::de::Error::custom(error))
}

fn of_no_kernel() -> Arc<Btf> {
    Arc::new(Btf::empty())
}
