// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps time moving. A scheduler may kick its own CPU in every dispatch, or have two
//! tasks preempt each other: a real CPU is then busy scheduling, and time passes. Here
//! scheduling may take no time at all, so that the instant would never end.

use crate::core::Core;
use crate::event_queue::Due;

/// How often a CPU may go through its scheduler in a row without any task getting
/// further; and as often again for each CPU, as CPUs may dispatch for each other.
const LOOKS: u32 = 64;
const LOOKS_PER_CPU: u32 = 4;
/// What one more time then takes: about the time of a trip through `schedule()`.
const LOOK_NS: u64 = 1_000;

impl Core {
    /// Whether a CPU that must reschedule may do so now; if not, it will soon.
    pub(crate) fn may_look(&mut self, cpu: u32) -> bool {
        let now_ns = self.now_ns;
        let most = LOOKS + LOOKS_PER_CPU * self.nr_cpus();
        let rq = self.rq_mut(cpu);
        let since_ns = now_ns - rq.looked_at_ns;
        let ran = rq.curr.is_some() && since_ns > 0;
        let looks = u64::from(rq.fruitless_looks).saturating_sub(since_ns / LOOK_NS) as u32;
        if !ran && looks >= most {
            if !std::mem::replace(&mut rq.looks_later, true) {
                self.queue.push(now_ns + LOOK_NS, Due::Look(cpu));
            }
            self.resched.remove(cpu);
            return false;
        }
        rq.fruitless_looks = if ran { looks } else { looks + 1 };
        rq.looked_at_ns = now_ns;
        true
    }
}
