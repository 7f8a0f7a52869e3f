// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program has made with `bpf(2)`: maps, programs, types and links, by id.

use super::table::Table;
use crate::Errno;
use rota_object::btf::{Btf, TypeId};
use rota_object::image::Insn;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An object. Ids are never given twice, to whatever kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

/// A map.
#[derive(Debug)]
pub(super) struct Map {
    pub(super) name: String,
    /// `BPF_MAP_TYPE_*`.
    pub(super) kind: u32,
    pub(super) key_size: u32,
    pub(super) value_size: u32,
    pub(super) max_entries: u32,
    pub(super) flags: u32,
    pub(super) extra: u64,
    pub(super) btf: Option<ObjectId>,
    pub(super) key_type: TypeId,
    pub(super) value_type: TypeId,
    /// `btf_vmlinux_value_type_id`.
    pub(super) kernel_type: TypeId,
    /// What maps in it are like.
    pub(super) inner: Option<Box<Map>>,
    pub(super) frozen: bool,
    pub(super) table: Table,
}

/// A function of a program, as `func_info` has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct FuncInfo {
    pub(super) slot: u32,
    pub(super) ty: TypeId,
}

/// A source line of a program, as `line_info` has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineInfo {
    pub(super) slot: u32,
    pub(super) file: u32,
    pub(super) text: u32,
    pub(super) line: u32,
}

/// A program.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) name: String,
    /// `BPF_PROG_TYPE_*`.
    pub(super) kind: u32,
    pub(super) flags: u32,
    pub(super) license: String,
    /// `expected_attach_type`: of a callback its member's index.
    pub(super) attach_type: u32,
    /// `attach_btf_id`, of the kernel's types.
    pub(super) target: TypeId,
    /// The section that libbpf reads its kind and target from: `struct_ops/NAME`.
    pub(super) section: String,
    pub(super) code: Vec<Insn>,
    /// Maps by the slot of the instruction that names them. Descriptors in the code are those of
    /// the moment at which it was loaded.
    pub(super) maps: BTreeMap<u32, ObjectId>,
    /// Maps that belong to it without being named (`BPF_PROG_BIND_MAP`).
    pub(super) bound: Vec<ObjectId>,
    pub(super) btf: Option<ObjectId>,
    pub(super) functions: Vec<FuncInfo>,
    pub(super) lines: Vec<LineInfo>,
}

/// Types.
#[derive(Debug)]
pub(super) struct Types {
    pub(super) btf: Arc<Btf>,
    pub(super) bytes: Arc<[u8]>,
    /// Those of the kernel.
    pub(super) of_kernel: bool,
}

/// What holds a program or table where it is attached.
#[derive(Debug)]
pub(super) struct Link {
    /// `BPF_LINK_TYPE_*`.
    pub(super) kind: u32,
    /// The program, or the map of a table.
    pub(super) what: ObjectId,
    pub(super) attach_type: u32,
    pub(super) target: TypeId,
    pub(super) name: String,
    pub(super) cookie: u64,
    pub(super) attached: bool,
}

#[derive(Debug)]
pub(super) enum Object {
    Map(Map),
    Program(Program),
    Types(Types),
    Link(Link),
    /// The kernel counts programs' run time while this is open.
    Statistics,
}

/// A kind of objects, for look-up by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Map,
    Program,
    Types,
    Link,
    Statistics,
}

impl Object {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Object::Map(_) => Kind::Map,
            Object::Program(_) => Kind::Program,
            Object::Types(_) => Kind::Types,
            Object::Link(_) => Kind::Link,
            Object::Statistics => Kind::Statistics,
        }
    }
}

/// All objects.
#[derive(Debug, Default)]
pub(super) struct Objects {
    all: BTreeMap<ObjectId, Object>,
    last: u32,
}

macro_rules! access {
    ($($get:ident $($get_mut:ident)? => $kind:ident;)*) => {
        impl Objects { $(
            /// The object of this kind, or what the kernel says of a descriptor of another.
            pub(super) fn $get(&self, id: ObjectId) -> Result<&$kind, Errno> {
                match self.all.get(&id) {
                    Some(Object::$kind(object)) => Ok(object),
                    _ => Err(Errno::EINVAL),
                }
            }

            $(pub(super) fn $get_mut(&mut self, id: ObjectId) -> Result<&mut $kind, Errno> {
                match self.all.get_mut(&id) {
                    Some(Object::$kind(object)) => Ok(object),
                    _ => Err(Errno::EINVAL),
                }
            })?
        )* }
    };
}

access! {
    map map_mut => Map;
    program program_mut => Program;
    types => Types;
    link link_mut => Link;
}

impl Objects {
    pub(super) fn add(&mut self, object: Object) -> ObjectId {
        self.last += 1;
        let id = ObjectId(self.last);
        self.all.insert(id, object);
        id
    }

    pub(super) fn get(&self, id: ObjectId) -> Option<&Object> {
        self.all.get(&id)
    }

    /// All of a kind, the oldest first.
    pub(super) fn of(&self, kind: Kind) -> impl Iterator<Item = (ObjectId, &Object)> {
        let all = self.all.iter().map(|(id, object)| (*id, object));
        all.filter(move |(_, object)| object.kind() == kind)
    }

    pub(super) fn programs(&self) -> impl Iterator<Item = (ObjectId, &Program)> {
        self.all.iter().filter_map(|(id, object)| match object {
            Object::Program(program) => Some((*id, program)),
            _ => None,
        })
    }

    pub(super) fn maps(&self) -> impl Iterator<Item = (ObjectId, &Map)> {
        self.all.iter().filter_map(|(id, object)| match object {
            Object::Map(map) => Some((*id, map)),
            _ => None,
        })
    }

    pub(super) fn links_mut(&mut self) -> impl Iterator<Item = (ObjectId, &mut Link)> {
        self.all.iter_mut().filter_map(|(id, object)| match object {
            Object::Link(link) => Some((*id, link)),
            _ => None,
        })
    }
}
