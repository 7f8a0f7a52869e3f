// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bytes of a CPU's records, a page at a time, decompressed where they need it.

use crate::error::Fault;
use crate::input::Input;
use std::cell::RefCell;
use std::io::Read;
use std::rc::Rc;

/// Most bytes of a chunk, compressed or not. trace-cmd's have 10 pages or so.
const MOST: u64 = 16 << 20;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Zlib,
    Zstd,
}

impl Compression {
    /// By the name in the file's header.
    pub(super) fn named(name: &str) -> Result<Self, String> {
        match name {
            "none" | "" => Ok(Compression::None),
            "zlib" => Ok(Compression::Zlib),
            "zstd" => Ok(Compression::Zstd),
            _ => Err(format!("compressed by {name}: expected none, zlib or zstd")),
        }
    }

    /// Decompresses so many bytes.
    pub(super) fn decompress(self, from: &[u8], len: u64, place: u64) -> Result<Vec<u8>, Fault> {
        let fault = |what: String| Fault::byte(place, format!("compressed piece: {what}"));
        let mut out = Vec::new();
        // One more byte would be too many.
        let most = len + 1;
        match self {
            Compression::None => out.extend_from_slice(from),
            Compression::Zlib => {
                let mut reader = flate2::read::ZlibDecoder::new(from).take(most);
                reader.read_to_end(&mut out).map_err(|error| fault(error.to_string()))?;
            }
            Compression::Zstd => {
                let mut from = from;
                let decoder = ruzstd::decoding::StreamingDecoder::new(&mut from)
                    .map_err(|error| fault(error.to_string()))?;
                let mut reader = decoder.take(most);
                reader.read_to_end(&mut out).map_err(|error| fault(error.to_string()))?;
            }
        }
        match out.len() as u64 {
            found if found == len => Ok(out),
            found => Err(fault(format!("{found} bytes or more: expected {len}"))),
        }
    }
}

/// The bytes of one CPU.
pub(super) struct Chunks {
    input: Rc<RefCell<Input>>,
    compression: Compression,
    /// Where the next byte or chunk is, and where they end.
    at: u64,
    end: u64,
    chunks: u32,
    /// What is decompressed and not used yet.
    ready: Vec<u8>,
    used: usize,
    /// Where it came from.
    place: u64,
}

impl Chunks {
    pub(super) fn new(
        input: Rc<RefCell<Input>>,
        compression: Compression,
        from: u64,
        len: u64,
    ) -> Result<Self, Fault> {
        let end = from.checked_add(len).filter(|end| *end <= input.borrow().len());
        let end = end.ok_or_else(|| {
            let file = input.borrow().len();
            Fault::file(format!(
                "records from byte {from}, {len} bytes: the file ends at byte {file}"
            ))
        })?;
        let (ready, used, place) = (Vec::new(), 0, from);
        let mut chunks = Self { input, compression, at: from, end, chunks: 0, ready, used, place };
        if compression != Compression::None && len > 0 {
            chunks.chunks = chunks.word("number of chunks")?;
        }
        Ok(chunks)
    }

    fn word(&mut self, what: &str) -> Result<u32, Fault> {
        let mut input = self.input.borrow_mut();
        input.seek(self.at, what)?;
        let word = input.piece(4, 4, what)?;
        self.at += 4;
        Ok(u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
    }

    /// Reads the next page into a cleared buffer; its place in the file, or that of the chunk that
    /// it is in. `None`: that was all.
    pub(super) fn page(&mut self, size: u32, into: &mut Vec<u8>) -> Result<Option<u64>, Fault> {
        into.clear();
        if self.compression == Compression::None {
            let place = self.at;
            let left = self.end - self.at;
            if left == 0 {
                return Ok(None);
            }
            let mut input = self.input.borrow_mut();
            input.seek(self.at, "a page")?;
            input.read(u64::from(size).min(left), "a page", into)?;
            self.at = input.at();
            return Ok(Some(place));
        }
        while into.len() < size as usize {
            if self.used == self.ready.len() {
                if self.chunks == 0 {
                    break;
                }
                self.chunk()?;
                continue;
            }
            let from = &self.ready[self.used..];
            let taken = from.len().min(size as usize - into.len());
            into.extend_from_slice(&from[..taken]);
            self.used += taken;
        }
        Ok((!into.is_empty()).then_some(self.place))
    }

    fn chunk(&mut self) -> Result<(), Fault> {
        self.place = self.at;
        self.chunks -= 1;
        let packed = u64::from(self.word("size of a chunk")?);
        let plain = u64::from(self.word("size of a chunk")?);
        if plain > MOST || packed > MOST {
            let place = self.place;
            return Err(Fault::byte(
                place,
                format!("a chunk of {packed} bytes, of {plain} plain ones: too large"),
            ));
        }
        let bytes = {
            let mut input = self.input.borrow_mut();
            input.seek(self.at, "a chunk")?;
            input.piece(packed, MOST, "a chunk")?
        };
        self.at += packed;
        self.ready = self.compression.decompress(&bytes, plain, self.place)?;
        self.used = 0;
        Ok(())
    }
}
