// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time that CPUs were idle while tasks waited that could have used them: what a work-conserving
//! scheduler never has.
//!
//! At each moment this many CPUs are wasted: the most pairs of an idle CPU and a waiting task that
//! may use it (a maximum matching, found along augmenting paths: C. Berge, *Two Theorems in Graph
//! Theory*, PNAS 43, 1957). Where no waiting task is tied to CPUs that is the smaller of the two
//! numbers.

use crate::fluid::Tie;

/// Idle CPUs, waiting tasks, and what was wasted so far.
#[derive(Clone, Debug)]
pub(crate) struct Waste {
    now_ns: u64,
    cpus: Vec<Cpu>,
    idle: u32,
    /// Waiting tasks, by what ties them.
    waiting: Vec<Waiting>,
    waiting_in_all: u32,
    wasted_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Cpu {
    idle: bool,
    online: bool,
    /// Time idle while a task waited that may use it.
    wasted_ns: u64,
}

#[derive(Clone, Debug, Default)]
struct Waiting {
    tasks: u32,
    /// CPUs that they may use; empty: all.
    mask: Vec<u32>,
    /// Time in which such a task waited and a CPU that it may use was idle.
    clock_ns: u64,
}

impl Waiting {
    fn may_use(&self, cpu: usize) -> bool {
        self.mask.is_empty() || self.mask.binary_search(&(cpu as u32)).is_ok()
    }
}

impl Waste {
    pub(crate) fn new(cpus: u32) -> Self {
        let mut waste = Waste {
            now_ns: 0,
            cpus: Vec::new(),
            idle: 0,
            waiting: vec![Waiting::default()],
            waiting_in_all: 0,
            wasted_ns: 0,
        };
        waste.grow(cpus, 0);
        waste
    }

    /// As many CPUs as have been heard of; new ones are idle.
    pub(crate) fn grow(&mut self, cpus: u32, now_ns: u64) {
        self.settle(now_ns);
        let more = (cpus as usize).saturating_sub(self.cpus.len());
        self.idle += more as u32;
        self.cpus.extend(vec![Cpu { idle: true, online: true, wasted_ns: 0 }; more]);
    }

    /// The CPUs that a task with this tie may use; empty: all.
    pub(crate) fn learn(&mut self, tie: Tie, mask: &[u32]) {
        if self.waiting.len() <= tie.index() {
            self.waiting.resize(tie.index() + 1, Waiting::default());
            self.waiting[tie.index()].mask = mask.to_vec();
        }
    }

    /// A CPU becomes idle, or begins to run a task.
    #[inline]
    pub(crate) fn set_idle(&mut self, cpu: u32, idle: bool, now_ns: u64) {
        self.settle(now_ns);
        let Some(slot) = self.cpus.get_mut(cpu as usize) else { return };
        let was = std::mem::replace(&mut slot.idle, idle);
        if slot.online {
            self.idle = self.idle + u32::from(idle) - u32::from(was);
        }
    }

    /// A CPU goes offline, where it is no idle one, or comes back.
    pub(crate) fn set_online(&mut self, cpu: u32, online: bool, now_ns: u64) {
        self.settle(now_ns);
        let Some(slot) = self.cpus.get_mut(cpu as usize) else { return };
        let was = std::mem::replace(&mut slot.online, online);
        if slot.idle {
            self.idle = self.idle + u32::from(online) - u32::from(was);
        }
    }

    /// A task begins to wait. Gives the reading that its wasted time counts from.
    #[inline]
    pub(crate) fn begin_wait(&mut self, tie: Tie, now_ns: u64) -> u64 {
        self.settle(now_ns);
        let waiting = &mut self.waiting[tie.index()];
        waiting.tasks += 1;
        self.waiting_in_all += 1;
        waiting.clock_ns
    }

    /// A task waits no more. Gives the reading now.
    #[inline]
    pub(crate) fn end_wait(&mut self, tie: Tie, now_ns: u64) -> u64 {
        self.settle(now_ns);
        let waiting = &mut self.waiting[tie.index()];
        waiting.tasks -= 1;
        self.waiting_in_all -= 1;
        waiting.clock_ns
    }

    /// The reading of tasks with this tie.
    pub(crate) fn reading(&mut self, tie: Tie, now_ns: u64) -> u64 {
        self.settle(now_ns);
        self.waiting[tie.index()].clock_ns
    }

    /// What comes before now does not count.
    pub(crate) fn restart(&mut self, now_ns: u64) {
        self.settle(now_ns);
        self.wasted_ns = 0;
        self.cpus.iter_mut().for_each(|cpu| cpu.wasted_ns = 0);
    }

    /// CPU time wasted up to now, and that of each CPU.
    pub(crate) fn finish(&mut self, now_ns: u64) -> (u64, Vec<u64>) {
        self.settle(now_ns);
        (self.wasted_ns, self.cpus.iter().map(|cpu| cpu.wasted_ns).collect())
    }

    #[inline]
    fn settle(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.now_ns);
        self.now_ns = self.now_ns.max(now_ns);
        if passed_ns > 0 && self.idle > 0 && self.waiting_in_all > 0 {
            self.count(passed_ns);
        }
    }

    #[cold]
    fn count(&mut self, passed_ns: u64) {
        self.wasted_ns += passed_ns * u64::from(self.pairs());
        let Waste { cpus, waiting, .. } = self;
        let mut met = vec![false; waiting.len()];
        for (at, cpu) in cpus.iter_mut().enumerate().filter(|(_, cpu)| cpu.idle && cpu.online) {
            let mut is_wasted = false;
            for (tasks, met) in waiting.iter().zip(&mut met) {
                if tasks.tasks > 0 && tasks.may_use(at) {
                    (is_wasted, *met) = (true, true);
                }
            }
            cpu.wasted_ns += if is_wasted { passed_ns } else { 0 };
        }
        for (tasks, _) in waiting.iter_mut().zip(met).filter(|(_, met)| *met) {
            tasks.clock_ns += passed_ns;
        }
    }

    /// The most pairs of an idle CPU and a waiting task that may use it.
    fn pairs(&self) -> u32 {
        if self.waiting[0].tasks == self.waiting_in_all {
            return self.idle.min(self.waiting_in_all);
        }
        let mut taken: Vec<Vec<usize>> = vec![Vec::new(); self.waiting.len()];
        let idle =
            (0..self.cpus.len()).filter(|cpu| self.cpus[*cpu].idle && self.cpus[*cpu].online);
        let mut found = 0;
        for cpu in idle {
            let mut seen = vec![false; self.waiting.len()];
            found += u32::from(self.pair(cpu, &mut taken, &mut seen));
        }
        found
    }

    /// Finds a task for a CPU; another CPU may have to take another one in return.
    fn pair(&self, cpu: usize, taken: &mut [Vec<usize>], seen: &mut [bool]) -> bool {
        for (at, tasks) in self.waiting.iter().enumerate() {
            if tasks.tasks == 0 || !tasks.may_use(cpu) || std::mem::replace(&mut seen[at], true) {
                continue;
            }
            if taken[at].len() < tasks.tasks as usize {
                taken[at].push(cpu);
                return true;
            }
            for place in 0..taken[at].len() {
                let other = taken[at][place];
                if self.pair(other, taken, seen) {
                    taken[at][place] = cpu;
                    return true;
                }
            }
        }
        false
    }
}

#[cfg(test)]
#[path = "waste_tests.rs"]
mod tests;
