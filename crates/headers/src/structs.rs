// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structs and unions with every member where BTF has it: padding that the compiler would not
//! insert by itself is written out.

use crate::align::Aligns;
use crate::spell::Speller;
use rota_object::btf::{Btf, Member, Type, TypeId};
use std::fmt::Write as _;

/// `struct name { … }` with its attributes, without what is declared by it.
pub(crate) fn body(speller: &Speller<'_>, id: TypeId, depth: usize) -> String {
    let btf = speller.btf;
    let (keyword, composite) = match btf.get(id) {
        Type::Struct(c) => ("struct", c),
        Type::Union(c) => ("union", c),
        _ => return String::new(),
    };
    let packed = speller.aligns.is_packed(id);
    let tabs = "\t".repeat(depth + 1);
    let mut text = match speller.names.of(id) {
        "" => format!("{keyword} {{\n"),
        name => format!("{keyword} {name} {{\n"),
    };
    let mut place = Place { bits: 0, packed, tabs: &tabs, aligns: speller.aligns };
    for member in composite.members() {
        if keyword == "struct" {
            text.push_str(&place.pad(member));
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
        text.push_str(&place.fill(u64::from(composite.size) * 8, speller.aligns.of(id)));
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
    aligns: &'a Aligns<'a>,
}

impl Place<'_> {
    /// Lines that bring the next member to its place.
    fn pad(&mut self, next: Member<'_>) -> String {
        let btf = self.aligns.btf;
        let there = u64::from(next.bit_offset);
        let natural = match next.bits {
            0 => {
                let align = if self.packed { 1 } else { self.aligns.of(next.ty) };
                self.bits.next_multiple_of(u64::from(align) * 8)
            }
            bits => {
                let unit = u64::from(btf.size_of(next.ty).unwrap_or(4).max(1)) * 8;
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
