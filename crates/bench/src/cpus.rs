// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPU the measured programs share, and where this process goes meanwhile.

use crate::error::Error;
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};

/// CPUs for the programs, the others for us.
#[derive(Clone, Debug)]
pub struct Cpus {
    /// The CPUs that the programs share, one at least.
    shared: Vec<usize>,
    only: CpuSet,
    allowed: CpuSet,
    others: CpuSet,
}

impl Cpus {
    /// With the CPU that the programs are to share; `None`: the last that we may use.
    pub fn new(shared: Option<usize>) -> Result<Self, Error> {
        Self::several(shared.as_slice())
    }

    /// With those that the programs are to share; none: all that we may use.
    pub fn several_or_all(shared: &[usize]) -> Result<Self, Error> {
        if !shared.is_empty() {
            return Self::several(shared);
        }
        let allowed =
            sched_getaffinity(None).map_err(|e| Error::system("read the CPU affinity", e))?;
        let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
        Self::several(&all)
    }

    /// With those that the programs are to share; none: the last that we may use.
    pub fn several(shared: &[usize]) -> Result<Self, Error> {
        let allowed =
            sched_getaffinity(None).map_err(|e| Error::system("read the CPU affinity", e))?;
        let usable = |cpu: &usize| allowed.is_set(*cpu);
        let last = (0..CpuSet::MAX_CPU).rev().find(usable);
        if let Some(cpu) = shared.iter().find(|cpu| **cpu >= CpuSet::MAX_CPU || !usable(cpu)) {
            return Err(Error::Input(format!("CPU {cpu} is not there, or may not be used")));
        }
        let mut shared = shared.to_vec();
        shared.sort_unstable();
        shared.dedup();
        if shared.is_empty() {
            shared.push(last.ok_or_else(|| Error::Failure("no CPU may be used".into()))?);
        }
        let (mut only, mut others) = (CpuSet::new(), allowed);
        for cpu in &shared {
            only.set(*cpu);
            others.unset(*cpu);
        }
        if others.count() == 0 {
            others = allowed;
        }
        Ok(Self { shared, only, allowed, others })
    }

    /// The CPU that the programs share, or the first of them.
    pub fn shared(&self) -> usize {
        self.shared[0]
    }

    /// All that they share.
    pub fn all_shared(&self) -> &[usize] {
        &self.shared
    }

    pub(crate) fn count(&self) -> usize {
        self.shared.len()
    }

    /// Does `start`, so that processes that it starts are on the shared CPU, then leaves that.
    pub(crate) fn share<T>(&self, start: impl FnOnce() -> T) -> Result<T, Error> {
        self.stay(&self.only)?;
        let started = start();
        self.stay(&self.others)?;
        Ok(started)
    }

    /// Takes the calling thread to the shared CPUs, for good.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        self.stay(&self.only)
    }

    fn stay(&self, cpus: &CpuSet) -> Result<(), Error> {
        sched_setaffinity(None, cpus).map_err(|e| Error::system("set the CPU affinity", e))
    }
}

/// What this thread may use is as before.
impl Drop for Cpus {
    fn drop(&mut self) {
        let _ = self.stay(&self.allowed);
    }
}
