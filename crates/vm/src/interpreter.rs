// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interpreter: an image decoded once, then one op after the other.

mod alu;
mod atomic;
mod decode;
mod fold;
mod op;
mod program;
mod resume;
mod run;

use crate::code::Code;
use crate::host::Host;
use crate::places::Places;
use crate::runtime::Runtime;
use crate::table::CallTable;
use rota_object::image::Image;
use std::sync::Arc;

/// Decodes all functions of an image.
pub(crate) fn decode<H: Host>(
    image: &Arc<Image>,
    table: &CallTable<H>,
    places: &Places,
) -> Arc<dyn Code<Runtime<H>, H>> {
    Arc::new(decode::decode(image, table, places))
}
