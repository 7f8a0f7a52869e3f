// SPDX-License-Identifier: MIT OR Apache-2.0
//! An output that runs full, for the tests of the exporters.

use std::io::{self, Write};

/// Takes so many bytes, then fails.
pub(crate) struct Full(pub(crate) usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "disk full"));
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
