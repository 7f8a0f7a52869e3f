// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is in a kernel's package and image.

use anyhow::{bail, Context, Result};
use rota_bpf::btf::Btf;
use ruzstd::decoding::StreamingDecoder;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Writes the `vmlinuz` of a Debian package to a file.
pub(crate) fn unpack(package: &Path, to: &Path) -> Result<()> {
    let mut tar = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start dpkg-deb")?;
    let found = match tar.stdout.take() {
        Some(stream) => copy_image(stream, to),
        None => Ok(false),
    };
    // It may still have modules to write that nobody reads.
    let _ = tar.kill();
    tar.wait()?;
    match found {
        Ok(true) => Ok(()),
        Ok(false) => bail!("{}: has no vmlinuz", package.display()),
        Err(error) => Err(error).with_context(|| package.display().to_string()),
    }
}

fn copy_image(stream: impl Read, to: &Path) -> Result<bool> {
    for entry in tar::Archive::new(stream).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.file_name().map(|name| name.to_string_lossy().into_owned());
        if entry.size() > 0 && name.is_some_and(|name| name.starts_with("vmlinuz")) {
            io::copy(&mut entry, &mut File::create(to)?)?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Types of a kernel, from its compressed image.
pub(crate) fn btf(vmlinuz: &Path) -> Result<Btf> {
    let image = std::fs::read(vmlinuz).with_context(|| vmlinuz.display().to_string())?;
    let elf = payload(&image).with_context(|| vmlinuz.display().to_string())?;
    Btf::from_file(&elf).with_context(|| vmlinuz.display().to_string())
}

/// The ELF file in a `vmlinuz`: what follows the first zstd magic that is no coincidence.
fn payload(image: &[u8]) -> Result<Vec<u8>> {
    for at in (0..image.len().saturating_sub(4)).filter(|at| image[*at..].starts_with(&ZSTD_MAGIC))
    {
        let Ok(mut decoder) = StreamingDecoder::new(&image[at..]) else { continue };
        let mut elf = Vec::new();
        if decoder.read_to_end(&mut elf).is_ok() && elf.starts_with(b"\x7fELF") {
            return Ok(elf);
        }
    }
    bail!("no zstd-compressed kernel in it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ruzstd::encoding::{compress_to_vec, CompressionLevel};

    #[test]
    fn the_payload_is_found_behind_boot_code_and_a_false_magic() {
        let elf = [b"\x7fELF".as_slice(), &[7; 5000]].concat();
        let frame = compress_to_vec(elf.as_slice(), CompressionLevel::Fastest);
        let image = [b"MZ boot".as_slice(), &ZSTD_MAGIC, b"no frame", &frame, &[0; 64]].concat();
        assert_eq!(payload(&image).unwrap(), elf);
    }

    #[test]
    fn an_image_without_a_kernel_is_refused() {
        assert!(payload(b"MZ").is_err());
        let other = compress_to_vec(b"text".as_slice(), CompressionLevel::Fastest);
        assert!(payload(&other).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = payload(&[ZSTD_MAGIC.as_slice(), &bytes].concat());
        }
    }
}
