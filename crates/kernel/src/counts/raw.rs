// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory that the programs write (`bpf/count.bpf.h`), as words.

use libbpf_rs::{MapCore, Object};
use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Cells of a CPU, and marks of a clock.
pub(super) const STEPS: usize = 256;
/// Latencies in the log of a CPU.
pub(super) const LOGGED: u64 = 16_384;
/// In an entry of that, below the place.
pub(super) const LATENCY_BITS: u32 = 44;
/// Counts of a histogram.
pub(super) const BUCKETS: usize = 4096;
/// Below the time of a word of waits.
pub(super) const WAITING_BITS: u32 = 20;
/// Below the time of what a task does.
pub(super) const DOES_BITS: u32 = 2;

/// Words of `struct shared`.
pub(super) mod shared {
    pub(crate) const USED: usize = 0;
    pub(crate) const LOST: usize = 1;
    pub(crate) const BEGIN_NS: usize = 2;
    pub(crate) const HALF: usize = 3;
    pub(crate) const ONLINE: usize = 4;
    pub(crate) const CPUS: usize = 5;
}

/// Words of `struct waits` and `struct mark`.
pub(super) mod waits {
    use super::STEPS;
    pub(crate) const WORD: usize = 0;
    pub(crate) const CLOCK_NS: usize = 1;
    pub(crate) const MARKS: usize = 4;
    pub(crate) const MARK: usize = 4;
    pub(crate) const SIZE: usize = MARKS + MARK * STEPS;
}

/// Words of `struct cpu` and `struct cell`.
pub(super) mod cpu {
    use super::STEPS;
    pub(crate) const CELLS: usize = 2;
    pub(crate) const CELL: usize = 10;
    pub(crate) const SIZE: usize = CELLS + CELL * STEPS;
}

/// Words of `struct place`.
pub(super) mod place {
    pub(crate) const DOES: usize = 0;
    pub(crate) const RUN_NS: usize = 1;
    pub(crate) const DELAY_NS: usize = 2;
    pub(crate) const SWITCHES: usize = 3;
    pub(crate) const CPU: usize = 8;
    pub(crate) const HISTOGRAM: usize = 13;
    pub(crate) const ABOUT: usize = 14;
    pub(crate) const PID: usize = 15;
    pub(crate) const FLAGS: usize = 16;
    pub(crate) const GROUP: usize = 17;
    pub(crate) const COMM: usize = 18;
    pub(crate) const SIZE: usize = 22;
    /// Flags.
    pub(crate) const IS_KTHREAD: u64 = 1;
    pub(crate) const HAS_ENDED: u64 = 2;
}

/// Words of `struct log`.
pub(super) mod log {
    use super::LOGGED;
    pub(crate) const HEAD: usize = 0;
    pub(crate) const TAIL: usize = 1;
    pub(crate) const ENTRIES: usize = 2;
    pub(crate) const SIZE: usize = ENTRIES + LOGGED as usize;
}

/// Words of `struct histogram`.
pub(super) mod histogram {
    use super::BUCKETS;
    pub(crate) const LEAST: usize = 0;
    pub(crate) const MOST: usize = 1;
    pub(crate) const COUNTS: usize = 2;
    pub(crate) const SIZE: usize = COUNTS + BUCKETS / 2;
}

/// Some words of one thing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'a>(pub(super) &'a [AtomicU64]);

impl<'a> Words<'a> {
    pub(super) fn get(self, at: usize) -> u64 {
        self.0[at].load(Ordering::Acquire)
    }

    pub(super) fn set(self, at: usize, value: u64) {
        self.0[at].store(value, Ordering::Release);
    }

    pub(super) fn part(self, at: usize, size: usize) -> Words<'a> {
        Words(&self.0[at..at + size])
    }
}

/// The entries of a map, which the kernel writes at any time.
#[derive(Debug)]
pub(super) struct Area {
    memory: NonNull<libc::c_void>,
    bytes: usize,
    words: usize,
    size: usize,
}

impl Area {
    /// Of a map whose entries have so many words.
    pub(super) fn map(object: &Object, name: &str, size: usize) -> io::Result<Self> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("the map {name}"));
        let map = object.maps().find(|map| map.name() == name).ok_or_else(missing)?;
        if map.value_size() as usize != size * 8 {
            let of = map.value_size();
            return Err(io::Error::other(format!("the map {name}: entries of {of} bytes")));
        }
        let words = size * map.max_entries() as usize;
        let page = rustix::param::page_size();
        let bytes = (words * 8).next_multiple_of(page);
        // The kernel gives this much memory for a map that can be mapped, or refuses. Nothing else
        // of ours is there, and only `drop()` takes it away.
        #[allow(unsafe_code)]
        let memory = unsafe {
            let flags = rustix::mm::MapFlags::SHARED;
            let both = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE;
            rustix::mm::mmap(std::ptr::null_mut(), bytes, both, flags, map.as_fd(), 0)?
        };
        let memory = NonNull::new(memory).ok_or_else(|| io::Error::other("no memory"))?;
        Ok(Self { memory, bytes, words, size })
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.words / self.size
    }

    /// An entry.
    pub(super) fn at(&self, index: usize) -> Words<'_> {
        // The memory has so many words, lives as long as `self`, and whoever shares it, the kernel,
        // writes whole words: as atomics they are read and written by any number of threads.
        #[allow(unsafe_code)]
        let all = unsafe {
            std::slice::from_raw_parts(self.memory.as_ptr().cast::<AtomicU64>(), self.words)
        };
        Words(&all[index * self.size..(index + 1) * self.size])
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // It was mapped with this size, and all borrows of it have ended.
        #[allow(unsafe_code)]
        // Nobody can do anything about a failure.
        let _ = unsafe { rustix::mm::munmap(self.memory.as_ptr(), self.bytes) };
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// Memory of an entry that a test writes in place of the kernel.
    #[derive(Debug)]
    pub(crate) struct Entry(Vec<AtomicU64>);

    impl Entry {
        pub(crate) fn new(size: usize) -> Self {
            Self((0..size).map(|_| AtomicU64::new(0)).collect())
        }

        pub(crate) fn words(&self) -> Words<'_> {
            Words(&self.0)
        }
    }
}
