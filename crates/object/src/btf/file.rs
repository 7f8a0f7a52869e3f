// SPDX-License-Identifier: MIT OR Apache-2.0
//! BTF as it is found in files: plain (`/sys/kernel/btf/vmlinux`) or in an ELF file's
//! `.BTF` section (an uncompressed `vmlinux`, a module, an object).

use super::parse::fail;
use super::{Btf, BtfError};
use object::{Object, ObjectSection};

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
