// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cgroups that are changed, made and removed from outside.

use crate::cgroup::Bandwidth;
use crate::class::{Class, Takes};
use crate::ops::{Op, Ops};
use crate::outside::Happened;
use crate::run::Machine;
use crate::system::System;
use crate::task::State;
use crate::tracing::Place;
use rota_workload::events::CgroupAction;
use std::sync::Arc;

/// `max_bw_runtime_us`.
const MAX_RUNTIME_US: u64 = (1 << 44) / 1000;

const BUSY: &str = "is refused (EBUSY)";

impl Machine {
    /// What the workload's groups begin with. A scheduler learns of `cpu.idle` by a write only, so
    /// that comes after the scheduler of the beginning; weights and limits it gets with the groups.
    pub(crate) fn write_group_files(&mut self, o: &mut dyn Ops) {
        let workload = Arc::clone(self.runner.workload());
        for group in &workload.groups {
            let Some(at) = self.system.cgroups.find(&group.path) else { continue };
            for file in &group.files {
                let written = match file {
                    CgroupAction::Idle(true) => self.system.group_set_idle(o, at, true),
                    CgroupAction::Max { quota_us: Some(_), .. } => {
                        self.system.tell_group(o, Op::CgroupSetBandwidth, &[], (false, false))
                    }
                    _ => Ok(()),
                };
                if let Err(result) = written {
                    let event = format!("task group {:?}", group.path);
                    let (at_ns, action) = (self.system.now_ns, file.to_string());
                    self.outside.push(Happened { at_ns, event, action, result });
                }
            }
        }
    }
}

impl System {
    /// Writes a file of a cgroup, makes or removes it; or says what is not as it seems.
    pub(crate) fn act_on_cgroup(
        &mut self,
        o: &mut dyn Ops,
        path: &str,
        action: &CgroupAction,
    ) -> Result<(), String> {
        let done = self.do_on_cgroup(o, path, action);
        self.notify_of_groups();
        done
    }

    fn do_on_cgroup(
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
        match action.clone() {
            CgroupAction::Weight(weight) => self.group_set_weight(o, at, weight),
            CgroupAction::Max { quota_us, period_us } => {
                let old = self.cgroups.get(at).bandwidth;
                let period_us = period_us.unwrap_or(old.period_us);
                let quota_us = quota_us.unwrap_or(u64::MAX);
                self.group_set_bandwidth(o, at, Bandwidth { quota_us, period_us, ..old })
            }
            CgroupAction::Burst(burst_us) => {
                let old = self.cgroups.get(at).bandwidth;
                self.group_set_bandwidth(o, at, Bandwidth { burst_us, ..old })
            }
            CgroupAction::Idle(idle) => self.group_set_idle(o, at, idle),
            CgroupAction::Cpus(cpus) => {
                let text: Vec<_> = cpus.iter().map(u32::to_string).collect();
                self.passing_cpuset_write(o, &text.join(","), |system, o| {
                    system.group_set_cpus(o, at, cpus.iter().copied().collect());
                });
                Ok(())
            }
            CgroupAction::Create | CgroupAction::Scheduler(_) => Ok(()),
            CgroupAction::Destroy => self.remove_cgroup(o, at),
        }
    }

    /// Tells the fair class and the scheduler of a new value, in this order, or says that this has
    /// no effect. `fair` and `ext`: it is another one than before, as they see it.
    fn tell_group(
        &mut self,
        o: &mut dyn Ops,
        op: Op,
        args: &[u64],
        (fair, ext): (bool, bool),
    ) -> Result<(), String> {
        let in_fair = self.other.is_some()
            && self.hosting(o, Class::Fair, |system, o| system.tell_on_side(o, op, args, fair));
        let in_ext = self.tell_on_side(o, op, args, ext);
        let name = op.name();
        match (self.hosted.enabled, in_fair) {
            (true, _) if in_ext => Ok(()),
            (true, true) if self.tasks.takes == Takes::Marked => Err(format!(
                "has an effect in the fair class only: the scheduler has no ops.{name}()"
            )),
            (true, _) => Err(format!("has no effect: the scheduler has no ops.{name}()")),
            (false, true) => Ok(()),
            (false, false) => Err(format!("has no effect: the fair class has no ops.{name}()")),
        }
    }

    /// Whether the scheduler hears of such changes.
    fn tell_on_side(&mut self, o: &mut dyn Ops, op: Op, args: &[u64], changed: bool) -> bool {
        let hears = self.hosted.cgroup_enabled && self.has(op);
        if hears && changed {
            self.call(o, op, None, None, args);
        }
        hears
    }

    /// `sched_group_set_shares()` and `scx_group_set_weight()`.
    fn group_set_weight(&mut self, o: &mut dyn Ops, at: u32, weight: u32) -> Result<(), String> {
        let cgroup = self.cgroups.get(at);
        if cgroup.idle {
            return Err("is refused (EINVAL): cpu.idle is 1".into());
        }
        let changed = cgroup.weight != weight;
        let args = [cgroup.addr, u64::from(weight)];
        let told = self.tell_group(o, Op::CgroupSetWeight, &args, (changed, changed));
        self.cgroups.get_mut(at).weight = weight;
        self.tell_cgroup_set(at);
        self.cgroups.publish(&mut self.guest, at);
        told
    }

    /// `tg_set_bandwidth()` and `scx_group_set_bandwidth()`.
    fn group_set_bandwidth(
        &mut self,
        o: &mut dyn Ops,
        at: u32,
        new: Bandwidth,
    ) -> Result<(), String> {
        let Bandwidth { quota_us, period_us, burst_us } = new;
        if burst_us > quota_us || quota_us != u64::MAX && quota_us + burst_us > MAX_RUNTIME_US {
            let quota = if quota_us == u64::MAX { "max".into() } else { quota_us.to_string() };
            return Err(format!("is refused (EINVAL): the quota is {quota}, the burst {burst_us}"));
        }
        let cgroup = self.cgroups.get(at);
        let changed = cgroup.bandwidth != new;
        let args = [cgroup.addr, period_us, quota_us, burst_us];
        let told = self.tell_group(o, Op::CgroupSetBandwidth, &args, (changed, changed));
        self.cgroups.get_mut(at).bandwidth = new;
        self.tell_cgroup_set(at);
        self.cgroups.publish(&mut self.guest, at);
        told
    }

    /// `sched_group_set_idle()`, and `scx_group_set_idle()`, which does not compare.
    pub(crate) fn group_set_idle(
        &mut self,
        o: &mut dyn Ops,
        at: u32,
        idle: bool,
    ) -> Result<(), String> {
        let cgroup = self.cgroups.get(at);
        let (args, changed) = ([cgroup.addr, u64::from(idle)], cgroup.idle != idle);
        let told = self.tell_group(o, Op::CgroupSetIdle, &args, (changed, true));
        self.cgroups.get_mut(at).idle = idle;
        self.cgroups.publish(&mut self.guest, at);
        self.tell_cgroup_set(at);
        told
    }

    /// `mkdir` of a cgroup, its parents before it, and `scx_tg_online()`.
    fn make_cgroup(&mut self, o: &mut dyn Ops, path: &str) -> Result<(), String> {
        if self.cgroups.find(path).is_some() {
            return Err("is refused (EEXIST)".into());
        }
        let before = self.cgroups.len();
        self.cgroups.ensure(&mut self.guest, path);
        for at in before..self.cgroups.len() {
            let online = if self.hosted.cgroup_enabled { self.tg_online(o, at) } else { Ok(()) };
            if let Err(errno) = online {
                // neither this one nor what was to be in it comes into being
                (at..self.cgroups.len()).rev().for_each(|at| self.cgroups.remove(at));
                return Err(format!("is refused: ops.cgroup_init() returned {errno}"));
            }
            self.fair_online(o, at);
            self.pass_made_cgroup(o, at);
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
        self.end_sub_of_cgroup(o, at);
        self.tg_offline(o, at);
        if self.other.is_some() {
            // sched_release_group()
            self.hosting(o, Class::Fair, |system, o| system.tg_offline(o, at));
        }
        self.cgroups.remove(at);
        let (addr, offset) = (self.cgroups.get(at).addr, self.guest.layouts.cgroup.self_flags);
        self.guest.put_u32(addr, offset, crate::cgroup::CSS_DYING);
        self.pass_cgroup(o, Place::CgroupRmdir, at, None);
        o.release_owner(self, addr);
        self.release_in_subs(addr);
        if self.other.is_some() {
            self.hosting(o, Class::Fair, |system, o| o.release_owner(system, addr));
        }
        Ok(())
    }
}
