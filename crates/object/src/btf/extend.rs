// SPDX-License-Identifier: MIT OR Apache-2.0
//! BTF with types added behind those that it has.

use super::{Btf, Kind, Type, TypeId, VOID};

/// The same types, and more: ids that were there stay as they are.
#[derive(Debug)]
pub struct Extended<'a> {
    from: &'a Btf,
    types: Vec<u8>,
    starts: Vec<u32>,
    strings: String,
}

impl Btf {
    /// A copy to which types can be added.
    pub fn extend(&self) -> Extended<'_> {
        let strings = match self.strings.is_empty() {
            // what is there first is the name of nameless types
            true => "\0".to_owned(),
            false => self.strings.clone(),
        };
        Extended { from: self, types: self.types.clone(), starts: self.starts.clone(), strings }
    }
}

impl Extended<'_> {
    /// A variable of external linkage.
    pub fn variable(&mut self, name: &str, ty: TypeId) -> TypeId {
        const GLOBAL: u32 = 1;
        let name = self.name(name);
        self.push(Kind::Var, 0, name, ty.0, &[GLOBAL])
    }

    /// A function that takes so many pointers to `void`, and returns nothing that is known.
    pub fn function(&mut self, name: &str, arguments: u32) -> TypeId {
        let prototype = self.prototype(arguments);
        let name = self.name(name);
        self.push(Kind::Func, 0, name, prototype.0, &[])
    }

    /// `btf_trace_NAME` of a tracepoint: a pointer to a function's type
    /// (`include/trace/bpf_probe.h`). What follows its data is left out.
    pub fn tracepoint(&mut self, name: &str) -> TypeId {
        let prototype = self.prototype(1);
        let pointer = self.pointer(prototype);
        let name = self.name(&format!("btf_trace_{name}"));
        self.push(Kind::Typedef, 0, name, pointer.0, &[])
    }

    /// A pointer.
    pub fn pointer(&mut self, to: TypeId) -> TypeId {
        self.push(Kind::Ptr, 0, 0, to.0, &[])
    }

    /// A struct that is declared and nothing more.
    pub fn declaration(&mut self, name: &str) -> TypeId {
        let name = self.name(name);
        self.push(Kind::Fwd, 0, name, 0, &[])
    }

    /// All types.
    pub fn finish(self) -> Btf {
        let Self { from, types, starts, strings } = self;
        let btf = Btf::new(types, starts, strings);
        if from.is_reduced() {
            btf.reduced()
        } else {
            btf
        }
    }

    fn prototype(&mut self, arguments: u32) -> TypeId {
        let void_pointer =
            self.from.ids().find(|id| matches!(self.from.get(*id), Type::Ptr(to) if to == VOID));
        let pointer = void_pointer.unwrap_or_else(|| self.pointer(VOID));
        let parameters: Vec<u32> = (0..arguments).flat_map(|_| [0, pointer.0]).collect();
        self.push(Kind::FuncProto, arguments, 0, 0, &parameters)
    }

    fn name(&mut self, name: &str) -> u32 {
        let at = self.strings.len() as u32;
        self.strings.push_str(name);
        self.strings.push('\0');
        at
    }

    fn push(&mut self, kind: Kind, elements: u32, name: u32, to: u32, tail: &[u32]) -> TypeId {
        self.starts.push(self.types.len() as u32);
        for word in [name, (kind as u32) << 24 | elements, to].iter().chain(tail) {
            self.types.extend(word.to_le_bytes());
        }
        TypeId(self.starts.len() as u32 - 1)
    }
}
