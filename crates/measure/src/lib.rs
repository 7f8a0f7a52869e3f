// SPDX-License-Identifier: MIT OR Apache-2.0
//! See the crate description.
