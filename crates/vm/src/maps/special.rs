// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields of a value or object that are not plain data: locks, timers, kptrs, graph
//! roots and nodes. BTF tells where they are.

use rota_object::btf::{Btf, Composite, Type, TypeId};
use std::ops::Range;

/// Structs nest no deeper than this, arrays of special fields are no longer than
/// [`MAX_FIELDS`]: the kernel allows far fewer.
const MAX_DEPTH: u32 = 8;
const MAX_FIELDS: usize = 256;

/// Members looked at: hostile BTF nests wide structs in wide structs.
const MAX_VISITS: u32 = 100_000;

/// What a special field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// `bpf_spin_lock`, `bpf_res_spin_lock`.
    Lock,
    /// `bpf_timer`.
    Timer,
    /// A pointer that owns its object.
    Kptr,
    /// `bpf_rb_root`.
    TreeRoot,
    /// `bpf_list_head`.
    ListHead,
    /// `bpf_rb_node`, `bpf_list_node`, `bpf_refcount`, `bpf_wq`.
    Opaque,
}

/// One special field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpecialField {
    pub(crate) offset: u32,
    pub(crate) size: u32,
    pub(crate) kind: FieldKind,
}

/// The special fields of a type, by offset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Special(pub(crate) Vec<SpecialField>);

impl Special {
    /// Finds the special fields of a type.
    pub(crate) fn of(btf: &Btf, ty: Option<TypeId>) -> Self {
        let mut search = Search { btf, fields: Vec::new(), visits_left: MAX_VISITS };
        if let Some(ty) = ty {
            search.collect(ty, 0, MAX_DEPTH);
        }
        Self(search.fields)
    }

    /// Copies a value, leaving special fields as they are.
    pub(crate) fn copy(&self, to: &mut [u8], from: &[u8]) {
        let mut start = 0;
        for field in &self.0 {
            copy_range(to, from, start..field.offset as usize);
            start = (field.offset + field.size) as usize;
        }
        let end = to.len().min(from.len());
        copy_range(to, from, start..end);
    }

    /// Fields of one kind.
    pub(crate) fn of_kind(&self, kind: FieldKind) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().filter(move |field| field.kind == kind).map(|field| field.offset)
    }
}

fn copy_range(to: &mut [u8], from: &[u8], range: Range<usize>) {
    if let (Some(to), Some(from)) = (to.get_mut(range.clone()), from.get(range)) {
        to.copy_from_slice(from);
    }
}

/// A walk through a type.
struct Search<'a> {
    btf: &'a Btf,
    fields: Vec<SpecialField>,
    visits_left: u32,
}

impl Search<'_> {
    fn collect(&mut self, ty: TypeId, offset: u32, depth: u32) {
        if depth == 0 || self.visits_left == 0 || self.fields.len() >= MAX_FIELDS {
            return;
        }
        self.visits_left -= 1;
        let btf = self.btf;
        match btf.resolved(ty) {
            Type::Struct(composite) | Type::Union(composite) => match kind_of(&composite) {
                Some(kind) => self.fields.push(SpecialField { offset, size: composite.size, kind }),
                None => {
                    for member in composite.members().filter(|member| member.bits == 0) {
                        let at = offset.saturating_add(member.bit_offset / 8);
                        self.collect(member.ty, at, depth - 1);
                    }
                }
            },
            Type::Array(array) => {
                let size = btf.size_of(array.elem).filter(|&size| size > 0);
                let Some(size) = size else { return };
                let before = self.fields.len();
                for index in 0..array.len {
                    let at = offset.saturating_add(index.saturating_mul(size));
                    self.collect(array.elem, at, depth - 1);
                    // No element has what the first has not.
                    if self.fields.len() == before || self.fields.len() >= MAX_FIELDS {
                        break;
                    }
                }
            }
            Type::Ptr(to) => {
                if let Type::TypeTag("kptr" | "percpu_kptr" | "kptr_untrusted", _) = btf.get(to) {
                    let kind = FieldKind::Kptr;
                    self.fields.push(SpecialField { offset, size: 8, kind });
                }
            }
            _ => {}
        }
    }
}

fn kind_of(composite: &Composite<'_>) -> Option<FieldKind> {
    Some(match composite.name {
        "bpf_spin_lock" | "bpf_res_spin_lock" => FieldKind::Lock,
        "bpf_timer" => FieldKind::Timer,
        "bpf_rb_root" => FieldKind::TreeRoot,
        "bpf_list_head" => FieldKind::ListHead,
        "bpf_rb_node" | "bpf_list_node" | "bpf_refcount" | "bpf_wq" => FieldKind::Opaque,
        _ => return None,
    })
}
