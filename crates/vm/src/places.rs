// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where an instance has what its code refers to.

use crate::engine::Kept;
use crate::maps::ArrayPlace;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Addresses that code is decoded for.
#[derive(PartialEq, Eq)]
pub(crate) struct Places {
    /// Base address of each map's memory (0: none of its own).
    pub(crate) values: Vec<u64>,
    /// Address of each kernel variable.
    pub(crate) ksyms: Vec<u64>,
    /// Arrays by map number.
    pub(crate) arrays: Vec<Option<ArrayPlace>>,
    /// Address of the arena, 0 if there is none.
    pub(crate) arena: u64,
    /// Regions of arrays.
    pub(crate) kept: Vec<Kept>,
    /// Frozen contents by address.
    pub(crate) frozen: FxHashMap<u64, Arc<[u8]>>,
}
