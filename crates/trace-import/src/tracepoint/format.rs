// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of a tracepoint's format file.

/// Where a field is in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    offset: usize,
    size: usize,
    signed: bool,
    /// The field holds offset and length of its text (`__data_loc`), the offset counted from the
    /// record's begin or, with `__rel_loc`, from the field's end.
    location: Option<Location>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location {
    Data,
    Relative,
}

/// A tracepoint's format.
#[derive(Debug)]
pub(super) struct Format {
    pub(super) id: u16,
    fields: Vec<(String, Field)>,
    /// How it is printed.
    pub(super) print: String,
}

/// The tracepoint's name.
pub(super) fn name(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("name:")).map(str::trim)
}

impl Format {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (mut id, mut fields, mut print) = (None, Vec::new(), String::new());
        for line in text.lines() {
            if let Some(number) = line.strip_prefix("ID:") {
                let number = number.trim();
                let parsed = number.parse().map_err(|_| format!("ID {number}: expected a number"));
                id = Some(parsed?);
            } else if let Some(field) = line.trim_start().strip_prefix("field:") {
                fields.push(
                    parse_field(field)
                        .ok_or_else(|| format!("field {field}: expected its offset and size"))?,
                );
            } else if let Some(text) = line.strip_prefix("print fmt:") {
                print = text.trim().to_owned();
            }
        }
        let id = id.ok_or("expected a line \"ID: \" with its number")?;
        Ok(Self { id, fields, print })
    }

    fn field(&self, name: &str) -> Result<&Field, String> {
        let found = self.fields.iter().find(|(known, _)| known == name).map(|(_, field)| field);
        found.ok_or_else(|| format!("no field {name}"))
    }

    /// A field that is a number.
    pub(super) fn number(&self, name: &str) -> Result<Field, String> {
        let field = self.field(name)?;
        match (field.size, field.location) {
            (1 | 2 | 4 | 8, None) => Ok(field.clone()),
            (size, _) => Err(format!("field {name} of {size} bytes: expected a number")),
        }
    }

    /// A field that is a text.
    pub(super) fn text(&self, name: &str) -> Result<Field, String> {
        self.field(name).cloned()
    }
}

/// `char prev_comm[16]; offset:8; size:16; signed:0;`, with tabs between.
fn parse_field(text: &str) -> Option<(String, Field)> {
    let mut parts = text.split(';').map(str::trim);
    let declaration = parts.next()?;
    let (mut offset, mut size, mut signed) = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", number)) => offset = number.parse().ok(),
            Some(("size", number)) => size = number.parse().ok(),
            Some(("signed", number)) => signed = number == "1",
            _ => {}
        }
    }
    let location = match declaration {
        text if text.starts_with("__data_loc") => Some(Location::Data),
        text if text.starts_with("__rel_loc") => Some(Location::Relative),
        _ => None,
    };
    let name = declaration.split_whitespace().last()?;
    let name = name.split('[').next()?.trim_start_matches('*');
    Some((name.to_owned(), Field { offset: offset?, size: size?, signed, location }))
}

impl Field {
    fn place<'a>(&self, raw: &'a [u8]) -> Option<&'a [u8]> {
        raw.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// The number that the field holds.
    pub(super) fn signed(&self, raw: &[u8]) -> Option<i64> {
        let bytes = self.place(raw)?;
        let mut wide = [0; 8];
        wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let unused = 64 - 8 * bytes.len() as u32;
        let number = u64::from_le_bytes(wide);
        Some(match self.signed && unused < 64 {
            true => ((number << unused) as i64) >> unused,
            false => number as i64,
        })
    }

    /// The bytes of a text, with what is behind its end.
    pub(super) fn bytes<'a>(&self, raw: &'a [u8]) -> Option<&'a [u8]> {
        let bytes = self.place(raw)?;
        let Some(location) = self.location else { return Some(bytes) };
        let word = u32::from_le_bytes(bytes.try_into().ok()?);
        let (offset, len) = ((word & 0xffff) as usize, (word >> 16) as usize);
        let from = match location {
            Location::Data => offset,
            Location::Relative => self.offset + self.size + offset,
        };
        raw.get(from..from + len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: x\nID: 318\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char comm[4];\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:__data_loc char[] long_comm;\toffset:12;\tsize:4;\tsigned:0;\n\
        \nprint fmt: \"%s\", REC->comm\n";

    #[test]
    fn fields_are_where_the_format_says() {
        let format = Format::parse(FORMAT).unwrap();
        let mut raw = vec![0x3e, 1, 0, 0, 0xfe, 0xff, 0xff, 0xff, b'a', b'b', 0, 0];
        raw.extend((16u32 | 3 << 16).to_le_bytes());
        raw.extend(b"xyz!");
        assert_eq!(format.id, 318);
        assert_eq!(format.number("common_pid").unwrap().signed(&raw), Some(-2));
        assert_eq!(format.number("common_type").unwrap().signed(&raw), Some(318));
        assert_eq!(format.text("comm").unwrap().bytes(&raw), Some(&b"ab\0\0"[..]));
        assert_eq!(format.text("long_comm").unwrap().bytes(&raw), Some(&b"xyz"[..]));
        assert_eq!(format.number("common_pid").unwrap().signed(&raw[..7]), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        let format = Format::parse(FORMAT).unwrap();
        assert_eq!(format.number("prio").unwrap_err(), "no field prio");
        assert_eq!(
            format.number("long_comm").unwrap_err(),
            "field long_comm of 4 bytes: expected a number"
        );
        assert!(Format::parse("name: x\n").unwrap_err().contains("ID"));
        assert!(Format::parse("ID: 70000\n").unwrap_err().contains("70000"));
    }
}
