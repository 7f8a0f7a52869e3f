// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel functions that need no kernel object: iterators, cpumasks, locks, owned
//! objects, trees, lists, arenas, strings. The host adds its own to them.

mod arena;
mod bits;
mod cpumask;
mod iter;
mod list;
mod lock;
mod object;
mod rbtree;
mod string;
mod trivial;

use crate::engine::Simple;
use crate::host::Host;
use crate::table::{CallFn, Kfunc, ANY_CONTEXT};
use std::ops::RangeInclusive;

fn row<H: Host>(
    name: &'static str,
    arity: RangeInclusive<u8>,
    cost: u32,
    run: CallFn<H>,
) -> Kfunc<H> {
    Kfunc { name, arity, contexts: ANY_CONTEXT, cost, run, absent: None, simple: None }
}

/// One that compiled code does itself.
fn simple<H: Host>(
    name: &'static str,
    arity: RangeInclusive<u8>,
    cost: u32,
    run: CallFn<H>,
    simple: Simple,
) -> Kfunc<H> {
    Kfunc { simple: Some(simple), ..row(name, arity, cost, run) }
}

/// All generic kernel functions.
pub fn generic<H: Host>() -> Vec<Kfunc<H>> {
    let mut rows = Vec::new();
    rows.extend(iter::rows());
    rows.extend(bits::rows());
    rows.extend(cpumask::rows());
    rows.extend(lock::rows());
    rows.extend(object::rows());
    rows.extend(rbtree::rows());
    rows.extend(list::rows());
    rows.extend(arena::rows());
    rows.extend(string::rows());
    rows.extend(trivial::rows());
    rows
}
