// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the host and the guest of a machine test say to each other.
