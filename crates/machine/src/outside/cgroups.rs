// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cgroups that are changed, made and removed from outside.

use crate::cgroup::Bandwidth;
use crate::ops::{Op, Ops};
use crate::system::System;
use crate::task::State;
use rota_workload::events::CgroupAction;

const BUSY: &str = "is refused (EBUSY)";

impl System {
    /// Writes a file of a cgroup, makes or removes it; or says what is not as it seems.
    pub(crate) fn act_on_cgroup(
        &mut self,
        o: &mut dyn Ops,
        path: &str,
        action: &CgroupAction,
    ) -> Result<(), String> {
        if *action == CgroupAction::Create {
            return self.make_cgroup(o, path);
        }
        let Some(at) = self.cgroups.find(path) else {
            return Err("there is no such cgroup then".into());
        };
        match *action {
            CgroupAction::Weight(weight) => self.group_set_weight(o, at, weight),
            CgroupAction::Max { quota_us, period_us } => {
                let old = self.cgroups.get(at).bandwidth;
                let period_us = period_us.unwrap_or(old.period_us);
                let quota_us = quota_us.unwrap_or(u64::MAX);
                if quota_us < old.burst_us {
                    let burst = old.burst_us;
                    return Err(format!("is refused (EINVAL): cpu.max.burst is {burst}"));
                }
                self.group_set_bandwidth(o, at, Bandwidth { quota_us, period_us, ..old })
            }
            CgroupAction::Burst(burst_us) => {
                let old = self.cgroups.get(at).bandwidth;
                if burst_us > old.quota_us {
                    let quota = old.quota_us;
                    return Err(format!("is refused (EINVAL): the quota is {quota}"));
                }
                self.group_set_bandwidth(o, at, Bandwidth { burst_us, ..old })
            }
            CgroupAction::Idle(idle) => self.group_set_idle(o, at, idle),
            CgroupAction::Create => Ok(()),
            CgroupAction::Destroy => self.remove_cgroup(o, at),
        }
    }

    /// Whether the scheduler hears of a change; a change that it does not has no effect.
    fn hears(&self, op: Op) -> Result<(), String> {
        if self.has(op) {
            return Ok(());
        }
        Err(format!("has no effect: the scheduler has no ops.{}()", op.name()))
    }

    /// `scx_group_set_weight()`.
    fn group_set_weight(&mut self, o: &mut dyn Ops, at: u32, weight: u32) -> Result<(), String> {
        let cgroup = self.cgroups.get(at);
        let (addr, old) = (cgroup.addr, cgroup.weight);
        if self.hosted.cgroup_enabled && self.has(Op::CgroupSetWeight) && old != weight {
            self.call(o, Op::CgroupSetWeight, None, None, &[addr, u64::from(weight)]);
        }
        self.cgroups.get_mut(at).weight = weight;
        self.hears(Op::CgroupSetWeight)
    }

    /// `scx_group_set_bandwidth()`.
    fn group_set_bandwidth(
        &mut self,
        o: &mut dyn Ops,
        at: u32,
        new: Bandwidth,
    ) -> Result<(), String> {
        let cgroup = self.cgroups.get(at);
        let (addr, old) = (cgroup.addr, cgroup.bandwidth);
        if self.hosted.cgroup_enabled && self.has(Op::CgroupSetBandwidth) && old != new {
            let args = [addr, new.period_us, new.quota_us, new.burst_us];
            self.call(o, Op::CgroupSetBandwidth, None, None, &args);
        }
        self.cgroups.get_mut(at).bandwidth = new;
        self.hears(Op::CgroupSetBandwidth)
    }

    /// `scx_group_set_idle()`, which does not compare.
    fn group_set_idle(&mut self, o: &mut dyn Ops, at: u32, idle: bool) -> Result<(), String> {
        let addr = self.cgroups.get(at).addr;
        if self.hosted.cgroup_enabled && self.has(Op::CgroupSetIdle) {
            self.call(o, Op::CgroupSetIdle, None, None, &[addr, u64::from(idle)]);
        }
        self.hears(Op::CgroupSetIdle)
    }

    /// `mkdir` of a cgroup, its parents before it, and `scx_tg_online()`.
    fn make_cgroup(&mut self, o: &mut dyn Ops, path: &str) -> Result<(), String> {
        if self.cgroups.find(path).is_some() {
            return Err("is refused (EEXIST)".into());
        }
        let before = self.cgroups.len();
        self.cgroups.ensure(&mut self.guest, path);
        for at in before..self.cgroups.len() {
            if !self.hosted.cgroup_enabled {
                continue;
            }
            if let Err(errno) = self.tg_online(o, at) {
                // neither this one nor what was to be in it comes into being
                (at..self.cgroups.len()).rev().for_each(|at| self.cgroups.remove(at));
                return Err(format!("is refused: ops.cgroup_init() returned {errno}"));
            }
        }
        Ok(())
    }

    /// `rmdir` of a cgroup and `scx_tg_offline()`.
    fn remove_cgroup(&mut self, o: &mut dyn Ops, at: u32) -> Result<(), String> {
        let cgroup = self.cgroups.get(at);
        if let Some(child) = cgroup.children.first() {
            return Err(format!("{BUSY}: {} is in it", self.cgroups.get(*child).path));
        }
        let here = |t: &crate::task::Tid| {
            let task = self.task(*t);
            task.cgroup == at && task.state != State::Dead
        };
        if let Some(t) = self.tasks.ids().find(here) {
            return Err(format!("{BUSY}: task {} is in it", self.task(t).label()));
        }
        self.tg_offline(o, at);
        self.cgroups.remove(at);
        let (addr, offset) = (self.cgroups.get(at).addr, self.guest.layouts.cgroup.self_flags);
        self.guest.put_u32(addr, offset, crate::cgroup::CSS_DYING);
        o.release_owner(self, addr);
        Ok(())
    }
}
