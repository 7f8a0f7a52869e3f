// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether the machine's own books agree with each other between two instants: what a
//! lost or doubled task would break first. For tests, see [`crate::config::Config::audit`].

use crate::class::{reserved_by, Class};
use crate::consts::*;
use crate::ext::idle::IdleMasks;
use crate::rq::ScxRq;
use crate::system::System;
use crate::task::{OpsState, State, Tid};

impl System {
    /// The first disagreement, if there is one.
    pub(crate) fn audit(&self) -> Result<(), String> {
        let wrong = |what: String| {
            Err(format!("the simulated kernel's books are wrong at {} ns: {what}", self.now_ns))
        };
        for t in self.tasks.ids() {
            if let Err(what) = self.audit_task(t) {
                return wrong(format!("{}: {what}", self.task(t).label()));
            }
        }
        let alive = self.tasks.all.iter().filter(|task| task.state != State::Dead);
        let reserved: u64 = alive.map(|task| reserved_by(&task.settings)).sum();
        if reserved != self.above.reserved {
            return wrong(format!("counts {} of {reserved} reserved", self.above.reserved));
        }
        for cpu in 0..self.nr_cpus() {
            if let Err(what) = self.audit_cpu(cpu) {
                return wrong(format!("CPU {cpu}: {what}"));
            }
        }
        for dsq in &self.queues.all {
            let queued = dsq.iter(&self.queues.links).count();
            if queued != dsq.nr as usize {
                return wrong(format!("DSQ {:#x} counts {} of {queued} tasks", dsq.id, dsq.nr));
            }
        }
        Ok(())
    }

    /// A task is in exactly one place, and that is where its state says.
    fn audit_task(&self, t: Tid) -> Result<(), String> {
        let task = self.task(t);
        if task.state == State::Dead {
            return Ok(());
        }
        let runs = self.rq(task.cpu).curr == Some(t);
        let queued = self.is_queued(t);
        let hosted = task.class.is_hosted();
        let higher = task.entity.place.is_some();
        let throttled = task.entity.throttled && !runs;
        if hosted && (task.entity.on_rq || higher) || !hosted && self.has_flag(t, TASK_QUEUED) {
            return Err("queued in a class that is not its own".into());
        }
        let state = match task.class {
            Class::Ext => self.flags(t) & TASK_STATE_MASK,
            Class::Fair => task.fair_state,
            _ => TASK_ENABLED,
        };
        if state != TASK_ENABLED {
            return Err(format!("in a scheduler that has not enabled it (state {state:#x})"));
        }
        let with_scheduler = matches!(task.ops_state, OpsState::Queued(_));
        let waits = [task.dsq.is_some(), with_scheduler, task.ddsp_deferred, higher];
        let places = waits.map(usize::from).iter().sum::<usize>() + usize::from(runs);
        match task.state {
            State::Runnable if !queued => Err("runnable, but not queued".into()),
            State::Runnable if places != usize::from(!throttled) => {
                Err(format!("runnable in {places} places"))
            }
            State::Runnable if hosted && task.on_runnable_list == runs => {
                Err(format!("runs: {runs}, yet on the list of those that wait: {runs}"))
            }
            State::Sleeping | State::New if queued || places != 0 => {
                Err(format!("asleep, yet queued: {queued}, in {places} places"))
            }
            State::Blocking | State::Exiting if !self.rq(task.cpu).comes_later() => {
                Err("has not left its CPU".into())
            }
            _ if runs && !task.cpus.contains(task.cpu) && !self.may_stay(t) => {
                Err(format!("runs on CPU {}, which it may not use", task.cpu))
            }
            _ => Ok(()),
        }
    }

    /// Its stopper is on its way, or the task has disabled migration.
    fn may_stay(&self, t: Tid) -> bool {
        let task = self.task(t);
        task.migration_disabled || self.rq(task.cpu).stop_work.contains(&t)
    }

    fn audit_cpu(&self, cpu: u32) -> Result<(), String> {
        let rq = self.rq(cpu);
        let excused = rq.is_excused()
            || self.core_sched.is_forced_idle(cpu)
            || self.is_last_put_back(&rq.scx)
            || self
                .other
                .as_ref()
                .is_some_and(|side| self.is_last_put_back(&side.rqs[cpu as usize]));
        if !self.hotplug.is_active(cpu) && !excused && rq.nr_pinned == 0 {
            let queued = rq.nr_running + rq.nr_higher > 0 && rq.waiting.first().is_some();
            if rq.curr.is_some() || rq.scx.nr_running > 0 || queued {
                return Err("is offline, yet has tasks".into());
            }
        }
        self.audit_side(cpu, &rq.scx, &self.idle, Class::Ext)?;
        if let Some(side) = &self.other {
            let fair = &side.rqs[cpu as usize];
            self.audit_side(cpu, fair, &side.idle, Class::Fair)?;
            let below = rq.curr.is_some_and(|curr| self.task(curr).class.is_ext());
            let serves = self.serves(cpu, None).is_some();
            let excused = rq.is_excused() || self.core_sched.enabled;
            if below && fair.nr_running > 0 && !serves && !excused {
                return Err("lets a task of the fair class wait for one of sched_ext".into());
            }
        }
        let here = |t: &Tid| self.task(*t).cpu == cpu && self.task(*t).state != State::Dead;
        let tasks = || self.tasks.ids().filter(here);
        let higher = tasks().filter(|t| self.task(*t).entity.on_rq).count();
        if higher != rq.nr_higher as usize {
            return Err(format!("counts {} of {higher} tasks above sched_ext", rq.nr_higher));
        }
        let movable =
            |t: &Tid| self.task(*t).entity.place.is_some() && self.task(*t).nr_cpus_allowed > 1;
        let could_move = tasks().filter(movable).count();
        if could_move != rq.waiting.movable() {
            let counted = rq.waiting.movable();
            return Err(format!("counts {counted} of {could_move} tasks that could move"));
        }
        let first = rq.waiting.first().filter(|(rank, _)| *rank > self.rank_of_curr(cpu));
        let serves = first.is_some_and(|(_, t)| self.serves(cpu, Some(t)).is_some());
        let excused = rq.is_excused() || self.core_sched.enabled;
        if let Some((_, t)) = first.filter(|_| !serves && !excused) {
            return Err(format!("lets {} wait for a lesser task", self.task(t).label()));
        }
        self.audit_cookies(cpu)?;
        self.audit_clamps(cpu)?;
        self.audit_speed(cpu)?;
        self.audit_armed(cpu)?;
        if rq.need_resched && !rq.is_excused() {
            return Err("has unfinished business".into());
        }
        Ok(())
    }

    /// Whether a CPU idles with a task that the scheduler got with `SCX_ENQ_LAST`, and put into its
    /// local queue: "execution may stall".
    fn is_last_put_back(&self, scx: &ScxRq) -> bool {
        let local = self.dsq(scx.local);
        local.nr == 1 && local.first() == scx.put_last
    }

    /// What a CPU has of a hosted class.
    fn audit_side(
        &self,
        cpu: u32,
        scx: &ScxRq,
        idle: &IdleMasks,
        class: Class,
    ) -> Result<(), String> {
        let rq = self.rq(cpu);
        let here = |t: &Tid| self.task(*t).cpu == cpu && self.task(*t).state != State::Dead;
        let tasks = || self.tasks.ids().filter(here).filter(|t| self.task(*t).class == class);
        let queued = tasks().filter(|t| self.has_flag(*t, TASK_QUEUED)).count();
        if queued != scx.nr_running as usize {
            return Err(format!("counts {} of {queued} runnable tasks", scx.nr_running));
        }
        let listed = self.cpus.links.iter(&scx.runnable).count();
        let waiting = tasks().filter(|t| self.task(*t).on_runnable_list).count();
        if listed != waiting {
            return Err(format!("lists {listed} of {waiting} waiting tasks"));
        }
        let local = self.dsq(scx.local);
        let foreign = |t: &Tid| self.task(*t).cpu != cpu || self.task(*t).class != class;
        if let Some(t) = local.iter(&self.queues.links).find(foreign) {
            let (label, of) = (self.task(t).label(), self.task(t).cpu);
            return Err(format!("{label} of CPU {of} is on its local DSQ"));
        }
        let immed =
            local.iter(&self.queues.links).filter(|t| self.has_flag(*t, TASK_IMMED)).count();
        if immed != scx.nr_immed as usize {
            return Err(format!("counts {} of {immed} immediate tasks", scx.nr_immed));
        }
        let excused =
            rq.is_excused() || self.core_sched.is_forced_idle(cpu) || self.is_last_put_back(scx);
        if rq.curr.is_none() && local.nr > 0 && !excused {
            return Err(format!("idles with {} tasks on its local DSQ", local.nr));
        }
        let pending = !scx.kick.is_empty() || !scx.kick_if_idle.is_empty();
        if pending || scx.in_balance || !scx.dsp_buf.is_empty() || !scx.ddsp_deferred.is_empty() {
            return Err("has unfinished business".into());
        }
        let node = self.config.topology.node_of(cpu) as usize;
        let masks = if idle.per_node { node } else { idle.masks.len() - 1 };
        let marked = idle.masks[masks].cpu.contains(cpu) && !idle.assumed.contains(cpu);
        if idle.enabled && marked && rq.curr.is_some() {
            return Err("is busy, but marked as idle".into());
        }
        Ok(())
    }
}
