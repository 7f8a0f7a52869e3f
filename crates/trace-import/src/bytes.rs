// SPDX-License-Identifier: MIT OR Apache-2.0
//! Little-endian numbers and texts of a piece of a file, each with its place.

use crate::error::Fault;

/// A piece of a file, read from front to back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a> {
    left: &'a [u8],
    /// Place of the next byte in the file, or where the compressed piece begins that it is in.
    place: u64,
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(bytes: &'a [u8], place: u64) -> Self {
        Self { left: bytes, place }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.left
    }

    pub(crate) fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::byte(self.place, what)
    }

    /// So many bytes of `what`.
    pub(crate) fn take(&mut self, len: u64, what: &str) -> Result<&'a [u8], Fault> {
        match usize::try_from(len).ok().filter(|len| *len <= self.left.len()) {
            Some(len) => {
                let (taken, left) = self.left.split_at(len);
                self.left = left;
                self.place += len as u64;
                Ok(taken)
            }
            None => {
                let left = self.left.len();
                Err(self.fault(format!("{what} of {len} bytes: {left} bytes are left here")))
            }
        }
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Fault> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64, what)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self, what: &str) -> Result<u8, Fault> {
        self.array::<1>(what).map(|byte| byte[0])
    }

    pub(crate) fn u16(&mut self, what: &str) -> Result<u16, Fault> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self, what: &str) -> Result<u32, Fault> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, what: &str) -> Result<u64, Fault> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A text that a zero byte ends.
    pub(crate) fn text(&mut self, what: &str) -> Result<String, Fault> {
        let Some(len) = self.left.iter().position(|byte| *byte == 0) else {
            return Err(self.fault(format!("{what}: expected a zero byte at its end")));
        };
        let text = self.take(len as u64, what)?;
        self.take(1, what)?;
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// These bytes and no others.
    pub(crate) fn expect(&mut self, expected: &[u8]) -> Result<(), Fault> {
        if !self.left.starts_with(expected) {
            let begin = &self.left[..expected.len().min(self.left.len())];
            let (found, expected) = (begin.escape_ascii(), expected.escape_ascii());
            return Err(self.fault(format!("\"{found}\": expected \"{expected}\"")));
        }
        self.take(expected.len() as u64, "").map(drop)
    }
}
