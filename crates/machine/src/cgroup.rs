// SPDX-License-Identifier: MIT OR Apache-2.0
//! Task groups: cgroups with a CPU weight, as `ops.cgroup_*()` sees them.

use crate::class::Class;
use crate::consts::*;
use crate::cpuset::CpuSet;
use crate::current::Thread;
use crate::guest::Guest;
use crate::layout::ABSENT;
use crate::ops::{Op, Ops};
use crate::system::System;
use crate::task::Tid;
use crate::tracing::Place;
use rota_vm::memory::Perm;
use rota_workload::events::CgroupAction;
use rota_workload::Group;
use rustc_hash::FxHashMap;

/// Levels below the root that a group may have.
pub(crate) const MAX_DEPTH: u32 = 16;
/// `CGROUP_WEIGHT_DFL`.
pub(crate) const WEIGHT_DFL: u32 = 100;
/// `cgrp->kn->id` of the root; the others follow in the order of their making.
pub(crate) const FIRST_ID: u64 = 1;
/// `CSS_ONLINE`.
const CSS_ONLINE: u32 = 2;

/// `CSS_DYING`.
pub(crate) const CSS_DYING: u32 = 16;

/// `cpu.max` and `cpu.max.burst`; a quota of `u64::MAX` is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bandwidth {
    pub(crate) period_us: u64,
    pub(crate) quota_us: u64,
    pub(crate) burst_us: u64,
}

/// Defaults of `scx_tg_init()`: 100 ms, no quota.
pub(crate) const UNLIMITED: Bandwidth =
    Bandwidth { period_us: 100_000, quota_us: u64::MAX, burst_us: 0 };

/// One cgroup and its guest objects.
#[derive(Clone, Debug)]
pub(crate) struct Cgroup {
    pub(crate) path: String,
    pub(crate) level: u32,
    pub(crate) parent: Option<u32>,
    /// In the order of their making.
    pub(crate) children: Vec<u32>,
    pub(crate) weight: u32,
    pub(crate) bandwidth: Bandwidth,
    /// `cpu.idle`.
    pub(crate) idle: bool,
    /// `cpuset.cpus`, if it was written, and `cs->effective_cpus`.
    pub(crate) cpus: Option<CpuSet>,
    pub(crate) effective: CpuSet,
    pub(crate) addr: u64,
    kn: u64,
    task_group: u64,
    css_set: u64,
    /// `SCX_TG_INITED`: of sched_ext's scheduler, and of the fair class.
    inited: [bool; 2],
    /// It was removed.
    gone: bool,
}

/// Every cgroup; the first is the root.
#[derive(Debug, Default)]
pub(crate) struct Cgroups {
    all: Vec<Cgroup>,
    by_path: FxHashMap<String, u32>,
    by_addr: FxHashMap<u64, u32>,
    /// How many have CPUs of their own, see `cpusets.rs`.
    pub(crate) nr_cpusets: u32,
    /// How often one was made, removed or given out to be changed.
    changes: u64,
}

/// `/a` and `/a/b` of `/a/b`: the groups that must be there for this one.
pub(crate) fn prefixes(path: &str) -> impl Iterator<Item = String> + '_ {
    let parts = path.split('/').filter(|part| !part.is_empty()).take(MAX_DEPTH as usize - 1);
    parts.scan(String::new(), |so_far, part| {
        so_far.push('/');
        so_far.push_str(part);
        Some(so_far.clone())
    })
}

impl Cgroups {
    pub(crate) fn get(&self, at: u32) -> &Cgroup {
        &self.all[at as usize]
    }

    pub(crate) fn at_addr(&self, addr: u64) -> Option<u32> {
        self.by_addr.get(&addr).copied()
    }

    pub(crate) fn find(&self, path: &str) -> Option<u32> {
        self.by_path.get(path).copied()
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// The number that programs know a group by.
    pub(crate) fn id(&self, at: u32) -> u64 {
        u64::from(at) + FIRST_ID
    }

    pub(crate) fn by_id(&self, id: u64) -> Option<u32> {
        let at = u32::try_from(id.checked_sub(FIRST_ID)?).ok()?;
        (at < self.len() && !self.get(at).gone).then_some(at)
    }

    pub(crate) fn get_mut(&mut self, at: u32) -> &mut Cgroup {
        self.changes += 1;
        &mut self.all[at as usize]
    }

    /// Nobody finds the group any more; who knows it keeps it.
    pub(crate) fn remove(&mut self, at: u32) {
        let group = self.get_mut(at);
        group.gone = true;
        let (path, parent) = (group.path.clone(), group.parent);
        self.by_path.remove(&path);
        if let Some(parent) = parent {
            self.get_mut(parent).children.retain(|child| *child != at);
        }
    }

    /// Cgroups in pre-order: a parent comes before its children.
    pub(crate) fn len(&self) -> u32 {
        self.all.len() as u32
    }

    /// Finds `/a/b`, creating what is missing of it.
    pub(crate) fn ensure(&mut self, guest: &mut Guest, path: &str) -> u32 {
        prefixes(path).fold(0, |at, path| match self.by_path.get(&path) {
            Some(at) => *at,
            None => self.create(guest, &path, Some(at)),
        })
    }

    fn create(&mut self, guest: &mut Guest, path: &str, parent: Option<u32>) -> u32 {
        let Guest { mem, layouts, .. } = guest;
        let at = self.all.len() as u32;
        let id = u64::from(at) + FIRST_ID;
        let level = parent.map_or(0, |p| self.get(p).level + 1);
        let addr = mem.alloc_kernel(layouts.cgroup_shape);
        let kn = mem.alloc_kernel(layouts.kernfs_shape);
        let task_group = mem.alloc_kernel(layouts.task_group_shape);
        let css_set = mem.alloc_kernel(layouts.css_set_shape);
        // that of the root is empty, as in kernfs_create_root()
        let text = path.rsplit('/').next().unwrap_or("");
        let name = mem.alloc("cgroup name", text.len() as u32 + 1, Perm::ReadOnly);
        for (at, byte) in text.bytes().enumerate() {
            mem.set_u8(name + at as u64, byte);
        }
        let mut put = |base: u64, offset: u32, value: u64, bytes: u32| {
            match (offset, bytes) {
                (ABSENT, _) => {}
                (_, 4) => mem.set_u32(base + u64::from(offset), value as u32),
                _ => mem.set_u64(base + u64::from(offset), value),
            };
        };
        put(kn, layouts.kernfs.id, id, 8);
        put(kn, layouts.kernfs.name, name, 8);
        put(addr, layouts.cgroup.kn, kn, 8);
        put(addr, layouts.cgroup.level, u64::from(level), 4);
        put(addr, layouts.cgroup.self_cgroup, addr, 8);
        put(addr, layouts.cgroup.self_id, id, 4);
        put(addr, layouts.cgroup.self_flags, u64::from(CSS_ONLINE), 4);
        put(addr, layouts.cgroup.self_serial, id, 8);
        put(task_group, layouts.task_group.css_cgroup, addr, 8);
        put(task_group, layouts.task_group.css_id, id, 4);
        put(task_group, layouts.task_group.css_flags, u64::from(CSS_ONLINE), 4);
        put(task_group, layouts.task_group.css_serial, id, 8);
        put(css_set, layouts.css_set.dfl_cgrp, addr, 8);
        if let Some(p) = parent.map(|p| self.get(p)) {
            // css of a cgroup is its first member: same address
            put(addr, layouts.cgroup.self_parent, p.addr, 8);
            put(task_group, layouts.task_group.css_parent, p.task_group, 8);
            put(task_group, layouts.task_group.parent, p.task_group, 8);
            put(kn, layouts.kernfs.parent, p.kn, 8);
            put(kn, layouts.kernfs.old_parent, p.kn, 8);
        }
        let mut ancestor = Some(at);
        let mut steps = 0;
        while let Some(a) = ancestor {
            let (a_addr, a_parent) =
                if a == at { (addr, parent) } else { (self.get(a).addr, self.get(a).parent) };
            if layouts.cgroup.ancestors != ABSENT {
                put(addr, layouts.cgroup.ancestors + 8 * (level - steps), a_addr, 8);
            }
            steps += 1;
            ancestor = a_parent;
        }
        let cgroup = Cgroup {
            path: path.to_string(),
            level,
            parent,
            children: Vec::new(),
            weight: WEIGHT_DFL,
            bandwidth: UNLIMITED,
            idle: false,
            cpus: None,
            effective: CpuSet::default(),
            addr,
            kn,
            task_group,
            css_set,
            inited: [false; 2],
            gone: false,
        };
        self.all.push(cgroup);
        self.changes += 1;
        self.publish(guest, at);
        self.by_path.insert(path.to_string(), at);
        self.by_addr.insert(addr, at);
        if let Some(parent) = parent {
            self.all[parent as usize].children.push(at);
        }
        at
    }

    /// The root and the groups of a workload.
    pub(crate) fn build(guest: &mut Guest, groups: &[Group]) -> Self {
        let mut cgroups = Self::default();
        cgroups.create(guest, "/", None);
        for group in groups {
            let at = cgroups.ensure(guest, &group.path);
            let cgroup = cgroups.get_mut(at);
            cgroup.weight = group.cpu_weight.clamp(1, 10_000);
            for file in &group.files {
                match file {
                    CgroupAction::Max { quota_us, period_us } => {
                        let Bandwidth { period_us: default_us, .. } = UNLIMITED;
                        cgroup.bandwidth.quota_us = quota_us.unwrap_or(u64::MAX);
                        cgroup.bandwidth.period_us = period_us.unwrap_or(default_us);
                    }
                    CgroupAction::Burst(us) => cgroup.bandwidth.burst_us = *us,
                    // cpusets need CPUs, idle groups a scheduler that hears of them
                    _ => {}
                }
            }
            cgroups.publish(guest, at);
        }
        cgroups
    }

    /// `cpuset.cpus` of a group.
    pub(crate) fn set_cpus(&mut self, at: u32, cpus: CpuSet) {
        let old = self.get_mut(at).cpus.replace(cpus);
        self.nr_cpusets += u32::from(old.is_none());
    }

    /// What `struct task_group` shows of a group's files.
    pub(crate) fn publish(&self, guest: &mut Guest, at: u32) {
        let cgroup = self.get(at);
        let layout = guest.layouts.task_group.clone();
        let addr = cgroup.task_group;
        // sched_weight_from_cgroup(), WEIGHT_IDLEPRIO; scale_load()
        let weight = (u64::from(cgroup.weight) * 1024 + 50) / 100;
        let shares = if cgroup.idle { 3 } else { weight } << 10;
        guest.put_u64(addr, layout.shares, shares);
        guest.put_u32(addr, layout.idle, u32::from(cgroup.idle));
        guest.put_u32(addr, layout.scx_weight, cgroup.weight);
        guest.put_u64(addr, layout.scx_bw_period_us, cgroup.bandwidth.period_us);
        guest.put_u64(addr, layout.scx_bw_quota_us, cgroup.bandwidth.quota_us);
        guest.put_u64(addr, layout.scx_bw_burst_us, cgroup.bandwidth.burst_us);
        if layout.scx_idle != ABSENT {
            guest.mem.set_u8(addr + u64::from(layout.scx_idle), u8::from(cgroup.idle));
        }
    }
}

impl System {
    /// `p->sched_task_group` and `p->cgroups`.
    pub(crate) fn publish_cgroup(&mut self, t: Tid) {
        let cgroup = self.cgroups.get(self.task(t).cgroup).clone();
        let addr = self.task(t).addr;
        self.guest.put_u64(addr, self.guest.layouts.task.sched_task_group, cgroup.task_group);
        self.guest.put_u64(addr, self.guest.layouts.task.cgroups, cgroup.css_set);
    }

    /// `scx_cgroup_init()`.
    pub(crate) fn cgroup_init(&mut self, o: &mut dyn Ops) {
        let mut order = Vec::new();
        self.descend(0, false, &mut order);
        for at in order {
            self.init_one_cgroup(o, at);
            if self.hosted.exit.is_some() {
                return;
            }
        }
        self.hosted.cgroup_enabled = true;
    }

    fn init_one_cgroup(&mut self, o: &mut dyn Ops, at: u32) {
        if let Err(errno) = self.call_cgroup_init(o, at) {
            self.error_of(Op::CgroupInit, None, format!("ops.cgroup_init() failed ({errno})"));
        }
    }

    /// `scx_tg_online()`: whether the scheduler takes it, or an errno.
    pub(crate) fn tg_online(&mut self, o: &mut dyn Ops, at: u32) -> Result<(), i64> {
        let result = self.call_cgroup_init(o, at);
        result.map_err(|errno| self.sanitize_err(Op::CgroupInit, errno))
    }

    fn call_cgroup_init(&mut self, o: &mut dyn Ops, at: u32) -> Result<(), i64> {
        let cgroup = self.cgroups.get(at).clone();
        if self.has(Op::CgroupInit) {
            let args = self.guest.scratch.cgroup_init_args;
            let layout = self.guest.layouts.cgroup_init_args.clone();
            self.guest.put_u32(args, layout.weight, cgroup.weight);
            self.guest.put_u64(args, layout.bw_period_us, cgroup.bandwidth.period_us);
            self.guest.put_u64(args, layout.bw_quota_us, cgroup.bandwidth.quota_us);
            self.guest.put_u64(args, layout.bw_burst_us, cgroup.bandwidth.burst_us);
            let ret = self.call(o, Op::CgroupInit, None, None, &[cgroup.addr, args]) as i32;
            if ret != 0 {
                return Err(i64::from(ret));
            }
        }
        *self.inited_on_side(at) = true;
        Ok(())
    }

    fn inited_on_side(&mut self, at: u32) -> &mut bool {
        let side = usize::from(self.hosted.is_fair);
        &mut self.cgroups.get_mut(at).inited[side]
    }

    /// `sched_create_group()`: the fair class has the group, too.
    pub(crate) fn fair_online(&mut self, o: &mut dyn Ops, at: u32) {
        if self.other.is_some() {
            self.hosting(o, Class::Fair, |system, o| system.init_one_cgroup(o, at));
        }
    }

    /// `scx_tg_offline()`.
    pub(crate) fn tg_offline(&mut self, o: &mut dyn Ops, at: u32) {
        let inited = std::mem::take(self.inited_on_side(at));
        if self.hosted.cgroup_enabled && self.has(Op::CgroupExit) && inited {
            let addr = self.cgroups.get(at).addr;
            self.as_thread(Thread::Worker, |system| {
                system.call(o, Op::CgroupExit, None, None, &[addr]);
            });
        }
    }

    /// `scx_cgroup_exit()`.
    pub(crate) fn cgroup_exit(&mut self, o: &mut dyn Ops) {
        self.hosted.cgroup_enabled = false;
        let mut order = Vec::new();
        self.descend(0, true, &mut order);
        for at in order {
            if !std::mem::take(self.inited_on_side(at)) {
                continue;
            }
            let addr = self.cgroups.get(at).addr;
            if self.has(Op::CgroupExit) {
                self.call(o, Op::CgroupExit, None, None, &[addr]);
            }
            o.release_owner(self, addr);
        }
    }

    /// Moves a task to another group: `scx_cgroup_can_attach()`, `sched_move_task()`,
    /// `scx_cgroup_move_task()`.
    pub(crate) fn move_to_cgroup(&mut self, o: &mut dyn Ops, t: Tid, path: &str) {
        let from = self.task(t).cgroup;
        let before = self.cgroups.len();
        let to = self.cgroups.ensure(&mut self.guest, path);
        for at in before..self.cgroups.len() {
            // scx_tg_online()
            if self.hosted.cgroup_enabled {
                self.init_one_cgroup(o, at);
            }
            self.fair_online(o, at);
            self.pass_made_cgroup(o, at);
        }
        if from == to {
            return;
        }
        let (from_addr, to_addr) = (self.cgroups.get(from).addr, self.cgroups.get(to).addr);
        let addr = self.task(t).addr;
        if !self.prepare_move(o, t, from_addr, to_addr) {
            return;
        }
        if self.other.is_some() {
            self.hosting(o, Class::Fair, |system, o| {
                if !system.prepare_move(o, t, from_addr, to_addr) {
                    system.error_of(Op::CgroupPrepMove, Some(t), "a refused move".into());
                }
            });
        }
        self.cpuset_attach(o, t, from, to);
        self.pass(o, Place::SchedMoveTask, &[addr, 0]);
        self.task_mut(t).cgrp_moving_from = Some(from);
        self.change_task(o, t, DEQ_SAVE | DEQ_MOVE | DEQ_NOCLOCK, |system, o| {
            system.task_mut(t).cgroup = to;
            system.publish_cgroup(t);
            if system.other.is_some() {
                // task_change_group_fair()
                system.hosting(o, Class::Fair, |system, o| {
                    system.finish_move(o, t, from_addr, to_addr);
                });
            }
            system.pass(o, Place::ScxCgroupMoveTask, &[addr]);
            system.finish_move(o, t, from_addr, to_addr);
            system.leave(o, Place::ScxCgroupMoveTask, &[addr, 0]);
            system.task_mut(t).cgrp_moving_from = None;
        });
        self.tell_cgroup(t);
        let cpu = self.task(t).cpu;
        if self.rq(cpu).curr == Some(t) {
            self.cpus.resched_curr(cpu);
        } else if self.is_queued(t) {
            self.check_preempt(cpu, t);
        }
        self.leave(o, Place::SchedMoveTask, &[addr, 0, 0]);
        self.pass_cgroup(o, Place::CgroupAttachTask, to, Some(t));
    }

    /// `scx_cgroup_can_attach()`: whether the scheduler lets the task move.
    fn prepare_move(&mut self, o: &mut dyn Ops, t: Tid, from: u64, to: u64) -> bool {
        if !self.hosted.cgroup_enabled || !self.has(Op::CgroupPrepMove) {
            return true;
        }
        let args = [self.task(t).addr, from, to];
        let ret = self.call(o, Op::CgroupPrepMove, None, Some(t), &args) as i32;
        if ret != 0 {
            self.sanitize_err(Op::CgroupPrepMove, i64::from(ret));
        }
        ret == 0
    }

    /// `scx_cgroup_move_task()`.
    fn finish_move(&mut self, o: &mut dyn Ops, t: Tid, from: u64, to: u64) {
        if self.hosted.cgroup_enabled && self.has(Op::CgroupMove) {
            let cpu = self.task(t).cpu;
            self.call_task(o, Op::CgroupMove, cpu, t, &[from, to]);
        }
    }
}
