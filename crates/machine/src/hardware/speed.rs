// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast each CPU is now: the one place where the factors of its speed come together.

use super::clock::Clocks;
use super::idle::Idleness;
use super::messages::Messages;
use super::pace::Pace;
use super::pelt::UseAbove;
use super::warmth::Caches;
use super::{Hardware, FULL_SPEED};
use crate::config::Config;
use crate::event_queue::Due;
use crate::system::System;
use crate::task::{Task, Tid};
use crate::topology::LOCAL_DISTANCE;
use rota_trace::EventKind;
use rota_workload::WorkClass;
use std::sync::Arc;

/// What the machine keeps of its hardware while it runs.
#[derive(Debug)]
pub(crate) struct Models {
    pub(crate) hardware: Arc<Hardware>,
    pub(crate) caches: Option<Caches>,
    pub(super) messages: Messages,
    pub(super) clocks: Clocks,
    /// By CPU.
    pub(super) idleness: Vec<Idleness>,
    /// By CPU, where a governor asks.
    pub(super) above: Vec<UseAbove>,
}

/// What a speed is made of, each in 1/1024.
struct Factors {
    core: u32,
    clock: u32,
    smt: u32,
    memory: u32,
    warmth: u32,
}

impl Factors {
    /// Their product, at least 1.
    fn speed(&self) -> u32 {
        let factors = [self.core, self.clock, self.smt, self.memory, self.warmth];
        let product: u128 = factors.iter().map(|factor| u128::from(*factor)).product();
        // four of the five are relative
        let speed = product >> (4 * FULL_SPEED.trailing_zeros());
        (speed as u32).clamp(1, FULL_SPEED)
    }
}

impl Models {
    /// Those of a machine that is not flat.
    pub(crate) fn of(config: &Config) -> Option<Box<Self>> {
        let hardware = Arc::clone(config.hardware.as_ref()?);
        let caches = Caches::of(&hardware, &config.topology);
        let clocks = Clocks::of(&hardware, &config.topology);
        let idleness = (0..config.topology.cpus()).map(|_| Idleness::default()).collect();
        let messages = Messages::default();
        let asked = clocks.follow_use(&hardware).then_some(config.topology.cpus());
        let above = vec![UseAbove::default(); asked.unwrap_or(0) as usize];
        Some(Box::new(Self { hardware, caches, messages, clocks, idleness, above }))
    }

    /// What limits a task's work.
    fn class_of(&self, task: Option<&Task>) -> WorkClass {
        task.and_then(|task| task.settings.work.class).unwrap_or(self.hardware.work.0)
    }

    /// `S`: of a task on a CPU with this many busy siblings.
    fn smt_factor(&self, cpu: u32, class: WorkClass, busy: u32) -> u32 {
        let speeds = self.hardware.core_type(cpu).smt.as_ref().map(|smt| smt.of(class));
        match (speeds, busy) {
            (None | Some([]), _) | (_, 0) => FULL_SPEED,
            (Some(speeds), busy) => speeds[(busy as usize).min(speeds.len()) - 1],
        }
    }
}

impl System {
    /// Something that the speed of a CPU or of its siblings depends on has changed: what they have
    /// done until now is done at the speed that they had.
    #[inline]
    pub(crate) fn respeed_core(&mut self, cpu: u32) {
        if self.models.is_some() {
            self.respeed_siblings(cpu);
        }
    }

    #[inline(never)]
    fn respeed_siblings(&mut self, cpu: u32) {
        let clocked = self.reclock_core(cpu);
        let changed = clocked.or(self.config.topology.siblings(cpu));
        changed.iter().for_each(|cpu| self.respeed(cpu));
    }

    /// All CPUs have the speeds of idle ones.
    pub(crate) fn begin_models(&mut self) {
        if self.models.is_some() {
            for cpu in 0..self.nr_cpus() {
                self.begin_idle(cpu);
                self.respeed(cpu);
            }
            let warmup_ns = self.config.warmup_ns;
            if (1..self.config.duration_ns).contains(&warmup_ns) {
                self.queue.push(warmup_ns, Due::Measured);
            }
        }
    }

    /// The same of one CPU.
    pub(crate) fn respeed(&mut self, cpu: u32) {
        self.progress(cpu);
        if let Some(pace) = self.expected_pace(cpu) {
            self.rq_mut(cpu).pace = pace;
            self.note_use_above(cpu);
        }
    }

    /// The pace of a CPU, from all that it depends on; `None`: the machine is flat.
    pub(crate) fn expected_pace(&self, cpu: u32) -> Option<Pace> {
        let models = self.models.as_deref()?;
        let rq = self.rq(cpu);
        let class = models.class_of(rq.curr.map(|t| self.task(t)));
        let siblings = self.config.topology.siblings(cpu);
        let busy = siblings.iter().filter(|other| *other != cpu && self.is_busy(*other)).count();
        let factors = Factors {
            core: models.hardware.core_type(cpu).speed,
            clock: models.clock_factor(cpu).unwrap_or(FULL_SPEED),
            smt: models.smt_factor(cpu, class, busy as u32),
            memory: FULL_SPEED,
            warmth: FULL_SPEED,
        };
        let overhead = factors.speed();
        let factors = Factors { memory: self.memory_factor(cpu, rq.curr), ..factors };
        let mut cold = rq.pace.cold;
        for piece in &mut cold {
            piece.speed = Factors { warmth: piece.factor, ..factors }.speed();
        }
        let power_uw = models.power_uw(cpu, busy as u32);
        Some(Pace::new(overhead, factors.speed(), cold).with_power(power_uw))
    }

    /// No change of a speed was missed, and the CPU is due when its work is done.
    pub(crate) fn audit_speed(&self, cpu: u32) -> Result<(), String> {
        let rq = self.rq(cpu);
        if rq.progressed_at_ns < rq.charged_at_ns {
            return Err("was charged for time in which it did nothing".into());
        }
        let parts = |pace: &Pace| (pace.overhead, pace.work, pace.cold, pace.power_uw);
        self.audit_clock(cpu)?;
        match self.expected_pace(cpu).filter(|pace| parts(pace) != parts(&rq.pace)) {
            Some(pace) => Err(format!("is {:?} fast, not {pace:?}", rq.pace)),
            None => Ok(()),
        }
    }

    /// `M`: of memory on another node.
    fn memory_factor(&self, cpu: u32, t: Option<Tid>) -> u32 {
        let (Some(models), Some(t)) = (self.models.as_deref(), t) else { return FULL_SPEED };
        let (task, topology) = (self.task(t), &self.config.topology);
        let here = topology.node_of(cpu);
        let home = task.footprint.as_ref().and_then(|footprint| footprint.home).unwrap_or(here);
        // MPOL_BIND: the nearest that it may come from (__alloc_pages(): first in the zonelist)
        let bound = task.settings.mem_nodes.iter().flat_map(|nodes| nodes.iter().copied());
        let bound = bound.filter(|node| *node < topology.nodes());
        let home = bound.min_by_key(|node| topology.distance(home, *node)).unwrap_or(home);
        let share = task.settings.work.dram_share.unwrap_or(models.hardware.work.1);
        memory_factor(share, topology.distance(here, home))
    }

    /// Whether something runs on a CPU.
    pub(super) fn is_busy(&self, cpu: u32) -> bool {
        let rq = self.rq(cpu);
        rq.curr.is_some() || rq.interrupted
    }

    /// A task leaves its CPU.
    #[inline(never)]
    pub(crate) fn leave_hardware(&mut self, cpu: u32, t: Tid) {
        self.cool_down(cpu, t);
        self.tell_work(cpu, t);
    }

    /// What a task got done since it came onto its CPU, or since this was last told.
    fn tell_work(&mut self, cpu: u32, t: Tid) {
        let has_power = self.models.as_deref().is_some_and(|models| models.has_power(cpu));
        let task = self.task_mut(t);
        let (pid, done) = (task.pid, std::mem::take(&mut task.worked));
        let energy_nj = has_power.then(|| task.take_energy_nj());
        self.emit(Some(cpu), EventKind::Work { pid, done, energy_nj });
    }

    /// What all tasks got done on the CPUs that they have now.
    pub(crate) fn tell_all_work(&mut self) {
        if self.models.is_none() {
            return;
        }
        for cpu in 0..self.nr_cpus() {
            self.progress(cpu);
            if let Some(t) = self.rq(cpu).curr {
                self.tell_work(cpu, t);
            }
        }
    }

    /// How long the kernel takes on a CPU for what takes `ns` at full speed.
    pub(crate) fn kernel_ns(&self, cpu: u32, ns: u64) -> u64 {
        match self.rq(cpu).pace.overhead {
            FULL_SPEED => ns,
            speed => super::pace::work_of(ns).div_ceil(speed.into()),
        }
    }
}

/// `M`: a part of the time, in 1/1024, is spent on memory at this distance, where that of the own
/// node has 10.
fn memory_factor(share: u32, distance: u32) -> u32 {
    let (local, share) = (u64::from(LOCAL_DISTANCE), u64::from(share.min(FULL_SPEED)));
    let more = share * u64::from(distance).saturating_sub(local);
    (u64::from(FULL_SPEED) * 1024 * local / (1024 * local + more)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_twice_as_far_halves_what_waits_for_it() {
        assert_eq!(memory_factor(1024, 10), 1024);
        assert_eq!(memory_factor(0, 33), 1024);
        assert_eq!(memory_factor(1024, 20), 512);
        // a quarter of the time at 2.1 times the distance: 1 / (1 + 0.25 * 1.1) = 0.784
        assert_eq!(memory_factor(256, 21), 803);
    }

    #[test]
    fn factors_multiply_and_a_cpu_is_never_at_rest() {
        let factors =
            |smt, clock| Factors { core: 624, clock, smt, memory: FULL_SPEED, warmth: FULL_SPEED };
        assert_eq!(factors(FULL_SPEED, FULL_SPEED).speed(), 624);
        // 624 * 640 * 512 / 1024^2 = 195
        assert_eq!(factors(640, 512).speed(), 195);
        assert_eq!(factors(1, 1).speed(), 1);
    }
}
