// SPDX-License-Identifier: MIT OR Apache-2.0
//! BTF as it is found in files: plain (`/sys/kernel/btf/vmlinux`) or in an ELF file's
//! `.BTF` section (an uncompressed `vmlinux`, a module, an object).

use super::parse::{fail, MAGIC};
use super::{Btf, BtfError};
use object::{Object, ObjectSection};

/// `struct btf_header`.
const HEADER: u32 = 24;

impl Btf {
    /// Parses a file that is BTF or carries it.
    pub fn from_file(bytes: &[u8]) -> Result<Btf, BtfError> {
        if !bytes.starts_with(b"\x7fELF") {
            return Btf::parse(bytes);
        }
        let file = match object::File::parse(bytes) {
            Ok(file) => file,
            Err(e) => return fail(format!("not a usable ELF file: {e}")),
        };
        let Some(section) = file.section_by_name(".BTF") else {
            return fail("the ELF file has no .BTF section".into());
        };
        match section.data() {
            Ok(data) => Btf::parse(data),
            Err(e) => fail(format!("section .BTF: {e}")),
        }
    }

    /// The types as the content of a `.BTF` section or of `/sys/kernel/btf/vmlinux`
    /// (`include/uapi/linux/btf.h`).
    pub fn to_bytes(&self) -> Vec<u8> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let mut bytes = Vec::with_capacity((HEADER + types + strings) as usize);
        bytes.extend(MAGIC.to_le_bytes());
        // version 1, no flags
        bytes.extend([1, 0]);
        for word in [HEADER, 0, types, types, strings] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(&self.types);
        bytes.extend(self.strings.as_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_carry_no_btf_say_what_they_lack() {
        let text = Btf::from_file(b"\x7fELF and nothing else").unwrap_err().to_string();
        assert!(text.starts_with("BTF: not a usable ELF file"), "{text}");
        assert!(Btf::from_file(b"plain text").is_err());
    }
}
