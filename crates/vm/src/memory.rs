// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guest memory: one address space of regions, shared by guest code and host.
//!
//! A guest address is `region id << 32 | offset`. Region 0 never exists, so NULL
//! and small numbers are never valid. Every guest access costs one region lookup
//! and one range compare; regions with rules of their own (read-only data, kernel
//! objects, arenas) carry a flag that sends the access to a slower check.

mod access;
mod arena;
pub mod handle;
mod shared;
mod sparse;
mod stays;
mod windows;

pub use shared::SharedBytes;
pub use sparse::PAGE_SIZE;
pub use windows::Window;

use crate::error::{Fault, FaultKind};
use rustc_hash::FxHashMap;
use sparse::Sparse;
use stays::Stays;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Freed region ids wait behind this many others before they are used again, so
/// that a stale pointer faults instead of reaching a newer object.
const REUSE_DELAY: usize = 1 << 16;

/// Loads from below this address read 0, as the kernel's exception table makes
/// loads through NULL pointers to kernel objects do. Larger than any such object.
pub const NULL_PAGE: u64 = 1 << 16;

/// Whether guest code that loads from here goes by a NULL pointer.
#[inline]
pub(crate) fn is_null(addr: u64) -> bool {
    addr < NULL_PAGE
}

/// What guest code may do with a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Perm {
    /// Loads only.
    ReadOnly,
    /// Loads and stores.
    ReadWrite,
}

/// Layout of a kernel object: which bytes the host keeps filled, which the guest may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Kernel type, for messages and counts.
    pub type_name: String,
    /// Bytes.
    pub size: u32,
    /// Byte ranges that the host fills with meaning.
    pub filled: Vec<Range<u32>>,
    /// Byte ranges that guest code may store to.
    pub writable: Vec<Range<u32>>,
}

/// A registered [`Shape`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeId(u32);

/// Extra checks that a region needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Plain memory.
    Plain,
    /// Guest stores fault.
    ReadOnly,
    /// A kernel object of this shape.
    Kernel(u32),
    /// An arena: pages come and go, index into [`Memory::arenas`].
    Arena(u32),
    /// Memory of somebody else's, index into [`Memory::shared`]. The region has no bytes of its own.
    Shared(u32),
}

/// One contiguous piece of guest memory.
#[derive(Debug)]
struct Region {
    data: Box<[u8]>,
    rule: Rule,
    name: u32,
    stays: Stays,
}

impl Region {
    fn new(data: Box<[u8]>, rule: Rule, name: u32) -> Self {
        Self { data, rule, name, stays: Stays::Free }
    }
}

/// A shape ready for use on the access path.
#[derive(Debug)]
struct ShapeState {
    type_name: String,
    size: u32,
    /// Bytes that an object has of its own; behind them it is zero.
    backed: u32,
    filled: Bits,
    writable: Bits,
    unfilled_reads: Vec<Cell<u64>>,
}

impl ShapeState {
    /// The same shape, of which nothing was read.
    fn unread(&self) -> Self {
        Self {
            type_name: self.type_name.clone(),
            size: self.size,
            backed: self.backed,
            filled: self.filled.clone(),
            writable: self.writable.clone(),
            unfilled_reads: vec![Cell::new(0); self.size as usize],
        }
    }
}

/// One bit per byte of a kernel object, or per page of an arena.
#[derive(Clone, Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(size: u32, ranges: &[Range<u32>]) -> Self {
        let mut bits = Self::default();
        bits.grow(size + 1);
        for range in ranges {
            bits.put(range.start..range.end.min(size), true);
        }
        bits
    }

    /// Has room for so many, if it had not.
    fn grow(&mut self, size: u32) {
        let words = size.div_ceil(64) as usize;
        self.0.resize(words.max(self.0.len()), 0);
    }

    fn put(&mut self, range: Range<u32>, value: bool) {
        for bit in range {
            let (word, mask) = (&mut self.0[bit as usize / 64], 1 << (bit % 64));
            *word = if value { *word | mask } else { *word & !mask };
        }
    }

    #[inline]
    fn get(&self, bit: usize) -> bool {
        self.0.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }
}

/// The address space of one instance.
#[derive(Debug)]
pub struct Memory {
    regions: Vec<Region>,
    /// What compiled code may do with each region by itself.
    windows: Vec<Window>,
    free: VecDeque<u32>,
    shapes: Vec<ShapeState>,
    arenas: Vec<Sparse>,
    shared: Vec<Box<dyn SharedBytes>>,
    /// What lies behind the bytes of kernel objects.
    zeroes: Box<[u8]>,
    names: Vec<String>,
    name_ids: FxHashMap<String, u32>,
    /// Loads through NULL, by offset.
    null_reads: RefCell<BTreeMap<u32, u64>>,
    /// Accesses to arena pages that are not allocated.
    arena_misses: Cell<u64>,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    /// An empty address space.
    pub fn new() -> Self {
        let mut memory = Self {
            regions: Vec::new(),
            windows: Vec::new(),
            free: VecDeque::new(),
            shapes: Vec::new(),
            arenas: Vec::new(),
            shared: Vec::new(),
            zeroes: Box::default(),
            names: Vec::new(),
            name_ids: FxHashMap::default(),
            null_reads: RefCell::default(),
            arena_misses: Cell::new(0),
        };
        // Region 0 stays empty: every access to it takes the slow path.
        let name = memory.name_id("NULL");
        memory.regions.push(Region::new(Box::default(), Rule::Plain, name));
        memory.renew_window(0);
        memory
    }

    /// An empty address space that knows the same shapes, by the same ids.
    #[must_use]
    pub fn with_shapes_of(other: &Self) -> Self {
        let mut memory = Self::new();
        memory.shapes.extend(other.shapes.iter().map(ShapeState::unread));
        memory.zeroes.clone_from(&other.zeroes);
        memory
    }

    /// A zeroed region of `size` bytes; returns its address.
    pub fn alloc(&mut self, name: &str, size: u32, perm: Perm) -> u64 {
        let rule = match perm {
            Perm::ReadOnly => Rule::ReadOnly,
            Perm::ReadWrite => Rule::Plain,
        };
        let name = self.name_id(name);
        self.insert(Region::new(zeroed(size), rule, name))
    }

    /// A zeroed region that may be written, and is there as long as the address space is.
    pub(crate) fn alloc_lasting(&mut self, name: &str, size: u32) -> u64 {
        let name = self.name_id(name);
        let region = Region::new(zeroed(size), Rule::Plain, name);
        self.insert(Region { stays: Stays::Lasts, ..region })
    }

    /// Registers the layout of a kernel type.
    pub fn add_shape(&mut self, shape: Shape) -> ShapeId {
        self.shapes.push(ShapeState {
            filled: Bits::new(shape.size, &shape.filled),
            writable: Bits::new(shape.size, &shape.writable),
            unfilled_reads: vec![Cell::new(0); shape.size as usize],
            type_name: shape.type_name,
            size: shape.size,
            backed: shape.size,
        });
        ShapeId(self.shapes.len() as u32 - 1)
    }

    /// Bytes of all objects of a shape that hold from now on what the kernel's would.
    pub fn fill(&mut self, shape: ShapeId, range: Range<u32>) {
        let state = &mut self.shapes[shape.0 as usize];
        state.filled.put(range.start..range.end.min(state.size), true);
    }

    /// Objects of a shape have bytes of their own up to here only, from now on. What lies behind reads
    /// as zero; neither host nor guest may store there.
    pub fn back(&mut self, shape: ShapeId, end: u32) {
        let state = &mut self.shapes[shape.0 as usize];
        state.backed = end.min(state.size).next_multiple_of(8).min(state.size);
        let behind = (state.size - state.backed) as usize;
        if behind > self.zeroes.len() {
            self.zeroes = zeroed(behind as u32);
        }
    }

    /// Bytes that a region has of its own.
    pub fn own_bytes(&self, addr: u64) -> u32 {
        self.region(addr).map_or(0, |region| region.data.len() as u32)
    }

    /// A zeroed kernel object. Guest loads outside `filled` return what is there and
    /// are counted; guest stores outside `writable` fault.
    pub fn alloc_kernel(&mut self, shape: ShapeId) -> u64 {
        let state = &self.shapes[shape.0 as usize];
        let (backed, type_name) = (state.backed, state.type_name.clone());
        let name = self.name_id(&type_name);
        self.insert(Region::new(zeroed(backed), Rule::Kernel(shape.0), name))
    }

    /// Ends the life of the region that holds `addr`: later guest access faults.
    /// An address of no live region is ignored, and so is that of one that stays.
    pub fn free(&mut self, addr: u64) {
        let id = (addr >> 32) as u32;
        if id == 0 || !self.is_live(addr) || self.regions[id as usize].stays != Stays::Free {
            return;
        }
        let freed = self.name_id("freed memory");
        self.regions[id as usize] = Region::new(Box::default(), Rule::Plain, freed);
        self.renew_window(id as usize);
        self.free.push_back(id);
    }

    /// Whether `addr` lies in a region that exists (the end of a region does not).
    pub fn is_live(&self, addr: u64) -> bool {
        (addr as u32) < self.region_size(addr)
    }

    /// Size of the region that holds `addr`, 0 if there is none.
    pub fn region_size(&self, addr: u64) -> u32 {
        match self.region(addr) {
            Some(Region { rule: Rule::Shared(at), .. }) => {
                self.shared[*at as usize].bytes().len() as u32
            }
            Some(Region { rule: Rule::Kernel(shape), .. }) => self.shapes[*shape as usize].size,
            region => region.map_or(0, |region| region.data.len() as u32),
        }
    }

    /// Changes what guest code may do with a plain region.
    pub fn set_perm(&mut self, addr: u64, perm: Perm) {
        if let Some(region) = self.regions.get_mut((addr >> 32) as usize) {
            match (region.rule, perm) {
                _ if region.stays != Stays::Free => {}
                (Rule::Plain, Perm::ReadOnly) => region.rule = Rule::ReadOnly,
                (Rule::ReadOnly, Perm::ReadWrite) => region.rule = Rule::Plain,
                _ => {}
            }
            self.renew_window((addr >> 32) as usize);
        }
    }

    /// Loads of kernel fields that nothing filled, through NULL included:
    /// type name, offset, count.
    pub fn unfilled_reads(&self) -> Vec<(String, u32, u64)> {
        let mut rows = Vec::new();
        for shape in &self.shapes {
            for (offset, count) in
                shape.unfilled_reads.iter().enumerate().filter(|(_, c)| c.get() > 0)
            {
                rows.push((shape.type_name.clone(), offset as u32, count.get()));
            }
        }
        for (&offset, &count) in self.null_reads.borrow().iter() {
            rows.push(("NULL".to_owned(), offset, count));
        }
        if self.arena_misses.get() > 0 {
            rows.push(("unallocated arena page".to_owned(), 0, self.arena_misses.get()));
        }
        rows
    }

    /// The fault of a bad access, naming the region.
    #[cold]
    pub fn bad_address(&self, addr: u64, size: u32, write: bool) -> Fault {
        let region = match self.region(addr) {
            Some(region) if addr >> 32 != 0 => {
                format!("{}, {} bytes", self.names[region.name as usize], self.region_size(addr))
            }
            _ => "no region".to_owned(),
        };
        Fault::new(FaultKind::BadAddress { addr, size, write, region })
    }

    #[inline]
    fn region(&self, addr: u64) -> Option<&Region> {
        self.regions.get((addr >> 32) as usize)
    }

    fn insert(&mut self, region: Region) -> u64 {
        if self.free.len() > REUSE_DELAY {
            if let Some(id) = self.free.pop_front() {
                self.regions[id as usize] = region;
                self.renew_window(id as usize);
                return u64::from(id) << 32;
            }
        }
        self.regions.push(region);
        self.renew_window(self.regions.len() - 1);
        (self.regions.len() as u64 - 1) << 32
    }

    fn name_id(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.name_ids.get(name) {
            return id;
        }
        let id = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.name_ids.insert(name.to_owned(), id);
        id
    }
}

fn zeroed(size: u32) -> Box<[u8]> {
    vec![0; size as usize].into_boxed_slice()
}
