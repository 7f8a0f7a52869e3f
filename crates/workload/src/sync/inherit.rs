// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priority inheritance: whoever holds a mutex runs with the rank of the greatest of those who
//! wait for it, if that is above its own, through chains of mutexes
//! (`rt_mutex_adjust_prio_chain()`).

use std::collections::BTreeMap;

use super::mutex::Mutexes;
use crate::model::TaskIx;

/// A task runs with another's priority from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loan {
    /// Who holds a mutex.
    pub to: TaskIx,
    /// Who waits, at the end of the chain, and lends; `None`: nobody any more.
    pub from: Option<TaskIx>,
}

/// Who lends to whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loans {
    /// By borrower.
    lent: BTreeMap<TaskIx, TaskIx>,
    news: Vec<Loan>,
}

impl Loans {
    /// Looks again at who waits for whom; `rank` is a task's own.
    pub(crate) fn update(&mut self, mutexes: &mut Mutexes, rank: impl Fn(TaskIx) -> i32) {
        if !mutexes.inherit() || self.lent.is_empty() && !mutexes.anyone_waits(&rank) {
            return;
        }
        // to each borrower its rank and where that comes from
        let mut now: BTreeMap<TaskIx, (i32, TaskIx)> = BTreeMap::new();
        let of = |now: &BTreeMap<TaskIx, (i32, TaskIx)>, task: TaskIx| {
            now.get(&task).copied().unwrap_or_else(|| (rank(task), task))
        };
        loop {
            let mut changed = false;
            for (owner, waiter) in mutexes.owners_and_waiters() {
                let lender = of(&now, waiter);
                if lender.0 > of(&now, owner).0 {
                    now.insert(owner, lender);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        mutexes.rerank(|task| of(&now, task).0);
        let now: BTreeMap<TaskIx, TaskIx> =
            now.into_iter().map(|(to, (_, from))| (to, from)).collect();
        let ended = self.lent.keys().filter(|to| !now.contains_key(to));
        self.news.extend(ended.map(|to| Loan { to: *to, from: None }));
        let begun = now.iter().filter(|(to, from)| self.lent.get(to) != Some(from));
        self.news.extend(begun.map(|(to, from)| Loan { to: *to, from: Some(*from) }));
        self.lent = now;
    }

    /// What has changed since the last call.
    pub(crate) fn take(&mut self) -> Vec<Loan> {
        std::mem::take(&mut self.news)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Meeting, Waiter};
    use super::*;

    fn waiter(task: u32, rank: i32) -> Waiter {
        Waiter { task: TaskIx(task), rank }
    }

    fn loan(to: u32, from: Option<u32>) -> Loan {
        Loan { to: TaskIx(to), from: from.map(TaskIx) }
    }

    #[test]
    fn a_loan_goes_along_the_chain_orders_those_who_wait_and_ends_with_the_unlock() {
        // task 0 holds m, 1 holds n and waits for m, 2 waits for n, 3 waits for m
        let own = [0, 0, 20, 10];
        let rank = |t: TaskIx| own[t.0 as usize];
        let (mut mutexes, mut loans) = (Mutexes::new(2, true), Loans::default());
        mutexes.lock(waiter(0, 0), 0);
        mutexes.lock(waiter(1, 0), 1);
        assert_eq!(mutexes.lock(waiter(1, 0), 0), Meeting::WaitAndRetry);
        loans.update(&mut mutexes, rank);
        assert_eq!(loans.take(), []);
        mutexes.lock(waiter(3, 10), 0);
        loans.update(&mut mutexes, rank);
        assert_eq!(loans.take(), [loan(0, Some(3))]);
        mutexes.lock(waiter(2, 20), 1);
        loans.update(&mut mutexes, rank);
        assert_eq!(loans.take(), [loan(0, Some(2)), loan(1, Some(2))]);
        // 1 has 20 now, more than 3 with its 10
        assert_eq!(mutexes.unlock(TaskIx(0), 0), Some(TaskIx(1)));
        loans.update(&mut mutexes, rank);
        assert_eq!(loans.take(), [loan(0, None)]);
    }

    #[test]
    fn a_circle_is_lent_to_and_ends() {
        // each of 0 and 1 waits for what the other holds, and 2 for what 0 holds
        let rank = |t: TaskIx| if t.0 == 2 { 5 } else { 0 };
        let (mut mutexes, mut loans) = (Mutexes::new(2, true), Loans::default());
        mutexes.lock(waiter(0, 0), 0);
        mutexes.lock(waiter(1, 0), 1);
        mutexes.lock(waiter(0, 0), 1);
        mutexes.lock(waiter(1, 0), 0);
        mutexes.lock(waiter(2, 5), 0);
        loans.update(&mut mutexes, rank);
        assert_eq!(loans.take(), [loan(0, Some(2)), loan(1, Some(2))]);
    }
}
