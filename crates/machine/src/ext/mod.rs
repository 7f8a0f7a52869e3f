// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of sched_ext, function by function as in `kernel/sched/ext/ext.c` and
//! `idle.c` of Linux 7.2. Names follow the kernel's; what a lock dance does there is
//! left out here, since one thread plays all CPUs.

pub(crate) mod attach;
pub(crate) mod disable;
pub(crate) mod dispatch;
pub(crate) mod enqueue;
pub(crate) mod idle;
pub(crate) mod kick;
pub(crate) mod lifecycle;
pub(crate) mod pick;
pub(crate) mod queue;
pub(crate) mod reenq;
pub(crate) mod select;
pub(crate) mod weights;
