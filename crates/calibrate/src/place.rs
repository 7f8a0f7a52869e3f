// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the measuring threads run.

use crate::error::CalibrateError;
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};

/// Takes the calling thread to one CPU.
pub(crate) fn pin(cpu: u32) -> Result<(), CalibrateError> {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(None, &set)
        .map_err(|e| CalibrateError::new(format!("cannot run on CPU {cpu}: {e}")))
}

/// CPUs that this process may use.
pub(crate) fn allowed() -> Result<Vec<u32>, CalibrateError> {
    let set = sched_getaffinity(None)
        .map_err(|e| CalibrateError::new(format!("cannot read the CPU affinity: {e}")))?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect())
}

/// Makes the calling thread give way to every other one.
pub(crate) fn be_nice() -> Result<(), CalibrateError> {
    let own = rustix::thread::gettid();
    rustix::process::setpriority_process(Some(own), 19)
        .map_err(|e| CalibrateError::new(format!("cannot lower a priority: {e}")))
}

/// Timers of the calling thread are punctual, or late by what is usual.
pub(crate) fn set_slack(ns: Option<u64>) -> Result<(), CalibrateError> {
    let ns = ns.and_then(std::num::NonZeroU64::new);
    rustix::thread::set_current_timer_slack(ns)
        .map_err(|e| CalibrateError::new(format!("cannot set the timer slack: {e}")))
}
