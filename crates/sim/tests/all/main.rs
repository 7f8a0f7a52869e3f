// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tests of runs, in one program: each one more is linked for seconds.

mod before_attach;
mod bundles;
mod choices;
mod common;
mod contexts;
mod core_fields;
mod current;
mod engines;
mod globals;
mod kernel_objects;
mod kernels;
mod kthreads;
mod lifecycle;
mod manifests;
mod nullable;
mod runs;
mod sched_info;
mod stands_for;
mod subs;
mod tick;
mod traced;
mod tracing;
mod user_half;
mod user_space;
