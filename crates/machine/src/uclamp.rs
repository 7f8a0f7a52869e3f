// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clamps of utilization (`uclamp` in `kernel/sched/core.c`): the least performance that a task asks
//! for, and the most that it wants. A CPU has the greatest of each of the tasks that are runnable
//! there, which `schedutil` heeds; schedulers may choose CPUs by them.
//!
//! As in the kernel nothing is counted before a task asks (`sched_uclamp_used`).

use crate::layout::{RqLayout, TaskLayout, ABSENT};
use crate::system::System;
use crate::task::Tid;
use rota_workload::{Policy, Settings};

/// `SCHED_CAPACITY_SCALE`, and what clamps nothing (`uclamp_none()`).
const MOST: u16 = 1024;
const NONE: Clamps = [0, MOST];
/// `CONFIG_UCLAMP_BUCKETS_COUNT`, and the width of a bucket (`UCLAMP_BUCKET_DELTA`).
const BUCKETS: usize = 5;
const BUCKET_WIDTH: u16 = 205;
/// `UCLAMP_FLAG_IDLE`.
const IDLE_FLAG: u32 = 1;

/// The least and the most, in 1/1024 of the most capable CPU (`enum uclamp_id`).
pub(crate) type Clamps = [u16; 2];

/// Clamps of tasks and CPUs.
#[derive(Debug, Default)]
pub(crate) struct Clamped {
    /// What each task holds on the CPU where it is runnable.
    held: Vec<Option<Clamps>>,
    cpus: Vec<CpuClamps>,
}

/// Of a CPU (`rq->uclamp`, `rq->uclamp_flags`).
#[derive(Clone, Debug)]
struct CpuClamps {
    value: Clamps,
    buckets: [[Bucket; BUCKETS]; 2],
    is_idle: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    value: u16,
    tasks: u32,
}

impl Default for CpuClamps {
    fn default() -> Self {
        Self { value: NONE, buckets: Default::default(), is_idle: true }
    }
}

impl CpuClamps {
    /// `uclamp_rq_inc()`.
    fn add(&mut self, clamps: Clamps) {
        for (id, value) in clamps.into_iter().enumerate() {
            let bucket = &mut self.buckets[id][bucket_of(value)];
            bucket.tasks += 1;
            if bucket.tasks == 1 || value > bucket.value {
                bucket.value = value;
            }
            if self.is_idle || value > self.value[id] {
                self.value[id] = value;
            }
        }
        self.is_idle = false;
    }

    /// `uclamp_rq_dec()`.
    fn remove(&mut self, clamps: Clamps) {
        for (id, value) in clamps.into_iter().enumerate() {
            let bucket = &mut self.buckets[id][bucket_of(value)];
            bucket.tasks -= 1;
            if bucket.tasks > 0 || bucket.value < self.value[id] {
                continue;
            }
            let left = self.buckets[id].iter().rev().find(|bucket| bucket.tasks > 0);
            // the last one leaves its upper clamp behind (uclamp_idle_value())
            self.value[id] = match left {
                Some(bucket) => bucket.value,
                None if id == 0 => NONE[0],
                None => {
                    self.is_idle = true;
                    value
                }
            };
        }
    }
}

/// `uclamp_bucket_id()`.
fn bucket_of(value: u16) -> usize {
    usize::from(value / BUCKET_WIDTH).min(BUCKETS - 1)
}

/// What a task's settings come to (`uclamp_eff_value()`): real-time tasks that say nothing want all
/// (`sysctl_sched_uclamp_util_min_rt_default`).
fn clamps_of(settings: &Settings) -> Clamps {
    let is_realtime = matches!(settings.policy, Policy::Rr | Policy::Fifo);
    let least = settings.util_min.unwrap_or(if is_realtime { MOST } else { NONE[0] });
    [least, settings.util_max.unwrap_or(NONE[1])]
}

impl System {
    /// A task has these settings from now on.
    pub(crate) fn set_clamps(&mut self, t: Tid) {
        let settings = &self.task(t).settings;
        if settings.util_min.or(settings.util_max).is_some() && self.clamped.is_none() {
            let cpus = vec![CpuClamps::default(); self.nr_cpus() as usize];
            self.clamped = Some(Box::new(Clamped { held: Vec::new(), cpus }));
        }
        self.publish_clamps(t);
    }

    /// A task becomes runnable on a CPU. Tasks with a reservation take no part
    /// (`sched_class->uclamp_enabled`).
    #[inline]
    pub(crate) fn hold_clamps(&mut self, cpu: u32, t: Tid) {
        if self.clamped.is_some() {
            self.count_clamps(cpu, t, true);
        }
    }

    /// It is not runnable there any more.
    #[inline]
    pub(crate) fn drop_clamps(&mut self, cpu: u32, t: Tid) {
        if self.clamped.is_some() {
            self.count_clamps(cpu, t, false);
        }
    }

    #[inline(never)]
    fn count_clamps(&mut self, cpu: u32, t: Tid, is_runnable: bool) {
        let takes_part = is_runnable && !self.task(t).class.is_deadline();
        let new = takes_part.then(|| clamps_of(&self.task(t).settings));
        let Some(clamped) = self.clamped.as_deref_mut() else { return };
        let at = t.0 as usize;
        if clamped.held.len() <= at {
            clamped.held.resize(at + 1, None);
        }
        let there = &mut clamped.cpus[cpu as usize];
        if let Some(old) = std::mem::replace(&mut clamped.held[at], new) {
            there.remove(old);
        }
        if let Some(new) = new {
            there.add(new);
        }
        self.publish_clamps(t);
        self.publish_cpu_clamps(cpu);
    }

    /// The clamps of a CPU; `None`: nobody ever asked.
    pub(crate) fn cpu_clamps(&self, cpu: u32) -> Option<Clamps> {
        Some(self.clamped.as_deref()?.cpus[cpu as usize].value)
    }

    /// `p->uclamp_req` and `p->uclamp`.
    fn publish_clamps(&mut self, t: Tid) {
        let TaskLayout { uclamp_req, uclamp, .. } = self.guest.layouts.task;
        let settings = &self.task(t).settings;
        let (wanted, own) = (clamps_of(settings), [settings.util_min, settings.util_max]);
        let held = self.clamped.as_deref().and_then(|all| *all.held.get(t.0 as usize)?);
        let addr = self.task(t).addr;
        for id in 0..2 {
            let bits = |value: u16| u32::from(value) | (bucket_of(value) as u32) << 11;
            let user_defined = u32::from(own[id].is_some()) << 15;
            let active = u32::from(held.is_some()) << 14;
            let effective = held.unwrap_or(wanted)[id];
            let place = |field: u32| if field == ABSENT { ABSENT } else { field + 4 * id as u32 };
            self.guest.put_u32(addr, place(uclamp_req), bits(wanted[id]) | user_defined);
            self.guest.put_u32(addr, place(uclamp), bits(effective) | user_defined | active);
        }
    }

    /// `rq->uclamp` and `rq->uclamp_flags`.
    pub(crate) fn publish_cpu_clamps(&mut self, cpu: u32) {
        let RqLayout { uclamp, uclamp_flags, .. } = self.guest.layouts.rq;
        if uclamp == ABSENT {
            return;
        }
        let addr = self.rq(cpu).addr;
        let all = self.clamped.as_deref().map(|all| all.cpus[cpu as usize].clone());
        let CpuClamps { value, buckets, is_idle } = all.unwrap_or_default();
        for id in 0..2 {
            // struct uclamp_rq: a value, and buckets of 11 and 53 bits
            let at = uclamp + id as u32 * (8 + 8 * BUCKETS as u32);
            self.guest.put_u32(addr, at, value[id].into());
            for (n, bucket) in buckets[id].iter().enumerate() {
                let word = u64::from(bucket.value) | u64::from(bucket.tasks) << 11;
                self.guest.put_u64(addr, at + 8 + 8 * n as u32, word);
            }
        }
        self.guest.put_u32(addr, uclamp_flags, if is_idle { IDLE_FLAG } else { 0 });
    }

    /// A CPU has the clamps of those that are runnable there.
    pub(crate) fn audit_clamps(&self, cpu: u32) -> Result<(), String> {
        let Some(clamped) = self.clamped.as_deref() else { return Ok(()) };
        let mut expected = CpuClamps::default();
        for (at, held) in clamped.held.iter().enumerate() {
            let t = Tid(at as u32);
            let Some(held) = held.filter(|_| self.task(t).cpu == cpu) else { continue };
            if !self.is_queued(t) {
                return Err(format!("has the clamps of {}, which sleeps", self.task(t).label()));
            }
            expected.add(held);
        }
        let found = &clamped.cpus[cpu as usize];
        let count = |of: &CpuClamps| of.buckets.map(|all| all.map(|bucket| bucket.tasks));
        match count(&expected) == count(found) && expected.is_idle == found.is_idle {
            true => Ok(()),
            false => Err(format!("has {found:?} of tasks that have {expected:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buckets of 205: 0 to 204, to 409, to 614, to 819, and the rest.
    #[test]
    fn a_clamp_has_one_of_five_buckets() {
        let buckets = [0, 204, 205, 512, 819, 820, 1024].map(bucket_of);
        assert_eq!(buckets, [0, 0, 1, 2, 3, 4, 4]);
    }

    /// In one bucket the greatest value stays until the bucket is empty, as no list is kept: the
    /// kernel's words for it are "local max aggregation".
    #[test]
    fn a_cpu_has_the_greatest_clamps_of_its_tasks() {
        let mut cpu = CpuClamps::default();
        cpu.add([300, 600]);
        cpu.add([400, 1024]);
        assert_eq!(cpu.value, [400, 1024]);
        cpu.remove([400, 1024]);
        assert_eq!(cpu.value, [400, 600], "300 and 400 have one bucket");
        cpu.add([100, 200]);
        cpu.remove([300, 600]);
        assert_eq!(cpu.value, [100, 200]);
    }

    #[test]
    fn the_last_task_leaves_its_upper_clamp_behind_for_the_next_one_to_replace() {
        let mut cpu = CpuClamps::default();
        cpu.add([300, 200]);
        cpu.remove([300, 200]);
        assert_eq!((cpu.value, cpu.is_idle), ([0, 200], true));
        cpu.add([0, 100]);
        assert_eq!((cpu.value, cpu.is_idle), ([0, 100], false));
    }
}
