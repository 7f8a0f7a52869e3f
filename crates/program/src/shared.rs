// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages that the program and the machine have both.
#![allow(unsafe_code)]

use memmap2::MmapMut;
use rota_vm::memory::SharedBytes;
use std::fs::File;
use std::io;

/// The first bytes of a file in memory, which the program maps, too.
pub(crate) struct Pages {
    map: MmapMut,
}

impl Pages {
    /// The first `len` bytes, which the file must have.
    pub(crate) fn of(file: &File, len: usize) -> io::Result<Self> {
        if file.metadata()?.len() < len as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // SAFETY: the file stays as long as it is, as nobody but Rota can change that. All of the
        // program's threads stand still in a system call while the machine uses the bytes.
        let map = unsafe { memmap2::MmapOptions::new().len(len).map_mut(file)? };
        Ok(Self { map })
    }
}

impl SharedBytes for Pages {
    fn bytes(&self) -> &[u8] {
        &self.map
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }
}
