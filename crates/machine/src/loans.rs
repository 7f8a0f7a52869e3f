// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priority inheritance: what the workload's mutexes lend to whom takes effect.

use crate::ops::Ops;
use crate::run::Machine;

impl Machine {
    /// What the last step changed, before anything else happens: who waits lends before it
    /// sleeps, and an unlock ends a loan before it wakes anybody (`rt_mutex_adjust_prio()`).
    pub(crate) fn lend(&mut self, o: &mut dyn Ops) {
        for loan in self.runner.take_loans() {
            let Some(to) = self.tid_of_ix.get(&loan.to).copied() else { continue };
            let from = loan.from.and_then(|from| self.tid_of_ix.get(&from)).copied();
            self.system.set_lender(o, to, from);
        }
    }
}
