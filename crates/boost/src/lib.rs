// SPDX-License-Identifier: MIT OR Apache-2.0
//! Request-based priority elevation on a live kernel: runs what somebody waits for, on kernels
//! as they are. The paper is [CAS]: Nikseresht, Somayaji, Maheshwari, "Customer Appeasement
//! Scheduling", 2010.
//!
//! Facts come from BPF programs ([`programs`]); what follows from them is decided without a
//! kernel ([`engine`], with [`table`], [`customers`], [`request`], [`conduct`] and
//! [`budget`]; [`waiting`] for those who get the answers);
//! [`apply`] changes threads, and [`saved`] remembers what is to be taken back.

pub mod apply;
pub mod budget;
pub mod conduct;
pub mod control;
pub mod customers;
pub mod daemon;
pub mod engine;
mod error;
pub mod groups;
pub mod load;
pub mod log;
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
