// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which kernel functions exist for hosted code.

use crate::host::{Host, Kfunc};
use rustc_hash::FxHashMap;

/// The kernel functions that hosted code may call.
pub struct KfuncTable<H> {
    rows: Vec<Kfunc<H>>,
    by_name: FxHashMap<&'static str, usize>,
}

impl<H: Host> KfuncTable<H> {
    /// The generic kernel functions and `rows`; a later row replaces an earlier one of its name.
    pub fn new(rows: Vec<Kfunc<H>>) -> Self {
        let mut table = Self { rows: Vec::new(), by_name: FxHashMap::default() };
        for row in crate::kfuncs::generic().into_iter().chain(rows) {
            match table.by_name.get(row.name) {
                Some(&at) => table.rows[at] = row,
                None => {
                    table.by_name.insert(row.name, table.rows.len());
                    table.rows.push(row);
                }
            }
        }
        table
    }

    /// Names of all rows.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.rows.iter().map(|row| row.name)
    }

    /// Whether a kernel function of this essential name exists.
    pub fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The row of this essential name.
    pub fn get(&self, name: &str) -> Option<&Kfunc<H>> {
        self.by_name.get(name).map(|&at| &self.rows[at])
    }
}
