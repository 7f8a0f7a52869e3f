// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that have some CPUs from their start on.

use crate::error::Error;
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};

/// Does `start` while this thread is kept to the first so many CPUs (`None`: to none), which what it
/// starts inherits.
pub(crate) fn on_first<T>(cpus: Option<u32>, start: impl FnOnce() -> T) -> Result<T, Error> {
    let Some(cpus) = cpus else { return Ok(start()) };
    let failed = |e| Error::Failure(format!("cannot keep the command to {cpus} CPUs: {e}"));
    let before = sched_getaffinity(None).map_err(failed)?;
    let mut own = CpuSet::new();
    (0..(cpus as usize).min(CpuSet::MAX_CPU)).for_each(|cpu| own.set(cpu));
    sched_setaffinity(None, &own).map_err(failed)?;
    let started = start();
    sched_setaffinity(None, &before).map_err(failed)?;
    Ok(started)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_started_keeps_the_cpus_and_who_starts_does_not() {
        let before = sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|cpu| before.is_set(*cpu)).unwrap();

        let inside = on_first(Some(first as u32 + 1), || sched_getaffinity(None).unwrap()).unwrap();

        assert_eq!((inside.count(), inside.is_set(first)), (1, true));
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
