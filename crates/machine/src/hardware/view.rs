// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel says of the hardware, which need not be what is true: capacities, frequencies,
//! and the clock by which it tracks load.

use super::speed::Models;
use super::FULL_SPEED;
use crate::system::System;

impl System {
    /// `arch_scale_cpu_capacity()`.
    pub(crate) fn capacity_of(&self, cpu: u32) -> u32 {
        let told = |models: &Models| models.hardware.core_type(cpu).capacity;
        self.models.as_deref().map_or(FULL_SPEED, told)
    }

    /// `arch_scale_freq_capacity()`; of a flat machine what was asked for.
    pub(crate) fn frequency_of(&self, cpu: u32) -> u32 {
        let of_clock = |models: &Models| models.clock_factor(cpu).unwrap_or(FULL_SPEED);
        self.models.as_deref().map_or(self.rq(cpu).cpuperf_target, of_clock)
    }

    /// `rq->cpu_capacity`, of a CPU that other classes leave alone.
    pub(crate) fn publish_capacities(&mut self) {
        for cpu in 0..self.nr_cpus() {
            let (addr, capacity) = (self.rq(cpu).addr, self.capacity_of(cpu));
            self.guest.put_u64(addr, self.guest.layouts.rq.cpu_capacity, capacity.into());
        }
    }

    /// `update_rq_clock_pelt()`: the clock of a busy CPU is slow if the CPU is, that of an idle one
    /// has the time. What a CPU that was always busy has lost is not kept (`rq->lost_idle_time`).
    pub(crate) fn clock_pelt(&mut self, cpu: u32) -> u64 {
        let now_ns = self.clock_ns();
        let Some(models) = self.models.as_deref() else { return now_ns };
        let capacity = u128::from(models.hardware.core_type(cpu).capacity);
        let frequency = u128::from(models.clock_factor(cpu).unwrap_or(FULL_SPEED));
        let rq = self.rq_mut(cpu);
        let (since_ns, told_ns) = rq.clock_pelt.unwrap_or((now_ns, now_ns));
        let gone_ns = u128::from(now_ns - since_ns);
        let told_ns = match rq.curr {
            None => now_ns,
            Some(_) => told_ns + ((gone_ns * capacity * frequency) >> 20) as u64,
        };
        rq.clock_pelt = Some((now_ns, told_ns));
        told_ns
    }
}
