// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]

pub mod btf;
pub mod energy;
pub mod error;
pub mod image;
pub mod link;
pub mod set_up;
pub mod settings;
pub mod statistics;
pub mod topology;
