// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages of Perfetto's format that are read, with the fields that are used. Names and
//! numbers are those of its `protos/perfetto/trace`.

use prost::{Message, Oneof};

/// A packet; what is compressed holds packets itself.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Packet {
    #[prost(message, optional, tag = "2")]
    pub(super) process_tree: Option<ProcessTree>,
    #[prost(message, optional, tag = "34")]
    pub(super) ftrace_stats: Option<FtraceStats>,
    #[prost(message, optional, tag = "45")]
    pub(super) system_info: Option<SystemInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProcessTree {
    #[prost(message, repeated, tag = "1")]
    pub(super) processes: Vec<Process>,
    #[prost(message, repeated, tag = "2")]
    pub(super) threads: Vec<Thread>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Process {
    #[prost(int32, tag = "1")]
    pub(super) pid: i32,
    #[prost(int32, optional, tag = "2")]
    pub(super) ppid: Option<i32>,
    #[prost(bool, tag = "8")]
    pub(super) is_kthread: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Thread {
    #[prost(int32, tag = "1")]
    pub(super) tid: i32,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) name: Vec<u8>,
    #[prost(int32, tag = "3")]
    pub(super) tgid: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SystemInfo {
    #[prost(message, optional, tag = "1")]
    pub(super) utsname: Option<Utsname>,
    #[prost(string, optional, tag = "4")]
    pub(super) tracing_service_version: Option<String>,
    #[prost(uint32, optional, tag = "8")]
    pub(super) num_cpus: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Utsname {
    #[prost(string, optional, tag = "3")]
    pub(super) release: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub(super) machine: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FtraceStats {
    /// 1: at the begin, 2: at the end.
    #[prost(int32, tag = "1")]
    pub(super) phase: i32,
    #[prost(message, repeated, tag = "2")]
    pub(super) cpu_stats: Vec<CpuStats>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CpuStats {
    #[prost(uint64, tag = "1")]
    pub(super) cpu: u64,
    #[prost(uint64, tag = "3")]
    pub(super) overrun: u64,
    #[prost(uint64, tag = "4")]
    pub(super) commit_overrun: u64,
    #[prost(uint64, tag = "8")]
    pub(super) dropped_events: u64,
}

/// What the index needs of a bundle.
#[derive(Clone, PartialEq, Message)]
pub(super) struct BundleHead {
    #[prost(uint32, tag = "1")]
    pub(super) cpu: u32,
    #[prost(int32, tag = "5")]
    pub(super) ftrace_clock: i32,
}

/// Records of one CPU.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Bundle {
    #[prost(uint32, tag = "1")]
    pub(super) cpu: u32,
    #[prost(message, repeated, tag = "2")]
    pub(super) event: Vec<Event>,
    #[prost(bool, tag = "3")]
    pub(super) lost_events: bool,
    #[prost(message, optional, tag = "4")]
    pub(super) compact_sched: Option<CompactSched>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Event {
    #[prost(uint64, tag = "1")]
    pub(super) timestamp: u64,
    #[prost(uint32, tag = "2")]
    pub(super) pid: u32,
    #[prost(uint32, optional, tag = "5")]
    pub(super) common_flags: Option<u32>,
    #[prost(oneof = "Kind", tags = "4, 17, 20, 114, 236, 238, 239, 491")]
    pub(super) kind: Option<Kind>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Kind {
    #[prost(message, tag = "4")]
    SchedSwitch(SchedSwitch),
    #[prost(message, tag = "17")]
    SchedWakeup(Woken),
    #[prost(message, tag = "20")]
    SchedWaking(Woken),
    #[prost(message, tag = "114")]
    SchedWakeupNew(Woken),
    #[prost(message, tag = "236")]
    TaskRename(TaskRename),
    #[prost(message, tag = "238")]
    SchedProcessExit(OfTask),
    #[prost(message, tag = "239")]
    SchedProcessFork(SchedProcessFork),
    #[prost(message, tag = "491")]
    SchedMigrateTask(OfTask),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SchedSwitch {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) prev_comm: Vec<u8>,
    #[prost(int32, tag = "2")]
    pub(super) prev_pid: i32,
    #[prost(int32, tag = "3")]
    pub(super) prev_prio: i32,
    #[prost(int64, tag = "4")]
    pub(super) prev_state: i64,
    #[prost(bytes = "vec", tag = "5")]
    pub(super) next_comm: Vec<u8>,
    #[prost(int32, tag = "6")]
    pub(super) next_pid: i32,
    #[prost(int32, tag = "7")]
    pub(super) next_prio: i32,
}

/// The three kinds of wakeup.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Woken {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) comm: Vec<u8>,
    #[prost(int32, tag = "2")]
    pub(super) pid: i32,
    #[prost(int32, tag = "3")]
    pub(super) prio: i32,
}

/// Kinds that say the task only.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OfTask {
    #[prost(int32, tag = "2")]
    pub(super) pid: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TaskRename {
    #[prost(int32, tag = "1")]
    pub(super) pid: i32,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) newcomm: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SchedProcessFork {
    #[prost(int32, tag = "2")]
    pub(super) parent_pid: i32,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) child_comm: Vec<u8>,
    #[prost(int32, tag = "4")]
    pub(super) child_pid: i32,
}

/// Switches and wakings column by column. A time is the distance from the one before.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CompactSched {
    #[prost(bytes = "vec", repeated, tag = "5")]
    pub(super) intern_table: Vec<Vec<u8>>,
    #[prost(uint64, repeated, tag = "1")]
    pub(super) switch_timestamp: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub(super) switch_prev_state: Vec<i64>,
    #[prost(int32, repeated, tag = "3")]
    pub(super) switch_next_pid: Vec<i32>,
    #[prost(int32, repeated, tag = "4")]
    pub(super) switch_next_prio: Vec<i32>,
    #[prost(uint32, repeated, tag = "6")]
    pub(super) switch_next_comm_index: Vec<u32>,
    #[prost(uint64, repeated, tag = "7")]
    pub(super) waking_timestamp: Vec<u64>,
    #[prost(int32, repeated, tag = "8")]
    pub(super) waking_pid: Vec<i32>,
    #[prost(int32, repeated, tag = "10")]
    pub(super) waking_prio: Vec<i32>,
    #[prost(uint32, repeated, tag = "11")]
    pub(super) waking_comm_index: Vec<u32>,
    #[prost(uint32, repeated, tag = "12")]
    pub(super) waking_common_flags: Vec<u32>,
}
