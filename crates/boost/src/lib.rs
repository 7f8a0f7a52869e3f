// SPDX-License-Identifier: MIT OR Apache-2.0
//! Request-based priority elevation on a live kernel: runs what somebody waits for, on kernels
//! as they are. The paper is CAS: Nikseresht, Somayaji, Maheshwari, "Customer Appeasement
//! Scheduling", 2010.
//!
//! Facts come from BPF programs ([`programs`]); what follows from them is decided without a
//! kernel ([`engine`], with [`table`], [`customers`], [`request`] and [`conduct`]; [`waiting`] for
//! those who get the answers; [`account`] for what may be used); [`apply`] changes threads, and [`saved`] remembers what is to be taken back.

pub mod account;
pub mod apply;
pub mod conduct;
pub mod control;
pub mod customers;
pub mod daemon;
pub mod engine;
mod error;
mod extra;
pub mod groups;
pub mod load;
pub mod log;
pub mod people;
pub mod process;
pub mod programs;
pub mod record;
pub mod request;
pub mod saved;
pub mod syscalls;
pub mod table;
pub mod waiting;
mod watched;

pub use error::BoostError;
