// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `schedutil` knows of tasks above the hosted schedulers: how much of each CPU they have used
//! lately, an average with a half-life of 32 periods of 1024 us (`kernel/sched/pelt.c`), and what
//! they want now (`effective_cpu_util()` in `kernel/sched/syscalls.c`).

use super::FULL_SPEED;
use crate::class::Class;
use crate::system::System;

/// Nanoseconds in a period, as a power of two; periods in which half is left.
const PERIOD_BITS: u32 = 20;
const HALF_LIFE: usize = 32;
/// Fraction bits of what is left after some periods.
const LEFT_BITS: u32 = 31;
/// Fraction bits of an average.
const USED_BITS: u32 = 20;

/// What is left after 0 to 32 periods.
const LEFT: [u64; HALF_LIFE + 1] = left_after();

const fn left_after() -> [u64; HALF_LIFE + 1] {
    let one = 1u64 << LEFT_BITS;
    // the 32nd root of a half, by five square roots, each of a number with 62 fraction bits
    let (mut root, mut n) = (one / 2, 0);
    while n < HALF_LIFE.trailing_zeros() {
        root = (root << LEFT_BITS).isqrt();
        n += 1;
    }
    let (mut left, mut n) = ([one; HALF_LIFE + 1], 1);
    while n < HALF_LIFE {
        left[n] = (left[n - 1] * root) >> LEFT_BITS;
        n += 1;
    }
    left[HALF_LIFE] = one / 2;
    left
}

/// How much of a CPU tasks above the hosted schedulers use (`rq->avg_rt`, `rq->avg_dl`).
#[derive(Clone, Debug, Default)]
pub(super) struct UseAbove {
    /// In 1/1024, with [`USED_BITS`] more.
    used: u64,
    /// When that was so, and then by the clock for averages (`rq->clock_pelt`).
    since_ns: u64,
    clock_ns: u64,
    /// What holds since then: whether such a task runs, and how fast that clock is, in 2^-20; an idle
    /// CPU's has the time.
    runs: bool,
    rate: Option<u64>,
}

impl UseAbove {
    fn clock_at(&self, now_ns: u64) -> u64 {
        let gone_ns = u128::from(now_ns - self.since_ns);
        let passed = |rate| ((gone_ns * u128::from(rate)) >> 20) as u64;
        self.rate.map_or(now_ns, |rate| self.clock_ns + passed(rate))
    }

    /// The use at a later time, in 1/1024 with [`USED_BITS`] more.
    fn at(&self, now_ns: u64) -> u64 {
        let ns = self.clock_at(now_ns).saturating_sub(self.clock_ns);
        let most = u64::from(FULL_SPEED) << USED_BITS;
        match self.runs {
            true => most - decayed(most - self.used.min(most), ns),
            false => decayed(self.used, ns),
        }
    }
}

/// `decay_load()`; within a period what is left falls evenly.
fn decayed(value: u64, ns: u64) -> u64 {
    let periods = ns >> PERIOD_BITS;
    let (halved, at) = (periods / HALF_LIFE as u64, (periods % HALF_LIFE as u64) as usize);
    if halved >= u64::from(u64::BITS) {
        return 0;
    }
    let within = ns & ((1 << PERIOD_BITS) - 1);
    let left = LEFT[at] - (((LEFT[at] - LEFT[at + 1]) * within) >> PERIOD_BITS);
    ((u128::from(value >> halved) * u128::from(left)) >> LEFT_BITS) as u64
}

impl System {
    /// What a CPU runs, or how fast, may have changed.
    pub(super) fn note_use_above(&mut self, cpu: u32) {
        let Some(models) = self.models.as_deref() else { return };
        let Some(above) = models.above.get(cpu as usize) else { return };
        let frequency = models.clock_factor(cpu).unwrap_or(FULL_SPEED);
        let curr = self.rq(cpu).curr;
        let runs = curr.is_some_and(|t| !self.task(t).class.is_hosted());
        let rate = curr.map(|_| u64::from(self.capacity_of(cpu)) * u64::from(frequency));
        let (now_ns, used) = (self.now_ns, above.at(self.now_ns));
        let new = UseAbove { used, since_ns: now_ns, clock_ns: above.clock_at(now_ns), runs, rate };
        if let Some(models) = self.models.as_deref_mut() {
            models.above[cpu as usize] = new;
        }
    }

    /// The performance that a CPU should have, in the unit of capacities: a quarter more than what is
    /// used (`sugov_effective_cpu_perf()`). What the scheduler asks for counts as used, as where all
    /// tasks are sched_ext's (`sugov_get_util()`).
    pub(super) fn wanted_performance(&self, cpu: u32) -> u32 {
        let capacity = self.capacity_of(cpu);
        let above = self.models.as_deref().and_then(|models| models.above.get(cpu as usize));
        let above = above.map_or(0, |above| (above.at(self.now_ns) >> USED_BITS) as u32);
        let used = (self.rq(cpu).cpuperf_target + above).min(capacity);
        let (is_realtime, reserved) = self.wants_above(cpu);
        let (least, most) = match self.cpu_clamps(cpu) {
            Some([least, most]) => (u32::from(least).max(reserved), capacity.min(most.into())),
            // without clamps real-time tasks have the highest frequency
            None => (if is_realtime { capacity } else { reserved }, capacity),
        };
        (used + used / 4).min(most).max(least).min(capacity)
    }

    /// Whether real-time tasks are runnable, and what the others above them have reserved, in
    /// 1/1024 (`cpu_bw_dl()`): of those that are ready, where the kernel counts one that is throttled,
    /// and one that sleeps until its bandwidth is free again (the 0-lag time), too.
    fn wants_above(&self, cpu: u32) -> (bool, u32) {
        let rq = self.rq(cpu);
        if rq.nr_higher == 0 {
            return (false, 0);
        }
        let (mut is_realtime, mut reserved) = (false, 0);
        for t in rq.waiting.iter().chain(rq.curr.filter(|t| self.task(*t).entity.on_rq)) {
            match self.task(t).class {
                Class::Realtime { .. } => is_realtime = true,
                Class::Deadline(of) => {
                    let part = u128::from(of.runtime_ns) * u128::from(FULL_SPEED);
                    reserved += (part / u128::from(of.period_ns.max(1))) as u32;
                }
                Class::Ext | Class::Fair => {}
            }
        }
        (is_realtime, reserved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_NS: u64 = 1 << PERIOD_BITS;

    /// 2^-(n/32), by floating point.
    #[test]
    fn half_is_left_after_32_periods() {
        for (n, left) in LEFT.iter().enumerate() {
            let expected = (-(n as f64) / 32.0).exp2();
            let found = *left as f64 / (1u64 << LEFT_BITS) as f64;
            assert!((found - expected).abs() < 1e-7, "{n}: {found}");
        }
        assert_eq!(decayed(1000, 32 * PERIOD_NS), 500);
        assert_eq!(decayed(1000, 64 * PERIOD_NS), 250);
        assert_eq!(decayed(1000, u64::MAX), 0);
    }

    /// 1 - 2^-1 of 1024 after 32 periods of use, a quarter of it after 64 of none.
    #[test]
    fn use_grows_and_is_forgotten_with_the_same_half_life() {
        let full = Some(1 << 20);
        let busy = UseAbove { runs: true, rate: full, ..UseAbove::default() };
        let used = busy.at(32 * PERIOD_NS);
        assert_eq!(used >> USED_BITS, 512);
        let (since_ns, clock_ns) = (32 * PERIOD_NS, 32 * PERIOD_NS);
        let idle = UseAbove { used, since_ns, clock_ns, ..UseAbove::default() };
        assert_eq!(idle.at(96 * PERIOD_NS) >> USED_BITS, 128);
    }

    /// On a CPU of a quarter of the capacity use grows as slowly as on a large one that is used for a
    /// quarter of the time (`update_rq_clock_pelt()`). Once idle it has the time again.
    #[test]
    fn the_clock_of_a_slow_cpu_is_slow_while_it_works() {
        let slow = UseAbove { runs: true, rate: Some(1 << 18), ..UseAbove::default() };
        assert_eq!(slow.at(128 * PERIOD_NS) >> USED_BITS, 512);
        assert_eq!(slow.clock_at(128 * PERIOD_NS), 32 * PERIOD_NS);
        assert_eq!(UseAbove { rate: None, ..slow }.clock_at(128 * PERIOD_NS), 128 * PERIOD_NS);
    }
}
