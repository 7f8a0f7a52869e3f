// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of the sched_ext interface, as Linux 7.2 defines them
//! (`kernel/sched/ext/internal.h`, `include/linux/sched/ext.h`, `kernel/sched/sched.h`).
#![allow(missing_docs)]

/// Uptime of the simulated kernel when a run begins: 1,000 s. Schedulers may rely on a
/// clock that is not near 0, as on any machine that has booted.
pub const BOOT_NS: u64 = 1_000_000_000_000;
/// `SCX_SLICE_DFL`: 20 ms.
pub const SLICE_DFL_NS: u64 = 20_000_000;
/// `SCX_SLICE_INF`: never expires.
pub const SLICE_INF: u64 = u64::MAX;
/// `SCX_DSP_DFL_MAX_BATCH`.
pub const DSP_DFL_MAX_BATCH: u32 = 32;
/// `SCX_DSP_MAX_LOOPS`.
pub const DSP_MAX_LOOPS: u32 = 32;
/// `SCX_WATCHDOG_MAX_TIMEOUT`: 30 s.
pub const WATCHDOG_MAX_TIMEOUT_MS: u32 = 30_000;
/// `SCX_EXIT_MSG_LEN`.
pub const EXIT_MSG_LEN: usize = 1024;
/// `SCX_EXIT_DUMP_DFL_LEN`.
pub const EXIT_DUMP_DFL_LEN: usize = 32_768;
/// `SCX_CPUPERF_ONE`.
pub const CPUPERF_ONE: u32 = 1024;
/// `SCX_REENQ_LOCAL_MAX_REPEAT`.
pub const REENQ_LOCAL_MAX_REPEAT: u32 = 256;

pub const ENQ_WAKEUP: u64 = 1;
pub const ENQ_RESTORE: u64 = 2;
pub const ENQ_MOVE: u64 = 4;
pub const ENQ_NOCLOCK: u64 = 8;
pub const ENQ_HEAD: u64 = 1 << 16;
pub const ENQ_MIGRATED: u64 = 1 << 18;
pub const ENQ_INITIAL: u64 = 1 << 19;
pub const ENQ_CPU_SELECTED: u64 = 1 << 20;
pub const ENQ_PREEMPT: u64 = 1 << 32;
pub const ENQ_IMMED: u64 = 1 << 33;
pub const ENQ_REENQ: u64 = 1 << 40;
pub const ENQ_LAST: u64 = 1 << 41;
pub const ENQ_INTERNAL_MASK: u64 = 0xff << 56;
pub const ENQ_CLEAR_OPSS: u64 = 1 << 56;
pub const ENQ_DSQ_PRIQ: u64 = 1 << 57;
pub const ENQ_GDSQ_FALLBACK: u64 = 1 << 59;

pub const DEQ_SLEEP: u64 = 1;
pub const DEQ_SAVE: u64 = 2;
pub const DEQ_MOVE: u64 = 4;
pub const DEQ_NOCLOCK: u64 = 8;
pub const DEQ_CLASS: u64 = 0x40;
pub const DEQ_SPECIAL: u64 = 0x1_0000;
pub const DEQ_CORE_SCHED_EXEC: u64 = 1 << 32;
pub const DEQ_SCHED_CHANGE: u64 = 1 << 33;

pub const KICK_IDLE: u64 = 1;
pub const KICK_PREEMPT: u64 = 2;
pub const KICK_WAIT: u64 = 4;

pub const WAKE_FORK: u64 = 4;
pub const WAKE_TTWU: u64 = 8;
pub const WAKE_SYNC: u64 = 16;

pub const PICK_IDLE_CORE: u64 = 1;
pub const PICK_IDLE_IN_NODE: u64 = 2;

pub const DSQ_FLAG_BUILTIN: u64 = 1 << 63;
pub const DSQ_INVALID: u64 = DSQ_FLAG_BUILTIN;
pub const DSQ_GLOBAL: u64 = DSQ_FLAG_BUILTIN | 1;
pub const DSQ_LOCAL: u64 = DSQ_FLAG_BUILTIN | 2;
pub const DSQ_BYPASS: u64 = DSQ_FLAG_BUILTIN | 3;
pub const DSQ_LOCAL_ON: u64 = DSQ_FLAG_BUILTIN | 1 << 62;
pub const DSQ_LOCAL_CPU_MASK: u64 = 0xffff_ffff;
pub const DSQ_ITER_REV: u64 = 1 << 16;

pub const TASK_QUEUED: u32 = 1;
pub const TASK_IN_CUSTODY: u32 = 2;
pub const TASK_RESET_RUNNABLE_AT: u32 = 4;
pub const TASK_DEQD_FOR_SLEEP: u32 = 8;
pub const TASK_IMMED: u32 = 32;
pub const TASK_STATE_MASK: u32 = 7 << 8;
pub const TASK_NONE: u32 = 0;
pub const TASK_INIT: u32 = 2 << 8;
pub const TASK_READY: u32 = 3 << 8;
pub const TASK_ENABLED: u32 = 4 << 8;
pub const TASK_DEAD: u32 = 5 << 8;
pub const TASK_REENQ_REASON_MASK: u32 = 3 << 12;
pub const TASK_REENQ_KFUNC: u32 = 1 << 12;
pub const TASK_REENQ_IMMED: u32 = 2 << 12;
pub const TASK_REENQ_PREEMPTED: u32 = 3 << 12;

pub const OPS_KEEP_BUILTIN_IDLE: u64 = 1;
pub const OPS_ENQ_LAST: u64 = 1 << 1;
pub const OPS_ENQ_EXITING: u64 = 1 << 2;
pub const OPS_SWITCH_PARTIAL: u64 = 1 << 3;
pub const OPS_ENQ_MIGRATION_DISABLED: u64 = 1 << 4;
pub const OPS_ALLOW_QUEUED_WAKEUP: u64 = 1 << 5;
pub const OPS_BUILTIN_IDLE_PER_NODE: u64 = 1 << 6;
pub const OPS_ALWAYS_ENQ_IMMED: u64 = 1 << 7;
pub const OPS_TID_TO_TASK: u64 = 1 << 8;
pub const OPS_ALL_FLAGS: u64 = 0x1ff;

pub const REENQ_ANY: u64 = 1;

/// `PF_EXITING`.
pub const PF_EXITING: u32 = 4;
/// `PF_IDLE`.
pub const PF_IDLE: u32 = 2;
/// `PF_KTHREAD`.
pub const PF_KTHREAD: u32 = 0x0020_0000;
/// `PF_NO_SETAFFINITY`.
pub const PF_NO_SETAFFINITY: u32 = 0x0400_0000;

pub const ENOENT: i64 = 2;
pub const EBUSY: i64 = 16;
pub const EEXIST: i64 = 17;
pub const EINVAL: i64 = 22;
pub const ENODEV: i64 = 19;
pub const EOPNOTSUPP: i64 = 95;
/// `MAX_ERRNO`: a callback's negative return below this is not an error code.
pub const MAX_ERRNO: i64 = 4095;

/// `SCX_CPU_PREEMPT_STOP`.
pub const PREEMPT_STOP: u32 = 2;
