// SPDX-License-Identifier: MIT OR Apache-2.0
//! A map as compiled code reads it.

use super::{Body, Map};

/// What is known of a map without asking for it.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default)]
pub struct MapView {
    /// Of storage the address, in this process, of 32-bit words: by the number of the owner's region,
    /// which it begins, that of its value, which begins its own; 0 if nothing is known of it.
    pub values: usize,
    /// How many regions there are.
    pub regions: u64,
    /// Of an array the guest's address of the first element.
    pub base: u64,
    /// Bytes from one to the next.
    pub stride: u64,
    /// Bytes from one CPU's to the next CPU's.
    pub cpu_stride: u64,
    /// How many elements there are.
    pub entries: u32,
    /// How many CPUs have their own; 1 if all share them.
    pub cpus: u32,
}

impl Map {
    /// It holds until an entry is placed or deleted.
    pub(crate) fn view(&self) -> MapView {
        match &self.body {
            Body::Storage(storage) => {
                let by_region = storage.by_region();
                let values = by_region.as_ptr().expose_provenance();
                MapView { values, regions: by_region.len() as u64, ..MapView::default() }
            }
            Body::Array(array) => {
                let place = array.place();
                MapView {
                    base: place.base,
                    stride: place.stride.into(),
                    cpu_stride: place.cpu_stride.into(),
                    entries: place.entries,
                    cpus: array.cpus(),
                    ..MapView::default()
                }
            }
            _ => MapView::default(),
        }
    }
}
