// SPDX-License-Identifier: MIT OR Apache-2.0
//! Walking a dispatch queue: `bpf_for_each(scx_dsq, …)` and moves from it.

use super::{allow, row};
use crate::consts::*;
use crate::dsq::{Cursor, DsqIx};
use crate::ops::Ops;
use crate::policy::reenter;
use crate::system::System;
use rota_vm::error::Fault;
use rota_vm::table::Kfunc;
use rustc_hash::FxHashMap;

/// Iterations in progress, by the guest address of their `struct bpf_iter_scx_dsq`.
pub(crate) type Iters = FxHashMap<u64, DsqIter>;

/// `struct bpf_iter_scx_dsq_kern`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DsqIter {
    dsq: DsqIx,
    cursor: Cursor,
    rev: bool,
    /// Queue's insertion count when the walk began.
    seq: u32,
    slice_ns: Option<u64>,
    vtime: Option<u64>,
}

pub(super) fn rows() -> Vec<Kfunc<System>> {
    vec![
        row("bpf_iter_scx_dsq_new", 3, allow::ANY, 10, |system, _, a| {
            Ok(system.dsq_iter_new(a[0], a[1], a[2]) as u64)
        }),
        row("bpf_iter_scx_dsq_next", 1, allow::ANY, 10, |system, _, a| {
            Ok(system.dsq_iter_next(a[0]))
        }),
        row("bpf_iter_scx_dsq_destroy", 1, allow::ANY, 5, |system, _, a| {
            system.running.iters.remove(&a[0]);
            Ok(0)
        }),
        row("scx_bpf_dsq_move_set_slice", 2, allow::MOVE, 2, |system, _, a| {
            if let Some(iter) = system.running.iters.get_mut(&a[0]) {
                iter.slice_ns = Some(a[1]);
            }
            Ok(0)
        }),
        row("scx_bpf_dsq_move_set_vtime", 2, allow::MOVE, 2, |system, _, a| {
            if let Some(iter) = system.running.iters.get_mut(&a[0]) {
                iter.vtime = Some(a[1]);
            }
            Ok(0)
        }),
        row("scx_bpf_dsq_move", 4, allow::MOVE, 25, |system, rt, a| {
            reenter(system, rt, |system, o| system.dsq_move(o, a[0], a[1], a[2], a[3]))?
        }),
        row("scx_bpf_dsq_move_vtime", 4, allow::MOVE, 30, |system, rt, a| {
            reenter(system, rt, |system, o| {
                system.dsq_move(o, a[0], a[1], a[2], a[3] | ENQ_DSQ_PRIQ)
            })?
        }),
    ]
}

impl System {
    pub(crate) fn dsq_iter_new(&mut self, it: u64, dsq_id: u64, flags: u64) -> i64 {
        self.running.iters.remove(&it);
        if flags & !DSQ_ITER_REV != 0 {
            return -EINVAL;
        }
        let Some(dsq) = self.queues.find_user_dsq(dsq_id) else { return -ENOENT };
        let seq = self.dsq(dsq).seq;
        let rev = flags & DSQ_ITER_REV != 0;
        self.running.iters.insert(
            it,
            DsqIter { dsq, cursor: Cursor::Start, rev, seq, slice_ns: None, vtime: None },
        );
        0
    }

    /// `nldsq_cursor_next_task()`.
    pub(crate) fn dsq_iter_next(&mut self, it: u64) -> u64 {
        let Some(mut iter) = self.running.iters.get(&it).copied() else { return 0 };
        let found = loop {
            let queue = &self.queues.all[iter.dsq.0 as usize];
            match queue.next(&self.queues.links, &self.tasks.all, &mut iter.cursor, iter.rev) {
                Some(t) if (self.task(t).dsq_seq.wrapping_sub(iter.seq) as i32) > 0 => {}
                found => break found,
            }
        };
        self.running.iters.insert(it, iter);
        found.map_or(0, |t| self.task(t).addr)
    }

    /// `scx_dsq_move()`.
    pub(crate) fn dsq_move(
        &mut self,
        o: &mut dyn Ops,
        it: u64,
        p: u64,
        dsq_id: u64,
        enq_flags: u64,
    ) -> Result<u64, Fault> {
        let Some(iter) = self.running.iters.get_mut(&it) else { return Ok(0) };
        let (slice_ns, vtime) = (iter.slice_ns.take(), iter.vtime.take());
        let (src, seq) = (iter.dsq, iter.seq);
        let Some(flags) = self.vet_enq_flags(dsq_id, enq_flags) else { return Ok(0) };
        if self.hosted.exit.is_some() {
            return Ok(0);
        }
        let name = match enq_flags & ENQ_DSQ_PRIQ {
            0 => "scx_bpf_dsq_move",
            _ => "scx_bpf_dsq_move_vtime",
        };
        let t = self.task_arg(p, name)?;
        let task = self.task(t);
        let lost = task.dsq != Some(src) || (task.dsq_seq.wrapping_sub(seq) as i32) > 0;
        if lost {
            return Ok(0);
        }
        let task_cpu = task.cpu;
        if self.task(t).sched != self.subs.acting {
            let label = self.task(t).label();
            let text = format!(
                "scx_bpf_dsq_move[_vtime]() on {label} but the task belongs to a different scheduler"
            );
            self.error(crate::exit::ExitKind::Error, text);
            return Ok(0);
        }
        let cpu = self.running.ctx.locked_rq.unwrap_or(self.running.this_cpu);
        let dst = self.find_dsq_for_dispatch(cpu, dsq_id, task_cpu);
        if let Some(vtime) = vtime {
            // its place in the tree follows its old vtime: take it out first
            self.set_vtime(t, vtime);
        }
        if let Some(slice_ns) = slice_ns {
            self.set_slice(t, slice_ns);
        }
        self.move_task_between_dsqs(o, t, flags, dst);
        Ok(1)
    }
}
