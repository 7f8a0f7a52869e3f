// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control groups.

use super::{allow, row};
use crate::system::System;
use rota_vm::table::Kfunc;

/// `BPF_CGROUP_ITER_*` walks that this kernel knows: descendants before or after their parents,
/// ancestors.
const DESCENDANTS_PRE: u64 = 2;
const DESCENDANTS_POST: u64 = 3;
const ANCESTORS_UP: u64 = 4;

pub(super) fn rows() -> Vec<Kfunc<System>> {
    vec![
        row("scx_bpf_task_cgroup", 1, allow::ANY, 5, |system, _, a| {
            let t = system.task_arg(a[0], "scx_bpf_task_cgroup")?;
            let of = if system.hosted.is_root { system.task(t).cgroup } else { 0 };
            Ok(system.cgroups.get(of).addr)
        }),
        row("bpf_cgroup_from_id", 1, allow::ANY, 20, |system, _, a| {
            Ok(system.cgroups.by_id(a[0]).map_or(0, |at| system.cgroups.get(at).addr))
        }),
        row("bpf_cgroup_ancestor", 2, allow::ANY, 5, |system, _, a| {
            Ok(system.cgroup_ancestor(a[0], a[1] as i32))
        }),
        row("bpf_task_under_cgroup", 2, allow::ANY, 5, |system, _, a| {
            let t = system.task_arg(a[0], "bpf_task_under_cgroup")?;
            let own = system.cgroups.get(system.task(t).cgroup).addr;
            let level =
                system.cgroups.at_addr(a[1]).map_or(-1, |at| system.cgroups.get(at).level as i32);
            Ok(u64::from(system.cgroup_ancestor(own, level) == a[1]))
        }),
        row("bpf_iter_css_new", 3, allow::ANY, 10, |system, _, a| {
            let all = system.css_walk(a[1], a[2]);
            system.running.css_iters.insert(a[0], all);
            Ok(0)
        }),
        row("bpf_iter_css_next", 1, allow::ANY, 10, |system, _, a| {
            Ok(system.running.css_iters.get_mut(&a[0]).and_then(|rest| rest.pop()).unwrap_or(0))
        }),
        row("bpf_iter_css_destroy", 1, allow::ANY, 5, |system, _, a| {
            system.running.css_iters.remove(&a[0]);
            Ok(0)
        }),
    ]
}

impl System {
    fn cgroup_ancestor(&self, addr: u64, level: i32) -> u64 {
        let mut at = self.cgroups.at_addr(addr);
        while let Some(here) = at {
            let cgroup = self.cgroups.get(here);
            if cgroup.level as i32 == level {
                return cgroup.addr;
            }
            at = cgroup.parent;
        }
        0
    }

    /// The css objects of a walk, last one first. A css is the first member of its cgroup.
    fn css_walk(&self, start: u64, flags: u64) -> Vec<u64> {
        let Some(root) = self.cgroups.at_addr(start) else { return Vec::new() };
        let mut order = Vec::new();
        match flags {
            ANCESTORS_UP => {
                let mut at = Some(root);
                while let Some(here) = at {
                    order.push(here);
                    at = self.cgroups.get(here).parent;
                }
            }
            DESCENDANTS_PRE | DESCENDANTS_POST => {
                self.descend(root, flags == DESCENDANTS_POST, &mut order)
            }
            _ => {}
        }
        order.into_iter().rev().map(|at| self.cgroups.get(at).addr).collect()
    }

    /// `css_for_each_descendant_pre()` or `_post()`: siblings in the order of their making.
    pub(crate) fn descend(&self, at: u32, post: bool, order: &mut Vec<u32>) {
        if !post {
            order.push(at);
        }
        for child in &self.cgroups.get(at).children {
            self.descend(*child, post, order);
        }
        if post {
            order.push(at);
        }
    }
}
