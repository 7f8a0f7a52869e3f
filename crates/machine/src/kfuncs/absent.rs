// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kernel functions answer where no scheduler is attached (`scx_prog_sched()` finds none): to
//! programs that a loader runs before it attaches its scheduler, or that run after it has left.

use crate::consts::*;

const NODEV: u64 = -ENODEV as u64;
const INVALID: u64 = -EINVAL as u64;

/// `None`: it does without one, or answers itself.
pub(super) fn answer(name: &str) -> Option<u64> {
    Some(match name {
        "scx_bpf_dsq_nr_queued"
        | "bpf_iter_scx_dsq_new"
        | "scx_bpf_select_cpu_dfl"
        | "scx_bpf_select_cpu_and"
        | "__scx_bpf_select_cpu_and"
        | "scx_bpf_pick_idle_cpu"
        | "scx_bpf_pick_any_cpu"
        | "scx_bpf_pick_idle_cpu_node"
        | "scx_bpf_pick_any_cpu_node" => NODEV,
        "scx_bpf_cid_to_cpu" | "scx_bpf_cpu_to_cid" => INVALID,
        // NUMA_NO_NODE
        "scx_bpf_cpu_node" => -1_i64 as u64,
        "scx_bpf_cpuperf_cap"
        | "scx_bpf_cpuperf_cur"
        | "scx_bpf_cidperf_cap"
        | "scx_bpf_cidperf_cur" => CPUPERF_ONE as u64,
        // false, NULL, or nothing
        "scx_bpf_dsq_insert"
        | "scx_bpf_dsq_insert___v2"
        | "scx_bpf_dsq_insert_vtime"
        | "__scx_bpf_dsq_insert_vtime"
        | "scx_bpf_dispatch_nr_slots"
        | "scx_bpf_dispatch_cancel"
        | "scx_bpf_dsq_move_to_local"
        | "scx_bpf_dsq_move_to_local___v2"
        | "scx_bpf_dsq_peek"
        | "scx_bpf_destroy_dsq"
        | "scx_bpf_dsq_reenq"
        | "scx_bpf_reenqueue_local"
        | "scx_bpf_reenqueue_local___v2"
        | "scx_bpf_task_set_slice"
        | "scx_bpf_task_set_dsq_vtime"
        | "scx_bpf_tid_to_task"
        | "scx_bpf_kick_cpu"
        | "scx_bpf_kick_cid"
        | "scx_bpf_error_bstr"
        | "scx_bpf_exit_bstr"
        | "scx_bpf_dump_bstr"
        | "scx_bpf_cpu_rq"
        | "scx_bpf_locked_rq"
        | "scx_bpf_cpu_curr"
        | "scx_bpf_cid_curr"
        | "scx_bpf_cpuperf_set"
        | "scx_bpf_cidperf_set"
        | "scx_bpf_cid_override"
        | "scx_bpf_test_and_clear_cpu_idle" => 0,
        _ => return None,
    })
}
