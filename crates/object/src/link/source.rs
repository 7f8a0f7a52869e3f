// SPDX-License-Identifier: MIT OR Apache-2.0
//! Source lines of instructions.

use super::code::Code;
use super::object::Object;
use crate::image::Line;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// All line records, sorted by slot.
pub(super) fn lines(object: &Object, code: &Code) -> Vec<Line> {
    let mut texts: FxHashMap<u32, Arc<str>> = FxHashMap::default();
    let mut text = |offset: u32| {
        let make = || Arc::from(object.btf.string(offset).trim());
        texts.entry(offset).or_insert_with(make).clone()
    };
    let mut all = Vec::new();
    for s in &object.ext.lines {
        let Some((base, slots)) = object.section(&s.section).and_then(|i| code.section(i)) else {
            continue;
        };
        for r in s.records.iter().filter(|r| r.offset / 8 < slots) {
            let slot = base + r.offset / 8;
            all.push(Line { slot, file: text(r.file), line: r.line, text: text(r.text) });
        }
    }
    all.sort_by_key(|l| l.slot);
    all
}
