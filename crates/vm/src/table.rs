// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which helpers and kernel functions exist for hosted code.

use crate::engine::Simple;
use crate::error::Fault;
use crate::helper_names;
use crate::host::Host;
use crate::runtime::Runtime;
use rustc_hash::FxHashMap;
use std::ops::RangeInclusive;

/// A helper or kernel function: host, the runtime that called it, r1..=r5 → r0.
pub type CallFn<H> = fn(&mut H, &mut Runtime<H>, &[u64; 5]) -> Result<u64, Fault>;

/// Callable from everywhere.
pub const ANY_CONTEXT: u32 = u32::MAX;

/// One kernel function that hosted code may call.
pub struct Kfunc<H> {
    /// Essential name (cut at the last `___`, `___v2` kept where it is the kernel's own name).
    pub name: &'static str,
    /// Accepted argument counts (kernels differ about the implicit `aux`).
    pub arity: RangeInclusive<u8>,
    /// Contexts it may be called from: a mask that the host defines, and is asked about before
    /// each call ([`Host::may_call`]) unless it is [`ANY_CONTEXT`].
    pub contexts: u32,
    /// Cost in instructions added to the callback's count: the documented model of its work.
    pub cost: u32,
    /// The implementation.
    pub run: CallFn<H>,
    /// What it answers in its place while nothing is attached ([`Host::is_bare`]), if it needs that.
    pub absent: Option<u64>,
    /// What compiled code does in its place, where it may be called from everywhere.
    pub simple: Option<Simple>,
}

/// One helper: a call with a fixed number that every BPF program may make.
pub struct Helper<H> {
    /// Its name in the kernel's header, without `bpf_`.
    pub name: &'static str,
    /// Cost in instructions: what the kernel does for it; calls that the kernel's JIT inlines cost
    /// what it emits.
    pub cost: u32,
    /// The implementation.
    pub run: CallFn<H>,
    /// What compiled code does in its place.
    pub simple: Option<Simple>,
}

/// The helpers and kernel functions that hosted code may call.
pub struct CallTable<H> {
    kfuncs: Vec<Kfunc<H>>,
    by_name: FxHashMap<&'static str, usize>,
    /// By number.
    helpers: FxHashMap<i32, Helper<H>>,
}

impl<H: Host> CallTable<H> {
    /// A later row replaces an earlier one of its name. A helper that the kernel's header does not
    /// have has no number, and so cannot be called.
    pub fn new(helpers: Vec<Helper<H>>, kfuncs: Vec<Kfunc<H>>) -> Self {
        let mut table = Self {
            kfuncs: Vec::new(),
            by_name: FxHashMap::default(),
            helpers: FxHashMap::default(),
        };
        let numbers = helper_names::numbers();
        for row in helpers {
            if let Some(&number) = numbers.get(row.name) {
                table.helpers.insert(number, row);
            }
        }
        for row in kfuncs {
            match table.by_name.get(row.name) {
                Some(&at) => table.kfuncs[at] = row,
                None => {
                    table.by_name.insert(row.name, table.kfuncs.len());
                    table.kfuncs.push(row);
                }
            }
        }
        table
    }

    /// Names of all kernel functions.
    pub fn kfunc_names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.kfuncs.iter().map(|row| row.name)
    }

    /// The kernel function of this essential name.
    pub fn kfunc(&self, name: &str) -> Option<&Kfunc<H>> {
        self.by_name.get(name).map(|&at| &self.kfuncs[at])
    }

    /// The helper with this number.
    pub fn helper(&self, number: i32) -> Option<&Helper<H>> {
        self.helpers.get(&number)
    }
}
