// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loans, one by one and against a plain search, which looks at everybody at every event.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

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
    loans.update(&mut mutexes, rank);
    mutexes.lock(waiter(1, 0), 0);
    loans.update(&mut mutexes, rank);
    mutexes.lock(waiter(2, 5), 0);
    loans.update(&mut mutexes, rank);
    assert_eq!(loans.take(), [loan(0, Some(2)), loan(1, Some(2))]);
}

#[test]
fn of_equal_lenders_the_one_of_the_first_round_counts() {
    // 0 holds m, 1 holds n and waits for m, 2 waits for n: its rank comes to 1 when the first round
    // is past m, and so to 0 in the second. That of 3, who waits for m itself, is there before it.
    let own = [0, 0, 7, 7];
    let rank = |t: TaskIx| own[t.0 as usize];
    let (mut mutexes, mut loans) = (Mutexes::new(2, true), Loans::default());
    for (task, mutex) in [(0, 0), (1, 1), (1, 0), (2, 1)] {
        mutexes.lock(waiter(task, own[task as usize]), mutex);
        loans.update(&mut mutexes, rank);
    }
    assert_eq!(loans.take(), [loan(0, Some(2)), loan(1, Some(2))]);
    mutexes.lock(waiter(3, 7), 0);
    loans.update(&mut mutexes, rank);
    assert_eq!(loans.take(), [loan(0, Some(3))]);
}

#[test]
fn an_event_looks_at_a_few_tasks_however_many_wait() {
    // 0 holds the mutex and the others queue up; ranks rise three times, then all get their turn
    for tasks in [10_u32, 1000] {
        let looks = Cell::new(0_u32);
        let own = |t: TaskIx| (t.0 * 4 / tasks) as i32;
        let rank = |t: TaskIx| {
            looks.set(looks.get() + 1);
            own(t)
        };
        let (mut mutexes, mut loans) = (Mutexes::new(1, true), Loans::default());
        for task in 0..tasks {
            mutexes.lock(Waiter { task: TaskIx(task), rank: own(TaskIx(task)) }, 0);
            loans.update(&mut mutexes, rank);
        }
        let mut holder = Some(TaskIx(0));
        while let Some(task) = holder {
            holder = mutexes.unlock(task, 0);
            loans.update(&mut mutexes, rank);
        }
        // the one that comes and the holder; then the holder and the next
        assert!(looks.get() <= 2 * 2 * tasks, "{} looks at {tasks} tasks", looks.get());
    }
}

/// Mutexes as lists, and at every event a search through all of them until nothing changes.
#[derive(Default)]
struct Plain {
    mutexes: Vec<(Option<TaskIx>, VecDeque<Waiter>)>,
    lent: BTreeMap<TaskIx, TaskIx>,
    news: Vec<Loan>,
}

impl Plain {
    /// Whether the task has to wait.
    fn lock(&mut self, waiter: Waiter, mutex: usize) -> bool {
        let (owner, queue) = &mut self.mutexes[mutex];
        if owner.is_none() {
            *owner = Some(waiter.task);
            return false;
        }
        push(queue, waiter);
        true
    }

    fn unlock(&mut self, mutex: usize) -> Option<TaskIx> {
        let (owner, queue) = &mut self.mutexes[mutex];
        *owner = queue.pop_front().map(|w| w.task);
        *owner
    }

    fn update(&mut self, rank: impl Fn(TaskIx) -> i32) {
        // to each borrower its rank and where that comes from
        let mut now: BTreeMap<TaskIx, (i32, TaskIx)> = BTreeMap::new();
        let of = |now: &BTreeMap<TaskIx, (i32, TaskIx)>, task: TaskIx| {
            now.get(&task).copied().unwrap_or_else(|| (rank(task), task))
        };
        loop {
            let mut changed = false;
            let owned = self.mutexes.iter().filter_map(|(owner, queue)| Some(((*owner)?, queue)));
            let pairs = owned.flat_map(|(owner, queue)| queue.iter().map(move |w| (owner, w.task)));
            for (owner, waiter) in pairs {
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
        for (_, queue) in &mut self.mutexes {
            let other = |w: &Waiter| w.rank != of(&now, w.task).0;
            while let Some(at) = queue.iter().position(other) {
                let Waiter { task, .. } = queue.remove(at).expect("it was found");
                push(queue, Waiter { task, rank: of(&now, task).0 });
            }
        }
        let now: BTreeMap<TaskIx, TaskIx> =
            now.into_iter().map(|(to, (_, from))| (to, from)).collect();
        let ended = self.lent.keys().filter(|to| !now.contains_key(to));
        self.news.extend(ended.map(|to| Loan { to: *to, from: None }));
        let begun = now.iter().filter(|(to, from)| self.lent.get(to) != Some(from));
        self.news.extend(begun.map(|(to, from)| Loan { to: *to, from: Some(*from) }));
        self.lent = now;
    }
}

fn push(queue: &mut VecDeque<Waiter>, waiter: Waiter) {
    let after = queue.iter().rposition(|w| w.rank >= waiter.rank);
    queue.insert(after.map_or(0, |last| last + 1), waiter);
}

/// What a task does next unless it waits; numbers are taken modulo what there is.
#[derive(Clone, Copy, Debug)]
enum Act {
    Lock(usize),
    /// One of those that it holds.
    Unlock(usize),
    Rank(i32),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..100_usize).prop_map(Act::Lock),
        3 => (0..100_usize).prop_map(Act::Unlock),
        1 => prop_oneof![Just(0), Just(100), 1..4].prop_map(Act::Rank),
    ]
}

/// What a task is at.
#[derive(Clone, Copy, Default)]
struct At {
    waits: bool,
    /// It was given this mutex and has not noticed.
    granted: Option<usize>,
}

/// Both do the same, and end with the same queues. Gives the number of loans.
fn same_loans(
    mutexes: usize,
    mut own: Vec<i32>,
    acts: &[(usize, Act)],
) -> Result<usize, TestCaseError> {
    let mut plain = Plain { mutexes: vec![Default::default(); mutexes], ..Plain::default() };
    let (mut fast, mut loans) = (Mutexes::new(mutexes, true), Loans::default());
    let mut at = vec![At::default(); own.len()];
    let mut count = 0;
    for (task, act) in acts {
        let task = task % own.len();
        let ix = TaskIx(task as u32);
        if at[task].waits {
            continue;
        }
        let waiter = Waiter { task: ix, rank: own[task] };
        if let Some(mutex) = at[task].granted.take() {
            prop_assert_eq!(fast.lock(waiter, mutex as u32), Meeting::GoOn(Vec::new()));
        }
        match *act {
            Act::Lock(n) => {
                let mutex = n % mutexes;
                at[task].waits = plain.lock(waiter, mutex);
                let waits = fast.lock(waiter, mutex as u32) == Meeting::WaitAndRetry;
                prop_assert_eq!(waits, at[task].waits);
            }
            Act::Unlock(n) => {
                let held: Vec<usize> =
                    (0..mutexes).filter(|m| plain.mutexes[*m].0 == Some(ix)).collect();
                if held.is_empty() {
                    continue;
                }
                let mutex = held[n % held.len()];
                let next = plain.unlock(mutex);
                prop_assert_eq!(fast.unlock(ix, mutex as u32), next);
                if let Some(next) = next {
                    at[next.0 as usize] = At { waits: false, granted: Some(mutex) };
                }
            }
            Act::Rank(rank) => {
                own[task] = rank;
                loans.own_rank_changed(ix);
                continue;
            }
        }
        let rank = |t: TaskIx| own[t.0 as usize];
        plain.update(rank);
        loans.update(&mut fast, rank);
        let news = std::mem::take(&mut plain.news);
        count += news.len();
        prop_assert_eq!(loans.take(), news);
    }
    let mut queues = vec![Vec::new(); mutexes];
    fast.waiting().for_each(|(task, mutex)| queues[mutex].push(task));
    for (queue, (_, plain)) in queues.iter().zip(&plain.mutexes) {
        prop_assert_eq!(queue, &plain.iter().map(|w| w.task).collect::<Vec<_>>());
    }
    Ok(count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]
    #[test]
    fn loans_are_those_of_a_search_through_everybody(
        mutexes in 1_usize..8,
        own in prop::collection::vec(prop_oneof![Just(0), Just(100), 1..4], 2..12),
        acts in prop::collection::vec((0..100_usize, act()), 0..120),
    ) {
        same_loans(mutexes, own, &acts)?;
    }
}
