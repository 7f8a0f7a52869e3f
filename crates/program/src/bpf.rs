// SPDX-License-Identifier: MIT OR Apache-2.0
//! `bpf(2)` as Rota plays it (`kernel/bpf/syscall.c`).
//!
//! Until a scheduler is attached there is no machine: maps hold what the program has put there,
//! programs are kept as they were loaded. Then an [`Image`](rota_object::image::Image) is made of
//! them ([`Played::image`]), the machine runs it, and commands act on the machine's maps.

mod attr;
mod elements;
mod fill;
mod ids;
mod image;
mod info;
mod links;
mod load;
mod map_create;
mod objects;
mod pages;
mod played;
mod recorder;
mod run;
mod struct_ops;
mod table;
mod types;
mod uapi;
mod verify;

pub use image::ImageError;
pub use objects::ObjectId;
pub use pages::Ready;
pub use played::Played;

use crate::Errno;
use rota_object::image::StructOps;
use rota_vm::memory::SharedBytes;
use std::ops::Range;

/// The program that calls.
pub trait Caller {
    /// Reads its memory; `EFAULT` where it has none.
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), Errno>;
    /// Writes its memory; `EFAULT` where it may not.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Errno>;
    /// The object behind a descriptor; `EBADF` if it has no such descriptor, `EINVAL` if that is of
    /// something else.
    fn object_of(&self, fd: i32) -> Result<ObjectId, Errno>;
    /// Bytes of a map that the program can map.
    fn read_pages(&self, map: ObjectId, offset: u64, to: &mut [u8]);
    /// Stores bytes in such a map.
    fn write_pages(&mut self, map: ObjectId, offset: u64, bytes: &[u8]);
    /// Where such a map has been written (`SEEK_DATA`): ranges of bytes, of whole pages.
    fn data_in_pages(&self, map: ObjectId) -> Vec<Range<u64>>;
    /// The address at which it has mapped such a map, if it has.
    fn mapped_at(&self, map: ObjectId) -> Option<u64>;
    /// Which of so many pages from an address on the program can have written: those that are in its
    /// page tables.
    fn touched(&self, address: u64, pages: u32) -> Vec<bool>;
    /// The section that libbpf would give a program for the performance event behind a descriptor:
    /// `kprobe/NAME`, `kretprobe/NAME` or `tp/GROUP/NAME`; `EBADF` if there is no such descriptor,
    /// `EINVAL` if it is of something else.
    fn probe_of(&self, fd: i32) -> Result<String, Errno>;
    /// What is at this offset of a map is known, and counts as not touched. The bytes are those that
    /// are there: the program's page tables lose their pages, and it finds them again.
    fn untouch(&mut self, map: ObjectId, offset: u64, bytes: &[u8]);
    /// The first `len` bytes of such a map, in memory that both have; `None` if that is not possible:
    /// they are copied then.
    fn share_pages(&self, map: ObjectId, len: u32) -> Option<Box<dyn SharedBytes>>;
    /// Takes pages out of such a map: their bytes read 0, and they count as never written.
    fn drop_pages(&mut self, map: ObjectId, range: Range<u64>);
}

/// What a call returns.
#[derive(Debug)]
pub enum Reply {
    /// This number.
    Value(i64),
    /// A new descriptor of an object.
    Descriptor {
        /// The object.
        id: ObjectId,
        /// Bytes of its file, 0 if the program cannot map it.
        pages: u64,
    },
    /// Nothing yet: the call needs the machine. It is made from [`Played::image`], then the same
    /// call is to be made again, live.
    NeedsMachine,
    /// A scheduler is attached.
    Attached {
        /// Its link, for a new descriptor; without one it stays until the program detaches it.
        id: Option<ObjectId>,
        /// Its callbacks and plain members.
        table: StructOps,
    },
    /// The attached scheduler is detached.
    Detached,
}
