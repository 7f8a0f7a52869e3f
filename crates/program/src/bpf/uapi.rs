// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of `include/uapi/linux/bpf.h`, by the names that they have there.

#![allow(missing_docs)]

/// `BPF_OBJ_NAME_LEN`, with the end.
pub(super) const NAME_LEN: usize = 16;

/// `enum bpf_cmd`.
pub(super) mod cmd {
    pub(crate) const MAP_CREATE: u32 = 0;
    pub(crate) const MAP_LOOKUP_ELEM: u32 = 1;
    pub(crate) const MAP_UPDATE_ELEM: u32 = 2;
    pub(crate) const MAP_DELETE_ELEM: u32 = 3;
    pub(crate) const MAP_GET_NEXT_KEY: u32 = 4;
    pub(crate) const PROG_LOAD: u32 = 5;
    pub(crate) const OBJ_PIN: u32 = 6;
    pub(crate) const OBJ_GET: u32 = 7;
    pub(crate) const PROG_TEST_RUN: u32 = 10;
    pub(crate) const PROG_GET_NEXT_ID: u32 = 11;
    pub(crate) const MAP_GET_NEXT_ID: u32 = 12;
    pub(crate) const PROG_GET_FD_BY_ID: u32 = 13;
    pub(crate) const MAP_GET_FD_BY_ID: u32 = 14;
    pub(crate) const OBJ_GET_INFO_BY_FD: u32 = 15;
    pub(crate) const RAW_TRACEPOINT_OPEN: u32 = 17;
    pub(crate) const BTF_LOAD: u32 = 18;
    pub(crate) const BTF_GET_FD_BY_ID: u32 = 19;
    pub(crate) const MAP_LOOKUP_AND_DELETE_ELEM: u32 = 21;
    pub(crate) const MAP_FREEZE: u32 = 22;
    pub(crate) const BTF_GET_NEXT_ID: u32 = 23;
    pub(crate) const MAP_LOOKUP_BATCH: u32 = 24;
    pub(crate) const MAP_LOOKUP_AND_DELETE_BATCH: u32 = 25;
    pub(crate) const MAP_UPDATE_BATCH: u32 = 26;
    pub(crate) const MAP_DELETE_BATCH: u32 = 27;
    pub(crate) const LINK_CREATE: u32 = 28;
    pub(crate) const LINK_UPDATE: u32 = 29;
    pub(crate) const LINK_GET_FD_BY_ID: u32 = 30;
    pub(crate) const LINK_GET_NEXT_ID: u32 = 31;
    pub(crate) const ENABLE_STATS: u32 = 32;
    pub(crate) const LINK_DETACH: u32 = 34;
    pub(crate) const PROG_BIND_MAP: u32 = 35;
    pub(crate) const TOKEN_CREATE: u32 = 36;
    pub(crate) const PROG_ASSOC_STRUCT_OPS: u32 = 38;
}

/// `enum bpf_prog_type`.
pub(super) mod prog {
    pub(crate) const KPROBE: u32 = 2;
    pub(crate) const TRACEPOINT: u32 = 5;
    pub(crate) const PERF_EVENT: u32 = 7;
    pub(crate) const RAW_TRACEPOINT: u32 = 17;
    pub(crate) const RAW_TRACEPOINT_WRITABLE: u32 = 24;
    pub(crate) const TRACING: u32 = 26;
    pub(crate) const STRUCT_OPS: u32 = 27;
    pub(crate) const EXT: u32 = 28;
    pub(crate) const LSM: u32 = 29;
    pub(crate) const SYSCALL: u32 = 31;
    pub(crate) const LAST: u32 = 32;
}

/// `enum bpf_attach_type`.
pub(super) mod attach {
    pub(crate) const TRACE_RAW_TP: u32 = 23;
    pub(crate) const TRACE_FENTRY: u32 = 24;
    pub(crate) const TRACE_FEXIT: u32 = 25;
    pub(crate) const MODIFY_RETURN: u32 = 26;
    pub(crate) const TRACE_ITER: u32 = 28;
    pub(crate) const PERF_EVENT: u32 = 41;
    pub(crate) const TRACE_KPROBE_MULTI: u32 = 42;
    pub(crate) const STRUCT_OPS: u32 = 44;
    pub(crate) const TRACE_UPROBE_MULTI: u32 = 48;
}

/// `enum bpf_link_type`.
pub(super) mod link {
    pub(crate) const RAW_TRACEPOINT: u32 = 1;
    pub(crate) const TRACING: u32 = 2;
    pub(crate) const PERF_EVENT: u32 = 7;
    pub(crate) const STRUCT_OPS: u32 = 9;
}

/// `BPF_F_*` of maps.
pub(super) mod map_flag {
    pub(crate) const NO_PREALLOC: u32 = 1 << 0;
    pub(crate) const RDONLY: u32 = 1 << 3;
    pub(crate) const WRONLY: u32 = 1 << 4;
    pub(crate) const RDONLY_PROG: u32 = 1 << 7;
    pub(crate) const MMAPABLE: u32 = 1 << 10;
    pub(crate) const LINK: u32 = 1 << 13;
    pub(crate) const VTYPE_BTF_OBJ_FD: u32 = 1 << 15;
    pub(crate) const TOKEN_FD: u32 = 1 << 16;
    /// Those of any release that Rota has.
    pub(crate) const ALL: u32 = (1 << 20) - 1;
}

/// `BPF_F_*` of programs.
pub(super) mod prog_flag {
    pub(crate) const SLEEPABLE: u32 = 1 << 4;
    pub(crate) const TOKEN_FD: u32 = 1 << 16;
    pub(crate) const ALL: u32 = (1 << 20) - 1;
}

/// Flags of an update.
pub(super) mod elem {
    pub(crate) const ANY: u64 = 0;
    pub(crate) const NOEXIST: u64 = 1;
    pub(crate) const EXIST: u64 = 2;
    pub(crate) const LOCK: u64 = 4;
    /// `BPF_F_CPU`: the value of the CPU in the upper half.
    pub(crate) const CPU: u64 = 8;
    /// `BPF_F_ALL_CPUS`: one value for all CPUs.
    pub(crate) const ALL_CPUS: u64 = 16;
}
