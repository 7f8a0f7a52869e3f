// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel functions that had another name in older kernels.

use crate::system::System;
use rota_vm::table::Kfunc;

/// Old name and new one. Both do the same, as Linux 6.13 to 6.16 have both.
pub(crate) const PAIRS: &[(&str, &str)] = &[
    ("scx_bpf_dispatch", "scx_bpf_dsq_insert"),
    ("scx_bpf_dispatch_vtime", "scx_bpf_dsq_insert_vtime"),
    ("scx_bpf_consume", "scx_bpf_dsq_move_to_local"),
    ("scx_bpf_dispatch_from_dsq", "scx_bpf_dsq_move"),
    ("scx_bpf_dispatch_from_dsq_set_slice", "scx_bpf_dsq_move_set_slice"),
    ("scx_bpf_dispatch_from_dsq_set_vtime", "scx_bpf_dsq_move_set_vtime"),
    ("scx_bpf_dispatch_vtime_from_dsq", "scx_bpf_dsq_move_vtime"),
];

/// What to use where a function is gone, though it does not do the same.
const SUCCESSORS: &[(&str, &[&str])] = &[
    ("scx_bpf_cpu_rq", &["scx_bpf_cpu_curr", "scx_bpf_locked_rq"]),
    ("bpf_cpumask_any", &["bpf_cpumask_any_distribute"]),
    ("bpf_cpumask_any_and", &["bpf_cpumask_any_and_distribute"]),
];

/// The names that some kernel has in place of this one.
pub(crate) fn other_names(name: &str) -> impl Iterator<Item = &'static str> + '_ {
    let pairs = PAIRS.iter().filter_map(move |(old, new)| match name {
        name if name == *old => Some(*new),
        name if name == *new => Some(*old),
        _ => None,
    });
    let successors = SUCCESSORS.iter().filter(move |(gone, _)| *gone == name);
    pairs.chain(successors.flat_map(|(_, others)| others.iter().copied()))
}

/// The rows of the new names again, under the old ones.
pub(super) fn rows(all: &[Kfunc<System>]) -> Vec<Kfunc<System>> {
    let row = |(old, new): &(&'static str, &str)| {
        let of = all.iter().find(|row| row.name == *new)?;
        Some(Kfunc {
            name: old,
            arity: of.arity.clone(),
            contexts: of.contexts,
            cost: of.cost,
            run: of.run,
            absent: of.absent,
            simple: of.simple,
        })
    };
    PAIRS.iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kfuncs::table;

    #[test]
    fn every_old_name_is_a_row() {
        for (old, new) in PAIRS {
            assert!(table().kfunc(old).is_some(), "{old}");
            assert_eq!(other_names(old).collect::<Vec<_>>(), [*new]);
            assert_eq!(other_names(new).collect::<Vec<_>>(), [*old]);
        }
    }
}
