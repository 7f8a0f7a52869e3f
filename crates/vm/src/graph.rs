// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs of owned objects in guest memory, laid out as the kernel does.

pub(crate) mod list;
pub(crate) mod rbtree;
