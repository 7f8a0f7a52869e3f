// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real-kernel tests: finds a kernel, packs a guest, boots it, and judges what it reports.
