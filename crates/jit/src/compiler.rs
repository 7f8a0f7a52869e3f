// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machine code of a program's functions.

use crate::liveness::Liveness;
use crate::translate::{translate, Places};
use rota_vm::engine::Listing;

/// Compiles functions of one program.
pub(crate) struct Compiler {
    listing: Listing,
    liveness: Liveness,
}

impl Compiler {
    pub(crate) fn new(listing: &Listing) -> Self {
        Self { listing: listing.clone(), liveness: Liveness::of(listing) }
    }

    /// Machine code of a function, to be put anywhere, as long as
    /// these places are there; `None` if something in it cannot be encoded.
    pub(crate) fn compile(&self, function: usize, places: Places<'_>) -> Option<Vec<u8>> {
        let function = self.listing.functions.get(function)?;
        translate(&self.listing, &self.liveness, function, places).ok()
    }
}
