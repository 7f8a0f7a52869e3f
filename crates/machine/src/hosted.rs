// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the machine keeps of the scheduler that it hosts: `struct scx_sched`.

use crate::consts::DSP_DFL_MAX_BATCH;
use crate::dump::DumpBuffer;
use crate::exit::ExitInfo;
use crate::ops::Op;
use crate::policy::Binding;
use crate::running::Site;
use crate::spending::Spending;
use crate::tracing::Places;
use std::sync::Arc;

/// The hosted scheduler.
pub(crate) struct Hosted {
    /// It is the fair class, see `class/sides.rs`.
    pub(crate) is_fair: bool,
    /// Kernel functions find it (`scx_root`): from before `ops.init()` until after `ops.exit()`.
    pub(crate) is_root: bool,
    /// It knows CPUs by cids (`scx_sched.is_cid_type`).
    pub(crate) is_cid: bool,
    /// Callbacks that it has and that are enabled by now, by [`Op`] number.
    pub(crate) has_op: u64,
    pub(crate) flags: u64,
    pub(crate) dsp_max_batch: u32,
    pub(crate) watchdog_timeout_ns: u64,
    /// When the watchdog looks next.
    pub(crate) watchdog_at_ns: u64,
    /// `scx_init_task_enabled`: forks go through `ops.init_task()`.
    pub(crate) enabled: bool,
    pub(crate) bypassing: bool,
    pub(crate) cgroup_enabled: bool,
    pub(crate) exit: Option<ExitInfo>,
    /// Where hosted code was that made it leave.
    pub(crate) exit_site: Option<Site>,
    pub(crate) dump: Option<DumpBuffer>,
    pub(crate) spending: Spending,
    /// Where it has tracing programs.
    pub(crate) watched: Places,
    /// Its object, for kernel functions that call back into it.
    pub(crate) binding: Option<Arc<Binding>>,
}

impl Default for Hosted {
    fn default() -> Self {
        Self {
            is_fair: false,
            is_root: false,
            is_cid: false,
            has_op: 0,
            flags: 0,
            dsp_max_batch: DSP_DFL_MAX_BATCH,
            watchdog_timeout_ns: 0,
            watchdog_at_ns: 0,
            enabled: false,
            bypassing: false,
            cgroup_enabled: false,
            exit: None,
            exit_site: None,
            dump: None,
            spending: Spending::default(),
            watched: Places::default(),
            binding: None,
        }
    }
}

impl Hosted {
    /// `SCX_HAS_OP()`.
    #[inline]
    pub(crate) fn has(&self, op: Op) -> bool {
        self.has_op >> (op as u8) & 1 == 1
    }
}
