// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structs and unions with every member where BTF has it: padding that the compiler would not
//! insert by itself is written out.

use crate::spell::Speller;
use rota_object::btf::{Btf, Composite, Member, Type, TypeId};
use std::fmt::Write as _;

/// `struct name { … }` with its attributes, without what is declared by it.
pub(crate) fn body(speller: &Speller<'_>, id: TypeId, depth: usize) -> String {
    let btf = speller.btf;
    let (keyword, composite) = match btf.get(id) {
        Type::Struct(c) => ("struct", c),
        Type::Union(c) => ("union", c),
        _ => return String::new(),
    };
    let packed = is_packed(btf, id);
    let tabs = "\t".repeat(depth + 1);
    let mut text = match speller.names.of(id) {
        "" => format!("{keyword} {{\n"),
        name => format!("{keyword} {name} {{\n"),
    };
    let mut place = Place { bits: 0, packed, tabs: &tabs };
    for member in composite.members() {
        if keyword == "struct" {
            text.push_str(&place.pad(btf, member));
        }
        let declared = speller.declare(member.ty, member.name, depth + 1);
        match member.bits {
            0 => writeln!(text, "{tabs}{declared};"),
            bits => writeln!(text, "{tabs}{declared}: {bits};"),
        }
        .ok();
        place.bits = u64::from(member.bit_offset) + width(btf, member);
    }
    if keyword == "struct" {
        text.push_str(
            &place.fill(u64::from(composite.size) * 8, if packed { 1 } else { align(btf, id) }),
        );
    }
    text.push_str(&tabs[1..]);
    text.push('}');
    if packed {
        text.push_str(" __attribute__((packed))");
    }
    text
}

/// Bits of a member.
fn width(btf: &Btf, member: Member<'_>) -> u64 {
    match member.bits {
        0 => u64::from(btf.size_of(member.ty).unwrap_or(0)) * 8,
        bits => u64::from(bits),
    }
}

/// Where the next member would go.
struct Place<'a> {
    bits: u64,
    packed: bool,
    tabs: &'a str,
}

impl Place<'_> {
    /// Lines that bring the next member to its place.
    fn pad(&mut self, btf: &Btf, next: Member<'_>) -> String {
        let there = u64::from(next.bit_offset);
        let natural = match next.bits {
            0 => {
                let align = if self.packed { 1 } else { align(btf, next.ty) };
                self.bits.next_multiple_of(u64::from(align) * 8)
            }
            bits => {
                let unit = u64::from(btf.size_of(next.ty).unwrap_or(4)) * 8;
                let crosses = self.bits / unit != (self.bits + u64::from(bits) - 1) / unit;
                match crosses && !self.packed {
                    true => self.bits.next_multiple_of(unit),
                    false => self.bits,
                }
            }
        };
        match natural == there {
            true => String::new(),
            false => self.lines(there),
        }
    }

    /// Lines that bring the end to `bits`, where the compiler rounds up to `align` bytes.
    fn fill(&mut self, bits: u64, align: u32) -> String {
        match self.bits.next_multiple_of(u64::from(align) * 8) == bits {
            true => String::new(),
            false => self.lines(bits),
        }
    }

    fn lines(&mut self, there: u64) -> String {
        let (mut text, tabs) = (String::new(), self.tabs);
        let to_byte = self.bits.next_multiple_of(8).min(there) - self.bits;
        if to_byte > 0 {
            let _ = writeln!(text, "{tabs}unsigned char: {to_byte};");
            self.bits += to_byte;
        }
        let bytes = there.saturating_sub(self.bits) / 8;
        if bytes > 0 {
            let _ = writeln!(text, "{tabs}unsigned char __pad_{}[{bytes}];", self.bits / 8);
            self.bits += bytes * 8;
        }
        if there > self.bits {
            let _ = writeln!(text, "{tabs}unsigned char: {};", there - self.bits);
        }
        text
    }
}

/// A struct whose members are nearer to each other than the compiler would put them.
fn is_packed(btf: &Btf, id: TypeId) -> bool {
    let (Type::Struct(composite) | Type::Union(composite)) = btf.get(id) else { return false };
    let natural = members_align(btf, composite);
    if composite.size % natural != 0 {
        return true;
    }
    composite.members().any(|member| match member.bits {
        0 => member.bit_offset % (align(btf, member.ty) * 8) != 0,
        bits => {
            let unit = btf.size_of(member.ty).unwrap_or(4) * 8;
            unit > 0 && member.bit_offset / unit != (member.bit_offset + bits - 1) / unit
        }
    })
}

fn members_align(btf: &Btf, composite: Composite<'_>) -> u32 {
    // A bit field without a name, which padding is, does not align.
    composite.members().map(|member| align(btf, member.ty)).max().unwrap_or(1)
}

/// Alignment of a type as [`body`] writes it.
fn align(btf: &Btf, id: TypeId) -> u32 {
    match btf.resolved(id) {
        Type::Int(int) => int.size.clamp(1, 16),
        Type::Float(_, size) => size.clamp(1, 8),
        Type::Enum(e) => e.size.clamp(1, 8),
        Type::Ptr(_) => 8,
        Type::Array(a) => align(btf, a.elem),
        Type::Struct(c) | Type::Union(c) => match is_packed(btf, btf.resolve(id)) {
            true => 1,
            false => members_align(btf, c),
        },
        _ => 1,
    }
}
