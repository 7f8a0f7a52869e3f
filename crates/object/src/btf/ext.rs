// SPDX-License-Identifier: MIT OR Apache-2.0
//! `.BTF.ext`: which instruction belongs to which function and source line, and
//! where CO-RE relocations are.

use super::parse::{fail, MAGIC};
use super::types::word;
use super::{Btf, BtfError, TypeId};

/// Start of a function.
#[derive(Clone, Copy, Debug)]
pub struct FuncInfo {
    /// Byte offset in the ELF section.
    pub offset: u32,
    /// A `func`.
    pub ty: TypeId,
}

/// Start of a source line.
#[derive(Clone, Copy, Debug)]
pub struct LineInfo {
    /// Byte offset in the ELF section.
    pub offset: u32,
    /// File name, an offset in the string table.
    pub file: u32,
    /// Text of the line, an offset in the string table.
    pub text: u32,
    /// 1-based line.
    pub line: u32,
}

/// A CO-RE relocation.
#[derive(Clone, Copy, Debug)]
pub struct CoreRelo {
    /// Byte offset in the ELF section.
    pub offset: u32,
    /// Root type, in the object's BTF.
    pub ty: TypeId,
    /// Access string, an offset in the string table.
    pub access: u32,
    /// `BPF_CORE_*` number.
    pub kind: u32,
}

/// Records of one ELF section.
#[derive(Clone, Debug)]
pub struct PerSection<T> {
    /// ELF section name.
    pub section: String,
    /// Records in file order.
    pub records: Vec<T>,
}

/// A parsed `.BTF.ext` section.
#[derive(Clone, Debug, Default)]
pub struct Ext {
    /// Functions.
    pub funcs: Vec<PerSection<FuncInfo>>,
    /// Source lines.
    pub lines: Vec<PerSection<LineInfo>>,
    /// CO-RE relocations.
    pub relos: Vec<PerSection<CoreRelo>>,
}

impl Ext {
    /// Reads a `.BTF.ext` section; names come from the object's `.BTF`.
    pub fn parse(bytes: &[u8], btf: &Btf) -> Result<Ext, BtfError> {
        if bytes.len() < 24 || u16::from_le_bytes([bytes[0], bytes[1]]) != MAGIC {
            return fail(".BTF.ext has no valid header".into());
        }
        if bytes[2] != 1 {
            return fail(format!(".BTF.ext has version {}, expected 1", bytes[2]));
        }
        let header = word(bytes, 4) as usize;
        let part = |what: &str, at: usize| -> Result<&[u8], BtfError> {
            // Older compilers end the header before the CO-RE part.
            if header < at + 8 {
                return Ok(&[]);
            }
            let (offset, len) = (word(bytes, at) as usize, word(bytes, at + 4) as usize);
            let start = header.saturating_add(offset);
            match bytes.get(start..start.saturating_add(len)) {
                Some(part) => Ok(part),
                None => fail(format!(".BTF.ext: {what} part is truncated")),
            }
        };
        Ok(Ext {
            funcs: records("function", part("function", 8)?, 8, btf, |r| FuncInfo {
                offset: word(r, 0),
                ty: TypeId(word(r, 4)),
            })?,
            lines: records("line", part("line", 16)?, 16, btf, |r| LineInfo {
                offset: word(r, 0),
                file: word(r, 4),
                text: word(r, 8),
                line: word(r, 12) >> 10,
            })?,
            relos: records("CO-RE", part("CO-RE", 24)?, 16, btf, |r| CoreRelo {
                offset: word(r, 0),
                ty: TypeId(word(r, 4)),
                access: word(r, 8),
                kind: word(r, 12),
            })?,
        })
    }
}

/// Reads the per-section blocks of one part.
fn records<T>(
    what: &str,
    part: &[u8],
    least: usize,
    btf: &Btf,
    read: impl Fn(&[u8]) -> T,
) -> Result<Vec<PerSection<T>>, BtfError> {
    if part.is_empty() {
        return Ok(Vec::new());
    }
    let size = word(part, 0) as usize;
    if part.len() < 4 || size < least || size > 1 << 16 {
        return fail(format!(".BTF.ext: {what} records of {size} bytes, expected {least} or more"));
    }
    let mut all = Vec::new();
    let mut rest = &part[4..];
    while !rest.is_empty() {
        if rest.len() < 8 {
            return fail(format!(".BTF.ext: {what} part ends inside a block header"));
        }
        let section = btf.string(word(rest, 0)).to_string();
        let count = word(rest, 4) as usize;
        let len = count.saturating_mul(size);
        let Some(body) = rest[8..].get(..len) else {
            return fail(format!(".BTF.ext: {count} {what} records of {section} are truncated"));
        };
        all.push(PerSection { section, records: body.chunks_exact(size).map(&read).collect() });
        rest = &rest[8 + len..];
    }
    Ok(all)
}
