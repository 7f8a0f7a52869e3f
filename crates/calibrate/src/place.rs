// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the measuring threads run.

use crate::error::CalibrateError;
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};
use std::marker::PhantomData;

/// The calling thread is on one CPU as long as this lives; then it may use those from before again.
/// Threads inherit their CPUs, so a measurement that kept its own would bind all later ones.
#[must_use]
pub(crate) struct Pinned {
    before: CpuSet,
    /// Not for another thread: dropping it there would move that one.
    of_thread: PhantomData<*const ()>,
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // Refused only where all these CPUs are gone; the kernel has chosen others then.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// Takes the calling thread to one CPU.
pub(crate) fn pin(cpu: u32) -> Result<Pinned, CalibrateError> {
    let pinned = Pinned { before: affinity()?, of_thread: PhantomData };
    pinned.go(cpu)?;
    Ok(pinned)
}

impl Pinned {
    /// Takes the thread to another CPU.
    pub(crate) fn go(&self, cpu: u32) -> Result<(), CalibrateError> {
        let mut set = CpuSet::new();
        set.set(cpu as usize);
        sched_setaffinity(None, &set)
            .map_err(|e| CalibrateError::new(format!("cannot run on CPU {cpu}: {e}")))
    }
}

fn affinity() -> Result<CpuSet, CalibrateError> {
    sched_getaffinity(None)
        .map_err(|e| CalibrateError::new(format!("cannot read the CPU affinity: {e}")))
}

/// CPUs that this process may use.
pub(crate) fn allowed() -> Result<Vec<u32>, CalibrateError> {
    let set = affinity()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_its_cpus_again_once_it_was_pinned() {
        let before = allowed().expect("readable");
        let last = *before.last().expect("at least one");
        let pinned = pin(last).expect("allowed");
        assert_eq!(allowed().expect("readable"), [last]);
        pinned.go(before[0]).expect("allowed");
        assert_eq!(allowed().expect("readable"), [before[0]]);
        drop(pinned);
        assert_eq!(allowed().expect("readable"), before);
    }
}
