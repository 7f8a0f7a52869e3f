// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel says that a thread had: its own account, not a sum of what was recorded.
//!
//! Both differ where a task wakes up often. The kernel charges the time from a wakeup that preempts
//! to the switch to the woken task (`rq_clock_skip_update()` in `wakeup_preempt()`), a recording of
//! switches to the task before it.

use serde::{Deserialize, Serialize};
use std::fs;

/// Totals of a thread (`/proc/<pid>/task/<tid>/schedstat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// CPU time.
    pub cpu_ns: u64,
    /// Time that it was runnable and did not run.
    pub run_delay_ns: u64,
}

impl Account {
    /// Of a thread of this process; `None`: it is over, or the kernel keeps no such account.
    pub(crate) fn of(tid: u32) -> Option<Account> {
        Account::parse(&fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).ok()?)
    }

    fn parse(text: &str) -> Option<Account> {
        let mut numbers = text.split_whitespace().map(str::parse);
        let [cpu_ns, run_delay_ns] = [numbers.next()?.ok()?, numbers.next()?.ok()?];
        Some(Account { cpu_ns, run_delay_ns })
    }

    /// What came after `before`.
    pub(crate) fn since(self, before: Account) -> Account {
        Account {
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            run_delay_ns: self.run_delay_ns.saturating_sub(before.run_delay_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_line_has_cpu_time_and_run_delay_first() {
        let account = Account::parse("5521972 3996 11\n");

        assert_eq!(account, Some(Account { cpu_ns: 5_521_972, run_delay_ns: 3_996 }));
        assert_eq!(Account::parse("17"), None);
        assert_eq!(Account::parse("a b c"), None);
    }

    #[test]
    fn a_thread_that_worked_has_more_than_before() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let before = Account::of(tid).unwrap();

        let until = crate::thread_ns() + 20_000_000;
        while crate::thread_ns() < until {}

        let had = Account::of(tid).unwrap().since(before);
        // 20 ms, up to a tick of which (10 ms at 100 Hz) the account need not have yet.
        assert!(had.cpu_ns >= 10_000_000, "{had:?}");
    }

    #[test]
    fn a_thread_that_is_over_has_none() {
        assert_eq!(Account::of(u32::MAX), None);
    }
}
