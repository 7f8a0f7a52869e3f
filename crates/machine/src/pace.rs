// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps time moving. A scheduler may kick its own CPU in every dispatch, or have two
//! tasks preempt each other: a real CPU is then busy scheduling, and time passes. Here
//! scheduling may take no time at all, so that the instant would never end.

use crate::event_queue::Due;
use crate::exit::ExitKind;
use crate::system::System;

/// How often a CPU may go through its scheduler at one instant without any task of its
/// taking a step; and more for each CPU, as CPUs may dispatch for each other.
const LOOKS: u32 = 64;
const LOOKS_PER_CPU: u32 = 4;
/// The time after which it may once more: about that of a trip through `schedule()`.
pub(crate) const LOOK_NS: u64 = 1_000;
/// How often tasks may be handed back to a scheduler at one instant, on request.
const MAX_ROUNDS: u32 = 4_096;

impl System {
    /// Whether a CPU that must reschedule may do so now; if not, it will soon.
    pub(crate) fn may_look(&mut self, cpu: u32) -> bool {
        let now_ns = self.now_ns;
        let rq = self.rq(cpu);
        if rq.entering_idle.is_some() {
            self.cpus.resched.remove(cpu);
            return false;
        }
        let since_ns = now_ns - rq.looked_at_ns;
        let looks = u64::from(rq.fruitless_looks).saturating_sub(since_ns / LOOK_NS) as u32;
        if looks >= LOOKS && looks >= self.most_looks(cpu) {
            let rq = self.rq_mut(cpu);
            if !std::mem::replace(&mut rq.looks_later, true) {
                self.queue.push(now_ns + LOOK_NS, Due::Look(cpu));
            }
            self.cpus.resched.remove(cpu);
            return false;
        }
        let rq = self.rq_mut(cpu);
        rq.fruitless_looks = looks + 1;
        rq.looked_at_ns = now_ns;
        true
    }

    #[cold]
    fn most_looks(&self, cpu: u32) -> u32 {
        // a CPU that runs what does not fit the others of its core has some in reserve
        let reserve = if self.must_leave_core(cpu) { LOOKS } else { 0 };
        LOOKS + LOOKS_PER_CPU * self.nr_cpus() + reserve
    }

    /// Whether deferred work goes round in circles: a kernel's CPU would lock up, and its
    /// watchdog eject the scheduler.
    pub(crate) fn goes_in_circles(&mut self, rounds: &mut u32) -> bool {
        *rounds += 1;
        if *rounds > MAX_ROUNDS {
            let cpu = self.running.this_cpu;
            let text = format!("soft lockup - CPU {cpu} stuck handing tasks back");
            self.error(ExitKind::Error, text);
        }
        *rounds > MAX_ROUNDS
    }
}
