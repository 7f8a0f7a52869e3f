// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an object file consists of.

use object::elf::{FileHeader64, SHT_NOBITS};
use object::read::elf::{FileHeader, SectionHeader};
use object::Endianness;
use std::ops::Range;

const ELF_HEADER: usize = 64;
const SECTION_HEADER: usize = 64;

/// The ELF header, the section headers, and the sections; small ones are as likely as great ones.
pub fn parts(bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, bytes).ok()?;
    let table = usize::try_from(header.e_shoff(endian)).ok()?;
    let end = table.checked_add(sections.len() * SECTION_HEADER)?;
    let mut parts = vec![0..ELF_HEADER, table..end];
    for section in sections.iter() {
        let name = sections.section_name(endian, section).unwrap_or_default();
        // The simulator does not read it.
        if section.sh_type(endian) == SHT_NOBITS || name.starts_with(b".debug") {
            continue;
        }
        let start = usize::try_from(section.sh_offset(endian)).ok()?;
        parts.push(start..start.checked_add(section.sh_size(endian).try_into().ok()?)?);
    }
    Some(parts)
}
