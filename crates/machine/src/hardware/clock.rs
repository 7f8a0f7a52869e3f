// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frequencies: which one a governor wants, and which one turbo allows.

use super::parts::{Clock, Governor};
use super::speed::Models;
use super::{Hardware, FULL_SPEED};
use crate::consts::CPUPERF_ONE;
use crate::cpuset::CpuSet;
use crate::event_queue::Due;
use crate::system::System;
use crate::topology::Topology;

/// Steps from the idle to the full frequency.
const STEPS: u32 = 8;

/// CPUs that have one clock together.
#[derive(Debug)]
pub(crate) struct Domain {
    cpus: CpuSet,
    /// The group that shares a turbo budget.
    group: usize,
    /// Cores of it that are not idle.
    busy_cores: u32,
    /// MHz that the governor wants, before turbo has its say.
    wanted_mhz: u32,
    /// How far the hardware has come from idle.
    step: u32,
    /// What is left of the time to its next step, and when that comes while the domain is busy.
    left_ns: u64,
    due_ns: Option<u64>,
    idle_since_ns: u64,
    /// Number of the last event; older ones are stale.
    generation: u64,
}

/// Cores of one kind on one node: turbo goes by how many of them are active.
#[derive(Debug)]
struct Group {
    kind: usize,
    node: u32,
    active: u32,
    limit_mhz: u32,
}

/// All clocks of a machine.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    domains: Vec<Domain>,
    groups: Vec<Group>,
    /// Of each CPU; `None`: it always has its highest frequency.
    domain_of: Vec<Option<usize>>,
    /// By core: whether it is active.
    active: Vec<bool>,
}

impl Clock {
    /// The frequency that so many active cores may have.
    fn limit_mhz(&self, active: u32) -> u32 {
        let allows = |(cores, _): &&(u32, u32)| active <= *cores;
        let step = self.turbo.iter().find(allows).or(self.turbo.last());
        step.map_or(self.max_mhz, |(_, mhz)| *mhz).clamp(1, self.max_mhz.max(1))
    }

    /// `get_next_freq()`: what `schedutil` wants for a performance of a CPU of this capacity.
    fn for_performance(&self, performance: u32, capacity: u32) -> u32 {
        let mhz = u64::from(self.max_mhz) * u64::from(performance) / u64::from(capacity.max(1));
        let mhz = u32::try_from(mhz).unwrap_or(u32::MAX);
        let mhz = mhz.clamp(self.idle_mhz.min(self.max_mhz), self.max_mhz);
        let next = self.opps_mhz.iter().find(|opp| **opp >= mhz).or(self.opps_mhz.last());
        next.copied().unwrap_or(mhz)
    }

    /// What the hardware's governor wants after so many steps.
    fn at_step(&self, step: u32, limit_mhz: u32) -> u32 {
        let more = u64::from(limit_mhz.saturating_sub(self.idle_mhz));
        self.idle_mhz.min(limit_mhz) + (more * u64::from(step) / u64::from(STEPS)) as u32
    }
}

impl Clocks {
    pub(crate) fn of(hardware: &Hardware, topology: &Topology) -> Self {
        let mut clocks = Self { active: vec![false; topology.cpus() as usize], ..Self::default() };
        // cores so far of the last domain of each group
        let mut filled: Vec<(usize, Option<u32>, u32)> = Vec::new();
        for cpu in 0..topology.cpus() {
            let (kind, node) = (hardware.type_of_cpu[cpu as usize], topology.node_of(cpu));
            let Some(clock) = &hardware.core_types[kind].clock else {
                clocks.domain_of.push(None);
                continue;
            };
            let first = topology.siblings(cpu).first().unwrap_or(cpu);
            if first < cpu {
                let domain = clocks.domain_of[first as usize];
                if let Some(domain) = domain {
                    clocks.domains[domain].cpus.insert(cpu);
                }
                clocks.domain_of.push(domain);
                continue;
            }
            let known = clocks.groups.iter().position(|g| (g.kind, g.node) == (kind, node));
            let group = known.unwrap_or_else(|| {
                let limit_mhz = clock.limit_mhz(0);
                clocks.groups.push(Group { kind, node, active: 0, limit_mhz });
                filled.push((0, None, 0));
                clocks.groups.len() - 1
            });
            let (domain, is_open, cores) = &mut filled[group];
            let is_full = clock.domain_cores != 0 && *cores == clock.domain_cores;
            if is_open.is_none() || is_full {
                (*domain, *is_open, *cores) = (clocks.domains.len(), Some(cpu), 0);
                clocks.domains.push(Domain::new(group, clock));
            }
            *cores += 1;
            clocks.domains[*domain].cpus.insert(cpu);
            clocks.domain_of.push(Some(*domain));
        }
        clocks
    }

    /// Whether a frequency follows what CPUs are used.
    pub(super) fn follow_use(&self, hardware: &Hardware) -> bool {
        let follows = |group: &Group| {
            let clock = hardware.core_types[group.kind].clock.as_ref();
            clock.is_some_and(|clock| matches!(clock.governor, Governor::Schedutil { .. }))
        };
        self.groups.iter().any(follows)
    }

    pub(crate) fn domains_cpus(&self) -> Vec<CpuSet> {
        self.domains.iter().map(|domain| domain.cpus).collect()
    }

    fn clock<'a>(&self, hardware: &'a Hardware, group: usize) -> Option<&'a Clock> {
        hardware.core_types[self.groups[group].kind].clock.as_ref()
    }
}

impl Domain {
    fn new(group: usize, clock: &Clock) -> Self {
        let (wanted_mhz, left_ns) = match clock.governor {
            Governor::Performance => (clock.max_mhz, 0),
            Governor::Hardware { ramp_ns, .. } => (clock.idle_mhz, ramp_ns / u64::from(STEPS)),
            Governor::Schedutil { .. } => (clock.for_performance(CPUPERF_ONE, CPUPERF_ONE), 0),
        };
        Self {
            cpus: CpuSet::default(),
            group,
            busy_cores: 0,
            wanted_mhz,
            step: 0,
            left_ns,
            due_ns: None,
            idle_since_ns: 0,
            generation: 0,
        }
    }

    /// A core of it is not idle any more. When its hardware takes its next step, if it was idle.
    fn wake(&mut self, clock: &Clock, now_ns: u64) -> Option<u64> {
        self.busy_cores += 1;
        let Governor::Hardware { ramp_ns, cool_ns } = clock.governor else { return None };
        if self.busy_cores > 1 {
            return None;
        }
        let step_ns = ramp_ns / u64::from(STEPS);
        if now_ns - self.idle_since_ns >= cool_ns {
            (self.step, self.left_ns) = (0, step_ns);
        }
        if step_ns == 0 {
            self.step = STEPS;
        }
        if self.step == STEPS {
            return None;
        }
        self.generation += 1;
        self.due_ns = Some(now_ns + self.left_ns);
        self.due_ns
    }

    /// A core of it is idle now. Steps of the hardware wait until it is busy again; a frequency that
    /// a governor has chosen comes in any case.
    fn rest(&mut self, clock: &Clock, now_ns: u64) {
        self.busy_cores -= 1;
        let is_hardware = matches!(clock.governor, Governor::Hardware { .. });
        if self.busy_cores == 0 && is_hardware {
            self.idle_since_ns = now_ns;
            if let Some(due_ns) = self.due_ns.take() {
                self.left_ns = due_ns.saturating_sub(now_ns);
                self.generation += 1;
            }
        }
    }
}

impl Models {
    /// A CPU's frequency in MHz; `None`: it has one only.
    pub(super) fn frequency(&self, cpu: u32) -> Option<(&Clock, u32)> {
        let domain = &self.clocks.domains[self.clocks.domain_of[cpu as usize]?];
        let clock = self.clocks.clock(&self.hardware, domain.group)?;
        let limit_mhz = self.clocks.groups[domain.group].limit_mhz;
        let mhz = match clock.governor {
            Governor::Hardware { .. } => clock.at_step(domain.step, limit_mhz),
            _ => domain.wanted_mhz.min(limit_mhz),
        };
        Some((clock, mhz))
    }

    /// `F`: the frequency of a CPU, of its highest; `None`: it has no other.
    pub(crate) fn clock_factor(&self, cpu: u32) -> Option<u32> {
        let (clock, mhz) = self.frequency(cpu)?;
        let factor = u64::from(mhz) * u64::from(FULL_SPEED) / u64::from(clock.max_mhz.max(1));
        Some((factor as u32).clamp(1, FULL_SPEED))
    }
}

impl System {
    /// A core may have become active or idle: those whose frequency changes with it.
    pub(super) fn reclock_core(&mut self, cpu: u32) -> CpuSet {
        let topology = self.config.topology.clone();
        let busy = topology.siblings(cpu).iter().any(|other| self.is_busy(other));
        let (now_ns, core) = (self.now_ns, topology.core_of(cpu) as usize);
        let none = CpuSet::default();
        let Some(models) = self.models.as_deref_mut() else { return none };
        let clocks = &mut models.clocks;
        let Some(domain) = clocks.domain_of[cpu as usize] else { return none };
        if std::mem::replace(&mut clocks.active[core], busy) == busy {
            return none;
        }
        let group = clocks.domains[domain].group;
        let Some(clock) = clocks.clock(&models.hardware, group) else { return none };
        let due_ns = match busy {
            true => clocks.domains[domain].wake(clock, now_ns),
            false => {
                clocks.domains[domain].rest(clock, now_ns);
                None
            }
        };
        let generation = clocks.domains[domain].generation;
        if let Some(at_ns) = due_ns {
            self.queue.push(at_ns, Due::Clock(domain as u32, generation));
        }
        let mut changed = clocks.domains[domain].cpus;
        let shared = &mut clocks.groups[group];
        shared.active = if busy { shared.active + 1 } else { shared.active - 1 };
        let limit_mhz = clock.limit_mhz(shared.active);
        if std::mem::replace(&mut shared.limit_mhz, limit_mhz) != limit_mhz {
            let same = clocks.domains.iter().filter(|domain| domain.group == group);
            same.for_each(|domain| domain.cpus.iter().for_each(|cpu| changed.insert(cpu)));
        }
        changed
    }

    /// A clock takes its next step, or what was asked for takes effect.
    pub(crate) fn clock_due(&mut self, domain: u32, generation: u64) {
        let (now_ns, wanted_mhz) = (self.now_ns, self.wanted_mhz(domain as usize));
        let Some(models) = self.models.as_deref_mut() else { return };
        let Some(found) = models.clocks.domains.get_mut(domain as usize) else { return };
        let kind = models.clocks.groups[found.group].kind;
        let Some(clock) = &models.hardware.core_types[kind].clock else { return };
        if found.generation != generation {
            return;
        }
        found.due_ns = None;
        match clock.governor {
            Governor::Performance => {}
            Governor::Hardware { ramp_ns, .. } => {
                found.step += 1;
                found.left_ns = ramp_ns / u64::from(STEPS);
                if found.step < STEPS {
                    found.generation += 1;
                    let at_ns = now_ns + found.left_ns;
                    found.due_ns = Some(at_ns);
                    self.queue.push(at_ns, Due::Clock(domain, found.generation));
                }
            }
            Governor::Schedutil { .. } => found.wanted_mhz = wanted_mhz,
        }
        let cpus = found.cpus;
        cpus.iter().for_each(|cpu| self.respeed(cpu));
    }

    /// What the most demanding CPU of a domain wants (`sugov_next_freq_shared()`).
    fn wanted_mhz(&self, domain: usize) -> u32 {
        let Some(models) = self.models.as_deref() else { return 0 };
        let Some(found) = models.clocks.domains.get(domain) else { return 0 };
        let Some(clock) = models.clocks.clock(&models.hardware, found.group) else { return 0 };
        let wanted =
            |cpu| clock.for_performance(self.wanted_performance(cpu), self.capacity_of(cpu));
        found.cpus.iter().map(wanted).max().unwrap_or(clock.max_mhz)
    }

    /// Another performance may be wanted of a CPU (`cpufreq_update_util()`): `schedutil` sees to it,
    /// no more often than its hardware can.
    pub(crate) fn want_performance(&mut self, cpu: u32) {
        let Some(models) = self.models.as_deref() else { return };
        let Some(domain) = models.clocks.domain_of[cpu as usize] else { return };
        let found = &models.clocks.domains[domain];
        let Some(clock) = models.clocks.clock(&models.hardware, found.group) else { return };
        let Governor::Schedutil { transition_ns } = clock.governor else { return };
        if found.due_ns.is_some() || self.wanted_mhz(domain) == found.wanted_mhz {
            return;
        }
        let (now_ns, Some(models)) = (self.now_ns, self.models.as_deref_mut()) else { return };
        let found = &mut models.clocks.domains[domain];
        found.generation += 1;
        found.due_ns = Some(now_ns + transition_ns);
        self.queue.push(now_ns + transition_ns, Due::Clock(domain as u32, found.generation));
    }
}

impl System {
    /// Active cores are counted where they are.
    pub(super) fn audit_clock(&self, cpu: u32) -> Result<(), String> {
        let Some(models) = self.models.as_deref() else { return Ok(()) };
        let Some(domain) = models.clocks.domain_of[cpu as usize] else { return Ok(()) };
        let topology = &self.config.topology;
        let is_first = |cpu: u32| topology.siblings(cpu).first() == Some(cpu);
        let active = |cpu: u32| topology.siblings(cpu).iter().any(|cpu| self.is_busy(cpu));
        let of = |cpus: &CpuSet| cpus.iter().filter(|c| is_first(*c) && active(*c)).count();
        let domain = &models.clocks.domains[domain];
        let group = &models.clocks.groups[domain.group];
        let same = models.clocks.domains.iter().filter(|other| other.group == domain.group);
        let all = same.map(|domain| of(&domain.cpus)).sum::<usize>();
        if (domain.busy_cores as usize, group.active as usize) != (of(&domain.cpus), all) {
            return Err(format!("counts {domain:?} and {group:?} of {all} active cores"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Clock {
        Clock {
            idle_mhz: 300,
            base_mhz: 1000,
            max_mhz: 2000,
            turbo: vec![(2, 2000), (4, 1800), (8, 1500)],
            opps_mhz: vec![300, 700, 1100, 1500, 2000],
            domain_cores: 1,
            governor: Governor::Performance,
            power_uw: Vec::new(),
        }
    }

    #[test]
    fn turbo_falls_with_the_number_of_active_cores() {
        let limits = [0, 1, 2, 3, 4, 5, 8, 99].map(|active| clock().limit_mhz(active));
        assert_eq!(limits, [2000, 2000, 2000, 1800, 1800, 1500, 1500, 1500]);
        assert_eq!(Clock { turbo: Vec::new(), ..clock() }.limit_mhz(7), 2000);
    }

    #[test]
    fn schedutil_takes_the_next_frequency_that_has_the_performance() {
        // 640 / 1024 * 2000 = 1250: 1500; of a CPU of half that capacity all is 512
        let wanted = [0, 125, 640, 1024, 1100].map(|it| clock().for_performance(it, 1024));
        assert_eq!(wanted, [300, 300, 1500, 2000, 2000]);
        assert_eq!(clock().for_performance(320, 512), 1500);
    }

    #[test]
    fn hardware_goes_from_idle_to_the_limit_in_eight_equal_steps() {
        let steps = [0, 1, 4, 8].map(|step| clock().at_step(step, 1900));
        assert_eq!(steps, [300, 500, 1100, 1900]);
    }
}
