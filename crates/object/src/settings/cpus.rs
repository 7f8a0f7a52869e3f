// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs as a set of bits: `{0-3,8}` into a number, or an array of numbers, or one of truth values.

use super::place::{form_of, is_char, save};
use super::SettingError;
use crate::btf::{Btf, Field, Type};

/// The highest CPU that is read.
const MOST: u32 = 1 << 16;

/// The CPUs between braces; `None` if the text is no set of them.
pub(super) fn set_of(text: &str) -> Option<Vec<u32>> {
    let inside = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let mut cpus = Vec::new();
    for part in inside.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|n| *n < MOST);
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Writes a set of CPUs into a field, if the field can hold one: the lowest bit of the first
/// element is CPU 0, as in a `cpumask`. Truth values are one for each CPU.
pub(super) fn store(
    btf: &Btf,
    bytes: &mut [u8],
    field: &Field,
    name: &str,
    cpus: &[u32],
) -> Option<Result<(), SettingError>> {
    let elements = elements(btf, field)?;
    let bits = if elements.is_truth { 1 } else { u64::from(elements.size) * 8 };
    let held = bits * u64::from(elements.count);
    if let Some(cpu) = cpus.iter().find(|cpu| u64::from(**cpu) >= held) {
        return Some(Err(SettingError::Range {
            name: name.to_string(),
            value: format!("CPU {cpu}"),
            expected: format!("0 to {}", held.saturating_sub(1)),
        }));
    }
    for i in 0..elements.count {
        let first = u64::from(i) * bits;
        let inside =
            cpus.iter().map(|cpu| u64::from(*cpu)).filter(|cpu| cpu / bits == first / bits);
        let word = inside.fold(0u64, |word, cpu| word | 1 << (cpu - first));
        let offset_bits = elements.offset_bits.checked_add(i.checked_mul(elements.size * 8)?)?;
        let element = Field { offset_bits, bits: 0, size: elements.size, ty: elements.ty };
        let form = form_of(btf, &element)?;
        if save(bytes, &element, form, word).is_none() {
            let why = "lies outside its data section".to_string();
            return Some(Err(SettingError::Refused { name: name.to_string(), why }));
        }
    }
    Some(Ok(()))
}

/// Numbers side by side.
struct Elements {
    offset_bits: u32,
    ty: crate::btf::TypeId,
    size: u32,
    count: u32,
    is_truth: bool,
}

/// The numbers that a field consists of. A struct of one member is as that member.
fn elements(btf: &Btf, field: &Field) -> Option<Elements> {
    let mut field = *field;
    for _ in 0..8 {
        match btf.resolved(field.ty) {
            Type::Int(i) if field.bits == 0 && field.size > 0 => {
                return Some(Elements {
                    offset_bits: field.offset_bits,
                    ty: field.ty,
                    size: field.size,
                    count: 1,
                    is_truth: i.boolean,
                });
            }
            Type::Array(a) if !is_char(btf, a.elem) => {
                let Type::Int(i) = btf.resolved(a.elem) else { return None };
                let size = btf.size_of(a.elem).filter(|size| *size > 0)?;
                return Some(Elements {
                    offset_bits: field.offset_bits,
                    ty: a.elem,
                    size,
                    count: field.size / size,
                    is_truth: i.boolean,
                });
            }
            Type::Struct(c) => {
                let mut members = c.members();
                let (Some(only), None) = (members.next(), members.next()) else { return None };
                let size = btf.size_of(only.ty)?;
                let offset_bits = field.offset_bits.checked_add(only.bit_offset)?;
                field = Field { offset_bits, bits: 0, size, ty: only.ty };
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_set_is_numbers_and_ranges_in_braces() {
        assert_eq!(set_of("{0-2, 8}"), Some(vec![0, 1, 2, 8]));
        assert_eq!(set_of("{}"), Some(vec![]));
        for text in ["0-3", "{3-1}", "{a}", "{1", "{65536}"] {
            assert_eq!(set_of(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "[{}0-9,\\- ]{0,20}") {
            let _ = set_of(&text);
        }
    }
}
