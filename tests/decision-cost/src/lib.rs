// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a decision of a policy costs on the real CPU.
//!
//! Takes a policy's object as it is, moves its callbacks into the text of a BPF program
//! of type `SYSCALL` that takes decisions in a loop ([`link`]), and runs that under the
//! kernel's JIT, with as many real, sleeping tasks as asked for ([`host`]). A kernel
//! with BPF is enough; it need not have sched_ext. The sched_ext kfuncs are played by
//! functions in `bpf/`. What is measured, and what not, is in `docs/decision-cost.md`.

mod bind;
mod btf_ext;
mod callbacks;
pub mod calls;
mod elf;
mod failure;
pub mod host;
pub mod link;
pub mod measure;
mod reach;
pub mod report;
pub mod simulate;
pub mod subject;
pub mod tasks;

pub use failure::Failure;
