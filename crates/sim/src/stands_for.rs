// SPDX-License-Identifier: MIT OR Apache-2.0
//! Policies that stand for a class that a kernel has itself. That is native code, and the time of its
//! decisions is a part of what a switch and a wakeup take.

use crate::heeds::scheduler;
use rota_object::image::Image;

/// The kernel's own class that the object says its policy stands for (`SCX_OPS_STANDS_FOR()` of
/// `rota.bpf.h`), as `Linux's fair class`.
pub fn stands_for(image: &Image) -> Option<&str> {
    scheduler(image)?.tags.iter().find_map(|tag| tag.strip_prefix("stands-for:"))
}
