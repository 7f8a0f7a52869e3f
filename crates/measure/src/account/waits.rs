// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a task's waiting is compared with: CPUs that were idle, and its own run delay.

use super::{Account, State};
use crate::whole::Whole;

impl Account {
    /// Its reservation holds it back, or does so no more.
    pub(crate) fn throttle(&mut self, whole: &mut Whole, now_ns: u64, throttled: bool) {
        self.end_waste(whole, now_ns);
        self.throttled = throttled;
        self.begin_waste(whole, now_ns);
    }

    /// If it waits from now on, idle CPUs are wasted.
    pub(super) fn begin_waste(&mut self, whole: &mut Whole, now_ns: u64) {
        if matches!(self.state, State::Woken | State::Preempted) && !self.throttled {
            self.wasted_from = Some(whole.waste.begin_wait(self.tie, now_ns));
        }
    }

    pub(super) fn end_waste(&mut self, whole: &mut Whole, now_ns: u64) {
        if let Some(from) = self.wasted_from.take() {
            self.wasted_wait_ns += whole.waste.end_wait(self.tie, now_ns) - from;
        }
    }

    /// Run delay up to now.
    pub(crate) fn delay_ns(&self, from_ns: u64, now_ns: u64) -> u64 {
        let open = match self.state {
            State::Woken | State::Preempted => now_ns.saturating_sub(self.since_ns.max(from_ns)),
            _ => 0,
        };
        self.run_delay_ns + open
    }
}
