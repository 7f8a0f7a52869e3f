// SPDX-License-Identifier: MIT OR Apache-2.0
//! A file that is read in pieces, none of them larger than the file.

use crate::error::Fault;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use prost::bytes::Bytes;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

/// What a trace is read from.
pub trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

/// A file with its length.
pub(crate) struct Input {
    reader: BufReader<Box<dyn Source>>,
    len: u64,
    at: u64,
}

impl Input {
    pub(crate) fn new(mut source: Box<dyn Source>) -> Result<Self, Fault> {
        let len = source.seek(SeekFrom::End(0))?;
        source.seek(SeekFrom::Start(0))?;
        Ok(Self { reader: BufReader::with_capacity(1 << 16, source), len, at: 0 })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Where the next byte comes from.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Goes to a place in the file, which `what` is about.
    pub(crate) fn seek(&mut self, to: u64, what: &str) -> Result<(), Fault> {
        if to > self.len {
            let len = self.len;
            return Err(Fault::file(format!("{what} at byte {to}: the file ends at byte {len}")));
        }
        // Within the buffer, where it can be.
        self.reader.seek_relative(to as i64 - self.at as i64)?;
        self.at = to;
        Ok(())
    }

    /// Reads so many bytes of `what` into a cleared buffer.
    pub(crate) fn read(&mut self, len: u64, what: &str, into: &mut Vec<u8>) -> Result<(), Fault> {
        let left = self.len - self.at;
        if len > left {
            let found = format!("{what} of {len} bytes: {left} bytes are left in the file");
            return Err(Fault::byte(self.at, found));
        }
        into.clear();
        let read = (&mut self.reader).take(len).read_to_end(into)? as u64;
        self.at += read;
        match read == len {
            true => Ok(()),
            false => Err(Fault::byte(self.at, format!("{what}: the file became shorter"))),
        }
    }

    /// Reads a piece of `what` that must not be longer than `most`.
    pub(crate) fn piece(&mut self, len: u64, most: u64, what: &str) -> Result<Vec<u8>, Fault> {
        if len > most {
            let found = format!("{what} of {len} bytes: expected at most {most}");
            return Err(Fault::byte(self.at, found));
        }
        let mut bytes = Vec::new();
        self.read(len, what, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads so many bytes, fewer at the end of the file.
    pub(crate) fn start(&mut self, most: u64) -> Result<Vec<u8>, Fault> {
        self.piece(most.min(self.len - self.at), most, "the file")
    }

    /// Reads a line without its end into a cleared buffer; false: the file has ended.
    pub(crate) fn line(&mut self, most: usize, into: &mut Vec<u8>) -> Result<bool, Fault> {
        into.clear();
        let read = (&mut self.reader).take(most as u64 + 1).read_until(b'\n', into)?;
        self.at += read as u64;
        if into.last() == Some(&b'\n') {
            into.pop();
            if into.last() == Some(&b'\r') {
                into.pop();
            }
        } else if into.len() > most {
            let begin = self.at - read as u64;
            return Err(Fault::byte(begin, format!("a line longer than {most} bytes")));
        }
        Ok(read > 0)
    }

    /// Any of it, in pieces.
    pub(crate) fn into_chunks(self) -> Chunks {
        Chunks { source: Arc::new(Mutex::new(self.reader.into_inner())), len: self.len }
    }

    /// All that is left, as a reader.
    pub(crate) fn into_reader(self) -> BufReader<Box<dyn Source>> {
        self.reader
    }
}

/// A file that is read here and there.
pub(crate) struct Chunks {
    source: Arc<Mutex<Box<dyn Source>>>,
    len: u64,
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<Chunk>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(Chunk { source: Arc::clone(&self.source), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let left = self.len.saturating_sub(start);
        if length as u64 > left {
            let what = format!("{length} bytes at byte {start}: the file has {left} there");
            return Err(ParquetError::EOF(what));
        }
        let mut bytes = vec![0; length];
        Chunk { source: Arc::clone(&self.source), at: start }.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// A place in it, from where it is read.
pub(crate) struct Chunk {
    source: Arc<Mutex<Box<dyn Source>>>,
    at: u64,
}

impl Read for Chunk {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        source.seek(SeekFrom::Start(self.at))?;
        let read = source.read(into)?;
        self.at += read as u64;
        Ok(read)
    }
}
