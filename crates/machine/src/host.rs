// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated kernel as hosted code sees it.

use crate::consts::BOOT_NS;
use crate::system::System;
use rota_choice::Origin;
use rota_vm::engine::Engine;
use rota_vm::error::Fault;
use rota_vm::host::Host;
use rota_vm::memory::Memory;
use std::sync::Arc;

impl Host for System {
    #[inline]
    fn memory(&mut self) -> &mut Memory {
        &mut self.guest.mem
    }

    fn engine(&self) -> Option<Arc<dyn Engine>> {
        self.engine.clone()
    }

    #[inline]
    fn calls_from(&mut self, site: u32) {
        self.running.site = site;
    }

    #[inline]
    fn is_bare(&self) -> bool {
        !self.hosted.is_root
    }

    #[inline]
    fn may_call(&self, contexts: u32, name: &str) -> Result<(), Fault> {
        self.running.allow(contexts, name)
    }

    fn now_ns(&self) -> u64 {
        self.clock_ns()
    }

    fn cpu(&self) -> u32 {
        self.running.this_cpu
    }

    fn nr_cpus(&self) -> u32 {
        self.config.topology.cpus()
    }

    fn current_task(&self) -> u64 {
        if self.running.current != 0 {
            return self.running.current;
        }
        let rq = self.rq(self.running.this_cpu);
        match rq.curr {
            Some(t) => self.task(t).addr,
            None if rq.stopper && rq.stopper_addr != 0 => rq.stopper_addr,
            None => rq.idle_addr,
        }
    }

    fn jiffies(&self) -> u64 {
        System::jiffies(self)
    }

    fn numa_node(&self) -> u32 {
        self.config.topology.node_of(self.running.this_cpu)
    }

    fn random_u32(&mut self) -> u32 {
        self.choices.draw(Origin::Policy) as u32
    }

    fn print(&mut self, text: &str) {
        self.told.print(text);
    }

    fn timer_start(&mut self, timer: u64, at_ns: u64, cpu: Option<u32>) {
        self.start_timer(timer, at_ns.saturating_sub(BOOT_NS), cpu);
    }

    fn timer_cancel(&mut self, timer: u64) -> bool {
        self.timers.cancel_timer(timer)
    }

    fn ksym(&mut self, name: &str) -> Option<u64> {
        self.ksym_address(name)
    }

    fn per_cpu_ptr(&mut self, addr: u64, cpu: u32) -> u64 {
        let copies = self.guest.scratch.per_cpu.get(&addr);
        copies.and_then(|c| c.get(cpu as usize)).copied().unwrap_or(0)
    }

    fn ring_has_news(&mut self) {
        self.wake_program();
    }

    fn cgroup_of(&mut self, task: u64) -> u64 {
        self.tasks.at(task).map_or(0, |t| self.cgroups.get(self.task(t).cgroup).addr)
    }
}
