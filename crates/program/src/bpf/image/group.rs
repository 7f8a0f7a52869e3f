// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which programs are of one object. The kernel does not know: it is told by what they have in common.

use super::{ImageError, ObjectId, Played, Program, Table};
use crate::bpf::struct_ops::is_scheduler;
use crate::bpf::uapi::prog;
use std::collections::BTreeSet;

impl Played {
    /// Programs of the object that has the callbacks, in the order in which they were loaded.
    /// Others, as those by which loaders find out what the kernel can do, have nothing of it.
    pub(super) fn scheduler_programs(&self) -> Result<Vec<(ObjectId, &Program)>, ImageError> {
        let callbacks = self.table.map_or_else(Vec::new, |table| self.callbacks(table));
        let mut all = self.objects.programs();
        let first = all.find(|(id, program)| {
            let wanted = self.wanted.is_none() || program.btf == self.wanted;
            self.is_callback(program)
                && match callbacks[..] {
                    [] => wanted,
                    _ => callbacks.contains(id),
                }
        });
        let (first, Program { btf, .. }) = first.ok_or(ImageError::NoScheduler)?;
        let types = btf.ok_or(ImageError::NoTypes)?;
        let callbacks = match callbacks[..] {
            [] => self.table_with(first),
            _ => callbacks,
        };
        let has_these = |id: &ObjectId| self.objects.program(*id).is_ok_and(|p| p.btf == *btf);
        if callbacks.iter().all(has_these) {
            // as libbpf loads them
            let of_object = |(_, program): &(_, &Program)| program.btf == Some(types);
            return Ok(self.objects.programs().filter(of_object).collect());
        }
        let group = self.connected(callbacks);
        Ok(self.objects.programs().filter(|(id, _)| group.contains(id)).collect())
    }

    /// Callbacks of a table.
    fn callbacks(&self, table: ObjectId) -> Vec<ObjectId> {
        match self.objects.map(table).map(|map| &map.table) {
            Ok(Table::StructOps(Some(table))) => table.programs().collect(),
            _ => Vec::new(),
        }
    }

    /// All callbacks of the table that has this one.
    fn table_with(&self, callback: ObjectId) -> Vec<ObjectId> {
        let mut tables = self.objects.maps().map(|(id, _)| self.callbacks(id));
        tables.find(|callbacks| callbacks.contains(&callback)).unwrap_or_default()
    }

    /// These programs, and those that have maps in common with them, or with such ones.
    fn connected(&self, programs: Vec<ObjectId>) -> BTreeSet<ObjectId> {
        let mut group: BTreeSet<ObjectId> = programs.into_iter().collect();
        let mut maps = BTreeSet::new();
        loop {
            let of_group = self.objects.programs().filter(|(id, _)| group.contains(id));
            maps.extend(of_group.flat_map(|(_, program)| program.used_maps()));
            let shares = |program: &Program| program.used_maps().iter().any(|m| maps.contains(m));
            let others = self.objects.programs().filter(|(_, p)| p.btf.is_some() && shares(p));
            let before = group.len();
            group.extend(others.map(|(id, _)| id).collect::<Vec<_>>());
            if group.len() == before {
                return group;
            }
        }
    }

    /// Whether it is a callback of sched_ext.
    fn is_callback(&self, program: &Program) -> bool {
        program.kind == prog::STRUCT_OPS && is_scheduler(self.btf.name(program.target))
    }

    /// Whether a program is of an object with a scheduler that is not the machine's.
    pub(in crate::bpf) fn is_of_another_scheduler(&self, id: ObjectId) -> bool {
        let Ok(program) = self.objects.program(id) else { return false };
        let known = self.in_machine.as_ref().is_some_and(|m| m.programs.contains_key(&id));
        let mut of_it = self.objects.programs().filter(|(_, other)| other.btf == program.btf);
        !known && program.btf.is_some() && of_it.any(|(_, other)| self.is_callback(other))
    }
}
