// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the kernel keeps what hosted code may read: field offsets from BTF.
//!
//! A field that the target kernel does not have is [`ABSENT`]: writes to it are skipped.

mod all;
mod front;
mod sound;

pub(crate) use all::Layouts;
pub(crate) use front::laid_out;
use rota_object::btf::Btf;

/// Offset of a field that this kernel does not have.
pub(crate) const ABSENT: u32 = u32::MAX;

/// A kernel type: where its fields are, and which of them the machine keeps right.
pub(crate) trait KernelType {
    const TYPE: &'static str;
    /// Fields with an offset in the layout.
    const FIELDS: &'static [&'static str];
    /// Further fields that hold what the kernel's would: filled through another type, or
    /// truly 0 on this machine.
    const ALSO_RIGHT: &'static [&'static str];
    /// Bytes, flexible arrays left out.
    fn size(&self) -> u32;
}

macro_rules! layout {
    ($(#[$doc:meta])* $name:ident = $ty:literal { $($field:ident: $path:literal),* $(,)? } $(also { $($also:literal),* $(,)? })?) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub(crate) struct $name { bytes: u32, $(pub(crate) $field: u32),* }
        impl $name {
            pub(crate) fn resolve(btf: &Btf) -> Self {
                Self { bytes: struct_size(btf, $ty), $($field: offset(btf, $ty, $path)),* }
            }
        }
        impl KernelType for $name {
            const TYPE: &'static str = $ty;
            const FIELDS: &'static [&'static str] = &[$($path),*];
            const ALSO_RIGHT: &'static [&'static str] = &[$($($also),*)?];
            fn size(&self) -> u32 { self.bytes }
        }
    };
}

layout! {
    /// `struct task_struct`.
    TaskLayout = "task_struct" {
        pid: "pid", tgid: "tgid", comm: "comm", flags: "flags", state: "__state",
        prio: "prio", static_prio: "static_prio", normal_prio: "normal_prio", policy: "policy",
        rt_priority: "rt_priority",
        cpu: "thread_info.cpu", wake_cpu: "wake_cpu", recent_used_cpu: "recent_used_cpu",
        on_cpu: "on_cpu", on_rq: "on_rq",
        cpus_ptr: "cpus_ptr", cpus_mask: "cpus_mask", nr_cpus_allowed: "nr_cpus_allowed",
        migration_disabled: "migration_disabled",
        core_cookie: "core_cookie", core_occupation: "core_occupation",
        uclamp_req: "uclamp_req", uclamp: "uclamp",
        core_sched_at: "scx.core_sched_at",
        utime: "utime", nvcsw: "nvcsw", nivcsw: "nivcsw", start_time: "start_time", start_boottime: "start_boottime",
        real_parent: "real_parent", parent: "parent", group_leader: "group_leader",
        mm: "mm", cred: "cred", real_cred: "real_cred", signal: "signal", cgroups: "cgroups", sched_task_group: "sched_task_group",
        exec_start: "se.exec_start", sum_exec_runtime: "se.sum_exec_runtime",
        load_weight: "se.load.weight", se_slice: "se.slice", custom_slice: "se.custom_slice",
        scx_dsq: "scx.dsq", scx_flags: "scx.flags", scx_weight: "scx.weight",
        scx_sticky_cpu: "scx.sticky_cpu", scx_holding_cpu: "scx.holding_cpu",
        scx_selected_cpu: "scx.selected_cpu", scx_runnable_at: "scx.runnable_at",
        scx_ddsp_dsq_id: "scx.ddsp_dsq_id", scx_tid: "scx.tid",
        scx_slice: "scx.slice", scx_dsq_vtime: "scx.dsq_vtime", scx_disallow: "scx.disallow",
    } also {
        "migration_pending", "exit_state", "exit_code", "ptrace", "in_iowait",
        "rcu_read_lock_nesting",
        // all time is spent in user space
        "stime",
        // no task has a policy for its memory
        "mempolicy",
    }
}
layout! {
    /// `sched_info` of a `struct task_struct`, kept where hosted code reads it.
    SchedInfoLayout = "task_struct" {
        pcount: "sched_info.pcount", run_delay: "sched_info.run_delay",
        max_run_delay: "sched_info.max_run_delay", min_run_delay: "sched_info.min_run_delay",
        last_arrival: "sched_info.last_arrival", last_queued: "sched_info.last_queued",
    }
}
layout! {
    /// `struct rq`.
    RqLayout = "rq" {
        cpu: "cpu", curr: "curr", idle: "idle", nr_running: "nr_running", clock: "clock",
        clock_task: "clock_task", clock_pelt: "clock_pelt", cpu_capacity: "cpu_capacity", scx_nr_running: "scx.nr_running", local_dsq: "scx.local_dsq",
        local_id: "scx.local_dsq.id",
        uclamp: "uclamp", uclamp_flags: "uclamp_flags",
        core: "core", core_enabled: "core_enabled", core_cookie: "core_cookie",
        core_forceidle_count: "core_forceidle_count",
    } also {
        "scx.local_dsq.nr", "scx.nr_immed",
        // what clock_pelt has lost on a CPU that was always busy
        "lost_idle_time",
    }
}
layout! {
    /// `struct scx_dispatch_q`.
    DsqLayout = "scx_dispatch_q" { nr: "nr", id: "id" }
}
layout! {
    /// `struct scx_exit_info`.
    ExitInfoLayout = "scx_exit_info" {
        kind: "kind", exit_cpu: "exit_cpu", exit_code: "exit_code", flags: "flags", reason: "reason", msg: "msg",
        dump: "dump",
    }
}
layout! {
    /// `struct scx_dump_ctx`.
    DumpCtxLayout = "scx_dump_ctx" {
        kind: "kind", exit_code: "exit_code", reason: "reason", at_ns: "at_ns", at_jiffies: "at_jiffies",
    }
}
layout! {
    /// `struct scx_init_task_args`.
    InitTaskArgsLayout = "scx_init_task_args" { fork: "fork", cgroup: "cgroup" }
}
layout! {
    /// `struct scx_exit_task_args`.
    ExitTaskArgsLayout = "scx_exit_task_args" { cancelled: "cancelled" }
}
layout! {
    /// `struct scx_cpu_release_args`.
    CpuReleaseArgsLayout = "scx_cpu_release_args" { reason: "reason", task: "task" }
}
layout! {
    /// `struct scx_sub_attach_args`, and `scx_sub_detach_args`, which is alike.
    SubArgsLayout = "scx_sub_attach_args" { ops: "ops", cgroup_path: "cgroup_path" }
}
layout! {
    /// `struct sched_ext_ops` as such arguments have it; `sched_ext_ops_cid` begins like it.
    SubOpsLayout = "sched_ext_ops" { sub_cgroup_id: "sub_cgroup_id", name: "name", flags: "flags" }
}
layout! {
    /// `struct scx_cgroup_init_args`.
    CgroupInitArgsLayout = "scx_cgroup_init_args" {
        weight: "weight", bw_period_us: "bw_period_us", bw_quota_us: "bw_quota_us", bw_burst_us: "bw_burst_us",
    }
}
layout! {
    /// `struct cgroup`.
    CgroupLayout = "cgroup" {
        self_cgroup: "self.cgroup", self_parent: "self.parent", self_id: "self.id", self_flags: "self.flags",
        self_serial: "self.serial_nr",
        level: "level", kn: "kn", ancestors: "ancestors",
    }
}
layout! {
    /// `struct kernfs_node`.
    KernfsLayout = "kernfs_node" { id: "id", name: "name", parent: "__parent", old_parent: "parent" }
}
layout! {
    /// `struct task_group`.
    TaskGroupLayout = "task_group" {
        css_cgroup: "css.cgroup", css_parent: "css.parent", css_id: "css.id", css_flags: "css.flags",
        css_serial: "css.serial_nr", parent: "parent", shares: "shares", idle: "idle",
        scx_weight: "scx.weight", scx_idle: "scx.idle", scx_bw_period_us: "scx.bw_period_us",
        scx_bw_quota_us: "scx.bw_quota_us", scx_bw_burst_us: "scx.bw_burst_us",
    }
}
layout! {
    /// `struct css_set`.
    CssSetLayout = "css_set" { dfl_cgrp: "dfl_cgrp" }
}
layout! {
    /// `struct kernel_cpustat`: time by kind, of which the machine keeps none.
    CpustatLayout = "kernel_cpustat" {}
}
layout! {
    /// `struct kernel_stat`: counts of interrupts.
    KernelStatLayout = "kernel_stat" {}
}
layout! {
    /// `struct mm_struct`.
    MmLayout = "mm_struct" { owner: "owner" }
}
layout! {
    /// `struct cred`.
    CredLayout = "cred" { uid: "uid.val", euid: "euid.val", suid: "suid.val", fsuid: "fsuid.val" }
}
layout! {
    /// `struct signal_struct`.
    SignalLayout = "signal_struct" { session: "pids[3]" }
}
layout! {
    /// `struct pid`.
    PidLayout = "pid" { numbers: "numbers" } also { "level" }
}
layout! {
    /// `struct sock`.
    SockLayout = "sock" {
        family: "__sk_common.skc_family",
        local_port: "__sk_common.skc_num", remote_port: "__sk_common.skc_dport",
        local_address: "__sk_common.skc_rcv_saddr", remote_address: "__sk_common.skc_daddr",
    }
}
layout! {
    /// `struct unix_sock`, which begins with a `struct sock`.
    UnixSockLayout = "unix_sock" { addr: "addr", peer: "peer" } also {
        "sk.__sk_common.skc_family", "sk.__sk_common.skc_num", "sk.__sk_common.skc_dport",
        "sk.__sk_common.skc_rcv_saddr", "sk.__sk_common.skc_daddr",
    }
}
layout! {
    /// `struct pt_regs` of x86-64.
    PtRegsLayout = "pt_regs" { di: "di", si: "si", dx: "dx", ax: "ax" }
}
layout! {
    /// `struct trace_entry`, which records of tracepoints begin with.
    TraceEntryLayout = "trace_entry" { pid: "pid" }
}
layout! {
    /// Record of `sched_switch`.
    SwitchRecordLayout = "trace_event_raw_sched_switch" {
        prev_comm: "prev_comm", prev_pid: "prev_pid", prev_prio: "prev_prio",
        prev_state: "prev_state", next_comm: "next_comm", next_pid: "next_pid",
        next_prio: "next_prio",
    }
}
layout! {
    /// Record of `sched_waking`, `sched_wakeup` and `sched_wakeup_new`.
    WakeupRecordLayout = "trace_event_raw_sched_wakeup_template" {
        comm: "comm", pid: "pid", prio: "prio", target_cpu: "target_cpu",
    }
}
layout! {
    /// `struct scx_event_stats`.
    EventStatsLayout = "scx_event_stats" {
        select_cpu_fallback: "SCX_EV_SELECT_CPU_FALLBACK",
        dispatch_local_dsq_offline: "SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE",
        dispatch_keep_last: "SCX_EV_DISPATCH_KEEP_LAST",
        enq_skip_exiting: "SCX_EV_ENQ_SKIP_EXITING",
        enq_skip_migration_disabled: "SCX_EV_ENQ_SKIP_MIGRATION_DISABLED",
        reenq_immed: "SCX_EV_REENQ_IMMED", reenq_local_repeat: "SCX_EV_REENQ_LOCAL_REPEAT",
        refill_slice_dfl: "SCX_EV_REFILL_SLICE_DFL", bypass_dispatch: "SCX_EV_BYPASS_DISPATCH",
    }
}
fn cpumask_size(btf: &Btf) -> u32 {
    btf.find_struct("cpumask").and_then(|id| btf.size_of(id)).unwrap_or(1024)
}

fn struct_size(btf: &Btf, ty: &str) -> u32 {
    btf.find_struct(ty).and_then(|id| btf.size_of(id)).unwrap_or(64)
}

fn offset(btf: &Btf, ty: &str, path: &str) -> u32 {
    btf.member_at(ty, path).map_or(ABSENT, |f| f.offset_bits / 8)
}
