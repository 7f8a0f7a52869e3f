// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is in a kernel's package and image.

use anyhow::{bail, Context, Result};
use rota_object::btf::Btf;
use ruzstd::decoding::StreamingDecoder;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
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

/// Type 18 of Xen's notes, with a 32- or 64-bit address: where to enter a kernel that is booted
/// without its decompressor.
const ENTRIES: [&[u8]; 2] =
    [b"\x04\0\0\0\x04\0\0\0\x12\0\0\0Xen\0", b"\x04\0\0\0\x08\0\0\0\x12\0\0\0Xen\0"];

/// What to boot of a kernel: the ELF file in it, kept in `dir`, or the image itself if that
/// file does not say where to enter it.
pub(crate) fn decompressed(vmlinuz: &Path, dir: &Path) -> Result<PathBuf> {
    let image = std::fs::read(vmlinuz).with_context(|| vmlinuz.display().to_string())?;
    let hash: String = Sha256::digest(&image)[..8].iter().map(|b| format!("{b:02x}")).collect();
    let kept = dir.join(hash);
    if !kept.is_file() {
        let elf = payload(&image).with_context(|| vmlinuz.display().to_string())?;
        let has = |entry: &&[u8]| elf.windows(entry.len()).any(|bytes| bytes == *entry);
        if !ENTRIES.iter().any(has) {
            return Ok(vmlinuz.to_owned());
        }
        std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
        // Renamed when complete: another run may look for it now.
        let mut partial = tempfile::NamedTempFile::new_in(dir)?;
        partial.write_all(&elf)?;
        partial.persist(&kept)?;
    }
    Ok(kept)
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
    fn only_a_kernel_that_says_where_it_is_entered_is_booted_without_its_decompressor() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("vmlinuz");
        let write = |elf: &[u8]| {
            std::fs::write(&file, compress_to_vec(elf, CompressionLevel::Fastest)).unwrap();
            decompressed(&file, &dir.path().join("kept")).unwrap()
        };
        assert_eq!(write(b"\x7fELF and no note"), file);
        let elf = [b"\x7fELF".as_slice(), ENTRIES[1], &[7; 8]].concat();
        let kept = write(&elf);
        assert_eq!(std::fs::read(&kept).unwrap(), elf);
        assert_eq!(write(&elf), kept);
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
