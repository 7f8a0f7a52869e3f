// SPDX-License-Identifier: MIT OR Apache-2.0
//! `bpf(2)` as libbpf calls it.

mod anything;
mod caller;
mod contents;
mod image;
mod live;
mod maps;
mod object;
mod programs;
mod rings;
