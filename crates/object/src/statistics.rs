// SPDX-License-Identifier: MIT OR Apache-2.0
//! A policy's own counters, as the object's BTF describes them.
//!
//! By custom they are the members of a struct called `stats`: a global, or the value of a
//! map of that name, an array or a per-CPU array, whose copies are added up. A map of plain
//! numbers counts under `stats[0]`, `stats[1]` … Tags on members: `help:…`, `unit:ns`, and
//! `kind:gauge` for a number that says how things are rather than how often they happened.

use crate::btf::{Btf, Field, Type, TypeId};
use crate::image::{map_type, Image, MapId};
use crate::settings::{form_of, load, Form};

/// Counters of one policy; more are not shown.
const MAX_COUNTERS: usize = 128;
/// Levels of structs and arrays inside the struct.
const MAX_LEVELS: u32 = 4;
/// Name of the variable or map.
const NAME: &str = "stats";

/// Where the counters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a data section, this many bytes from its start.
    Global(MapId, u32),
    /// In the entries of an array, from 0 on.
    Array(MapId, u32),
    /// In the entries of a per-CPU array, from 0 on.
    PerCpu(MapId, u32),
}

/// One number.
#[derive(Clone, Debug)]
pub struct Counter {
    /// Name of the member, with its path if it lies deeper.
    pub name: String,
    /// What it counts; empty if the object does not say.
    pub help: String,
    /// Unit, `ns` …
    pub unit: Option<String>,
    /// A present value; else a count that only grows.
    pub gauge: bool,
    /// Entry of the map that holds it.
    entry: u32,
    field: Field,
    form: Form,
}

/// All counters of an object.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Where they are.
    pub place: Place,
    /// Bytes of one copy.
    pub size: u32,
    /// The counters in the order of the source.
    pub counters: Vec<Counter>,
}

impl Counter {
    /// Bits that it has: a count begins anew at 0 after 2 to the power of that.
    pub fn bits(&self) -> u32 {
        self.form.bits
    }
}

impl Statistics {
    /// Number of entries of the map; 1 for a global.
    pub fn entries(&self) -> u32 {
        match self.place {
            Place::Global(..) => 1,
            Place::Array(_, entries) | Place::PerCpu(_, entries) => entries,
        }
    }

    /// Adds up the copies of each entry: `copies(entry)` gives them one after the other,
    /// each [`Statistics::size`] bytes.
    pub fn sum(&self, mut copies: impl FnMut(u32) -> Vec<u8>) -> Vec<i128> {
        let mut sums = vec![0; self.counters.len()];
        for entry in 0..self.entries() {
            let bytes = copies(entry);
            for copy in bytes.chunks_exact(self.size.max(1) as usize) {
                let here = self.counters.iter().zip(&mut sums).filter(|(c, _)| c.entry == entry);
                for (counter, sum) in here {
                    let value = load(copy, &counter.field, counter.form).unwrap_or(0);
                    // One CPU may have counted down what another counted up.
                    *sum = counter.form.masked((*sum as u64).wrapping_add(value)).into();
                }
            }
        }
        let signed = |(c, sum): (&Counter, i128)| c.form.value(sum as u64);
        self.counters.iter().zip(sums).map(signed).collect()
    }
}

impl Image {
    /// The policy's counters, if it has any.
    pub fn statistics(&self) -> Option<Statistics> {
        let global = self.variables.iter().find(|v| v.name == NAME);
        if let Some(v) = global.filter(|v| matches!(self.btf.resolved(v.ty), Type::Struct(_))) {
            let place = Place::Global(v.map, v.offset);
            return self.counters(place, v.ty, v.size, 1);
        }
        let at = self.maps.iter().position(|m| m.name == NAME)?;
        let (id, map) = (MapId(at as u32), &self.maps[at]);
        let (ty, entries) = (map.value_type?, map.max_entries);
        match map.kind {
            map_type::ARRAY => {
                self.counters(Place::Array(id, entries), ty, map.value_size, entries)
            }
            map_type::PERCPU_ARRAY => {
                self.counters(Place::PerCpu(id, entries), ty, map.value_size, entries)
            }
            _ => None,
        }
    }

    fn counters(&self, place: Place, ty: TypeId, size: u32, entries: u32) -> Option<Statistics> {
        let mut found = Found { btf: &self.btf, counters: Vec::new() };
        for entry in 0..entries.min(MAX_COUNTERS as u32) {
            let plain = !matches!(self.btf.resolved(ty), Type::Struct(_) | Type::Union(_));
            let name = match (plain, entries) {
                (false, 1) => String::new(),
                (_, _) => format!("{NAME}[{entry}]"),
            };
            let whole = Field { offset_bits: 0, bits: 0, size, ty };
            found.visit(&name, &whole, &Tags::default(), entry, MAX_LEVELS);
        }
        let counters = found.counters;
        let place = match place {
            Place::Global(..) => place,
            // Entries beyond the last counter need not be read.
            Place::Array(id, _) => Place::Array(id, counters.last()?.entry + 1),
            Place::PerCpu(id, _) => Place::PerCpu(id, counters.last()?.entry + 1),
        };
        (!counters.is_empty()).then_some(Statistics { place, size, counters })
    }
}

/// What tags say about a member; arrays and structs hand it down.
#[derive(Clone, Copy, Default)]
struct Tags<'a> {
    help: &'a str,
    unit: Option<&'a str>,
    gauge: bool,
}

impl<'a> Tags<'a> {
    fn of(tags: &[&'a str], outer: &Tags<'a>) -> Self {
        let mut found = *outer;
        for (key, text) in tags.iter().filter_map(|tag| tag.split_once(':')) {
            match key {
                "help" => found.help = text.trim(),
                "unit" => found.unit = Some(text.trim()),
                "kind" => found.gauge = text.trim() == "gauge",
                _ => {}
            }
        }
        found
    }
}

struct Found<'a> {
    btf: &'a Btf,
    counters: Vec<Counter>,
}

impl<'a> Found<'a> {
    fn visit(&mut self, name: &str, field: &Field, tags: &Tags<'a>, entry: u32, levels: u32) {
        if self.counters.len() >= MAX_COUNTERS {
            return;
        }
        if let Some(form) = form_of(self.btf, field) {
            // A name like wait_ns tells its unit itself.
            let ending = name.rsplit_once('_').map(|(_, ending)| ending);
            let unit = tags.unit.or(ending.filter(|e| matches!(*e, "ns" | "us" | "ms")));
            self.counters.push(Counter {
                name: name.to_owned(),
                help: tags.help.to_owned(),
                unit: unit.map(str::to_owned),
                gauge: tags.gauge,
                entry,
                field: *field,
                form,
            });
            return;
        }
        let Some(levels) = levels.checked_sub(1) else { return };
        let ty = self.btf.resolve(field.ty);
        let place = |offset: u32| field.offset_bits.saturating_add(offset);
        match self.btf.get(ty) {
            Type::Array(a) => {
                let size = self.btf.size_of(a.elem).unwrap_or(0);
                for i in 0..a.len.min(MAX_COUNTERS as u32) {
                    let offset_bits = place(i.saturating_mul(size).saturating_mul(8));
                    let element = Field { offset_bits, bits: 0, size, ty: a.elem };
                    self.visit(&format!("{name}[{i}]"), &element, tags, entry, levels);
                }
            }
            Type::Struct(c) => {
                for (i, m) in (0u32..).zip(c.members()) {
                    let size = self.btf.size_of(m.ty).unwrap_or(0);
                    let offset_bits = place(m.bit_offset);
                    let member = Field { offset_bits, bits: m.bits, size, ty: m.ty };
                    let inner = Tags::of(&self.btf.decl_tags(ty, Some(i)), tags);
                    let dot = if name.is_empty() || m.name.is_empty() { "" } else { "." };
                    let name = format!("{name}{dot}{}", m.name);
                    self.visit(&name, &member, &inner, entry, levels);
                }
            }
            _ => {}
        }
    }
}
