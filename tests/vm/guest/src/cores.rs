// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether two tasks share a core while another core is idle, by what switches tell.

use rota_trace::{Event, EventKind};

/// Cores of equally many CPUs, whose numbers follow each other.
#[derive(Clone, Debug)]
pub struct Cores {
    /// How many of its CPUs run a task, by core.
    tasks: Vec<u32>,
    /// By CPU.
    busy: Vec<bool>,
    /// CPUs of a core.
    core: u32,
    /// When this last changed.
    since_ns: u64,
    /// Time of cores that idled while another one had two tasks.
    doubled_ns: u64,
}

impl Cores {
    /// Of a machine whose cores have `core` CPUs.
    pub fn new(cpus: u32, core: u32) -> Cores {
        let cores = cpus.div_ceil(core) as usize;
        let (tasks, busy) = (vec![0; cores], vec![false; cpus as usize]);
        Cores { tasks, busy, core, since_ns: 0, doubled_ns: 0 }
    }

    /// Counts the task of a switch.
    pub fn event(&mut self, event: &Event) {
        let Some(cpu) = event.cpu else { return };
        let busy = match event.kind {
            EventKind::SwitchIn { .. } => true,
            EventKind::SwitchOut { .. } => false,
            _ => return,
        };
        self.until(event.time_ns);
        if std::mem::replace(&mut self.busy[cpu as usize], busy) != busy {
            let tasks = &mut self.tasks[(cpu / self.core) as usize];
            *tasks = if busy { *tasks + 1 } else { *tasks - 1 };
        }
    }

    /// An idle core counts only if there is one for it that has two tasks.
    fn until(&mut self, now_ns: u64) {
        let idle = self.tasks.iter().filter(|tasks| **tasks == 0).count();
        let doubled = self.tasks.iter().filter(|tasks| **tasks > 1).count();
        self.doubled_ns += idle.min(doubled) as u64 * now_ns.saturating_sub(self.since_ns);
        self.since_ns = now_ns;
    }

    /// The part of all cores' time that it was so.
    pub fn doubled(mut self, duration_ns: u64) -> f64 {
        self.until(duration_ns);
        self.doubled_ns as f64 / (duration_ns * self.tasks.len() as u64) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_trace::OffCpu;

    #[test]
    fn two_tasks_in_a_core_count_while_another_core_is_idle() {
        let mut cores = Cores::new(4, 2);
        let mut at = |time_ns, cpu, kind| cores.event(&Event { time_ns, cpu: Some(cpu), kind });
        at(0, 0, EventKind::SwitchIn { pid: 1 });
        at(100, 1, EventKind::SwitchIn { pid: 2 });
        // Both cores have a task from 400 on; from 600 on the first has one.
        at(400, 3, EventKind::SwitchIn { pid: 3 });
        at(600, 1, EventKind::SwitchOut { pid: 2, why: OffCpu::Sleep });
        at(700, 3, EventKind::SwitchOut { pid: 3, why: OffCpu::Sleep });
        // 300 of 1000, in one of two cores.
        assert_eq!(cores.doubled(1000), 0.15);
    }
}
