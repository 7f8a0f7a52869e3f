// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loading an object: from the bytes of a file to an image.

mod btf;
mod co_re;
mod hostile;
mod linked;
mod settings;
mod statistics;
mod support;
