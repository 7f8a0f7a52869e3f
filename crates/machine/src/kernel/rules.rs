// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kernels do otherwise than Linux 7.2, as far as the machine does it. Types tell which of it
//! a kernel does, so that a backport counts.

use crate::consts::OPS_ALL_FLAGS;
use rota_object::btf::{Btf, Kind};

/// The rules of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// Classes above leave 50 ms of each second to sched_ext (`rq->ext_server`, 7.0).
    pub ext_server: bool,
    /// `ops.dequeue()` tells of every end of the scheduler's custody of a task, also by a dispatch
    /// to a CPU, with `SCX_DEQ_SCHED_CHANGE` where a property changes (7.1). Before, it tells only
    /// of tasks that are taken from the scheduler.
    pub dequeue_ends_custody: bool,
    /// `SCX_ENQ_IMMED` (7.1): a bit without a meaning before.
    pub enq_immed: bool,
    /// The default CPU selection looks in the last-level cache and the node first, and on a
    /// synchronous wakeup prefers an idle previous CPU (6.13).
    pub idle_by_topology: bool,
    /// The default CPU selection prefers an idle sibling of the previous CPU (7.1).
    pub idle_siblings: bool,
    /// A task that leaves sched_ext loses its slice and virtual time (7.2).
    pub disable_resets: bool,
    /// An insertion sets slice and virtual time when it is carried out, not when it is asked for
    /// (7.3).
    pub insert_sets_late: bool,
    /// `SCX_OPS_ALL_FLAGS`.
    pub ops_flags: u64,
}

impl Rules {
    /// The rules of the kernel that has these types.
    pub fn of(btf: &Btf) -> Self {
        let func = |name| btf.find(Kind::Func, name).is_some();
        let value = |name| btf.enum_value(name);
        Self {
            ext_server: btf.member_at("rq", "ext_server").is_some(),
            dequeue_ends_custody: value("SCX_DEQ_SCHED_CHANGE").is_some(),
            enq_immed: value("SCX_ENQ_IMMED").is_some(),
            // No type tells of these: functions that came with the same release do.
            idle_by_topology: func("scx_bpf_dsq_insert"),
            idle_siblings: func("scx_bpf_dsq_reenq"),
            disable_resets: func("scx_bpf_tid_to_task"),
            insert_sets_late: func("scx_bpf_sub_grant"),
            ops_flags: value("SCX_OPS_ALL_FLAGS").unwrap_or(OPS_ALL_FLAGS),
        }
    }
}

impl Default for Rules {
    /// Those of Linux 7.2.
    fn default() -> Self {
        Self {
            ext_server: true,
            dequeue_ends_custody: true,
            enq_immed: true,
            idle_by_topology: true,
            idle_siblings: true,
            disable_resets: true,
            insert_sets_late: false,
            ops_flags: OPS_ALL_FLAGS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_object::btf::Bundled;

    fn of(release: &str) -> Rules {
        Rules::of(&Bundled::find(release).expect("bundled").btf())
    }

    // Read in kernel/sched/ext.c and ext_idle.c of 6.12.117, 6.18.15 and 7.1.13, and in
    // kernel/sched/ext/ of 7.2.12 and 7.3.4; SCX_OPS_ALL_FLAGS in the BTF of each.
    #[test]
    fn each_rule_holds_from_its_release_on() {
        let oldest = Rules {
            ext_server: false,
            dequeue_ends_custody: false,
            enq_immed: false,
            idle_by_topology: false,
            idle_siblings: false,
            disable_resets: false,
            insert_sets_late: false,
            ops_flags: 0x1_000f,
        };
        assert_eq!(of("6.12"), oldest);
        let in_6_16 = Rules { idle_by_topology: true, ops_flags: 0x1_007f, ..oldest };
        assert_eq!(of("6.16"), in_6_16);
        assert_eq!(of("6.19"), in_6_16);
        assert_eq!(of("7.0"), Rules { ext_server: true, ..in_6_16 });
        assert_eq!(of("7.2"), Rules::default());
        assert_eq!(of("7.3"), Rules { insert_sets_late: true, ..Rules::default() });
    }
}
