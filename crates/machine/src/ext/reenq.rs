// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handing queued tasks back to the scheduler: `scx_bpf_dsq_reenq()` and `SCX_ENQ_IMMED`.

use crate::consts::*;
use crate::dsq::{Cursor, DsqIx};
use crate::exit::ExitKind;
use crate::ops::Ops;
use crate::system::System;
use crate::task::Tid;

impl System {
    /// `schedule_dsq_reenq()`.
    pub(crate) fn schedule_dsq_reenq(&mut self, dsq: DsqIx, reenq_flags: u64) {
        if self.is_bypassing() {
            return;
        }
        let (id, local_cpu) = (self.dsq(dsq).id, self.dsq(dsq).cpu);
        if let (DSQ_LOCAL, Some(cpu)) = (id, local_cpu) {
            *self.rq_mut(cpu).reenq_local.get_or_insert(0) |= reenq_flags;
            self.cpus.deferred.insert(cpu);
        } else if id & DSQ_FLAG_BUILTIN == 0 {
            let here = self.running.this_cpu;
            let pending = &mut self.rq_mut(here).reenq_user;
            match pending.iter_mut().find(|(d, _)| *d == dsq) {
                Some((_, flags)) => *flags |= reenq_flags,
                None => pending.push_back((dsq, reenq_flags)),
            }
            self.cpus.deferred.insert(here);
        } else {
            self.error(ExitKind::Error, format!("DSQ {id:#x} not allowed for reenq"));
        }
    }

    /// `schedule_reenq_local()`.
    pub(crate) fn schedule_reenq_local(&mut self, cpu: u32, reenq_flags: u64) {
        let local = self.rq(cpu).local;
        self.schedule_dsq_reenq(local, reenq_flags);
    }

    /// `process_deferred_reenq_locals()` and `process_deferred_reenq_users()`.
    pub(crate) fn process_reenq(&mut self, o: &mut dyn Ops, cpu: u32) {
        let mut repeats = 0;
        while let Some(flags) = self.rq_mut(cpu).reenq_local.take() {
            if repeats > REENQ_LOCAL_MAX_REPEAT {
                let text = format!("SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated {repeats} times");
                self.error(ExitKind::Error, text);
                break;
            }
            if repeats > 0 {
                self.told.counters.reenq_local_repeat += 1;
            }
            repeats += 1;
            self.reenq_local(o, cpu, flags);
        }
        let mut rounds = 0;
        while let Some((dsq, flags)) = self.rq_mut(cpu).reenq_user.pop_front() {
            if self.goes_in_circles(&mut rounds) {
                break;
            }
            self.reenq_user(o, dsq, flags);
        }
    }

    /// `reenq_local()`; also what `scx_bpf_reenqueue_local()` counts.
    pub(crate) fn reenq_local(&mut self, o: &mut dyn Ops, cpu: u32, reenq_flags: u64) -> u32 {
        let open = self.cpus.rq_is_open(cpu, 0);
        let local = self.rq(cpu).local;
        let queued: Vec<Tid> = self.dsq(local).iter(&self.queues.links).collect();
        let mut taken = Vec::new();
        for (at, t) in queued.into_iter().enumerate() {
            let reason = if self.has_flag(t, TASK_IMMED) && (at > 0 || !open) {
                self.told.counters.reenq_immed += 1;
                TASK_REENQ_IMMED
            } else if reenq_flags & REENQ_ANY != 0 {
                TASK_REENQ_KFUNC
            } else {
                continue;
            };
            self.dispatch_dequeue(t);
            self.change_flags(t, TASK_REENQ_REASON_MASK, reason);
            taken.push(t);
        }
        for t in &taken {
            self.reenqueue(o, cpu, *t);
        }
        taken.len() as u32
    }

    /// `reenq_user()`.
    fn reenq_user(&mut self, o: &mut dyn Ops, dsq: DsqIx, reenq_flags: u64) {
        let seq = self.dsq(dsq).seq;
        let mut cursor = Cursor::Start;
        while !self.is_bypassing() && reenq_flags & REENQ_ANY != 0 {
            let queue = &self.queues.all[dsq.0 as usize];
            let Some(t) = queue.next(&self.queues.links, &self.tasks.all, &mut cursor, false)
            else {
                break;
            };
            if (self.task(t).dsq_seq.wrapping_sub(seq) as i32) > 0 {
                continue;
            }
            self.unlink(t);
            self.change_flags(t, TASK_REENQ_REASON_MASK, TASK_REENQ_KFUNC);
            let cpu = self.task(t).cpu;
            self.reenqueue(o, cpu, t);
        }
    }

    fn reenqueue(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid) {
        self.for_task(o, t, |system, o| system.do_enqueue_task(o, cpu, t, ENQ_REENQ, -1));
        self.change_flags(t, TASK_REENQ_REASON_MASK, 0);
    }
}
