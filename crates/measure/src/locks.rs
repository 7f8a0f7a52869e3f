// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time that tasks were blocked at locks: at which, by which holder, and how much of it the holder
//! was ready to run and did not.

use crate::latency::Latencies;
use crate::numbers::LatencyNumbers;
use rota_trace::{LockKind, LockStep};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All locks that a task ever waited for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locks {
    list: Vec<Lock>,
    by_name: FxHashMap<(LockKind, Arc<str>), usize>,
    from_ns: u64,
    /// Waits for mutexes.
    mutexes: Latencies,
    mutexes_open: u64,
}

#[derive(Clone, Debug)]
struct Lock {
    kind: LockKind,
    name: Arc<str>,
    holder: Option<usize>,
    waiting: Vec<Wait>,
    waits: Latencies,
    open: u64,
    /// By waiter and holder.
    pairs: BTreeMap<(usize, Option<usize>), Pair>,
}

/// A task that waits.
#[derive(Clone, Copy, Debug)]
struct Wait {
    task: usize,
    since_ns: u64,
    /// Counted up to here, and the holder's run delay then.
    settled_ns: u64,
    delay_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    blocked_ns: u64,
    holder_delay_ns: u64,
}

/// Numbers of one lock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LockNumbers {
    /// `mutex`, `condition`, `barrier` or `semaphore`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// From the begin of each wait until the task went on.
    pub wait_ns: LatencyNumbers,
    /// Time blocked, summed over tasks.
    pub blocked_ns: u64,
    /// Of it, while the holder was ready to run and did not.
    pub holder_delay_ns: u64,
    /// By task and holder, the longest time first.
    pub pairs: Vec<PairNumbers>,
}

/// Time that one task was blocked by another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairNumbers {
    /// Name of the task that waited.
    pub waiter: String,
    /// Its number.
    pub waiter_pid: u32,
    /// Name of the task that held the lock; `None`: no task did, as between an unlock and the next
    /// lock, or it is no mutex.
    pub holder: Option<String>,
    /// Its number.
    pub holder_pid: Option<u32>,
    /// Time blocked.
    pub blocked_ns: u64,
    /// Of it, while the holder was ready to run and did not.
    pub holder_delay_ns: u64,
}

/// Waits for all mutexes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LockTotals {
    /// Their lengths.
    pub wait_ns: LatencyNumbers,
    /// Their sum.
    pub blocked_ns: u64,
    /// Of it, while the holder was ready to run and did not.
    pub holder_delay_ns: u64,
}

/// Run delay of a task up to now.
pub(crate) type Delay<'a> = &'a dyn Fn(usize) -> u64;

impl Locks {
    /// With what begins at this time.
    pub(crate) fn new(from_ns: u64) -> Self {
        Locks { from_ns, ..Self::default() }
    }

    /// A task does something at a lock; holders are tasks, too.
    pub(crate) fn step(
        &mut self,
        (kind, name): (LockKind, &Arc<str>),
        task: usize,
        step: LockStep,
        holder: Option<usize>,
        (now_ns, delay): (u64, Delay<'_>),
    ) {
        let at = *self.by_name.entry((kind, Arc::clone(name))).or_insert_with(|| {
            self.list.push(Lock::new(kind, Arc::clone(name)));
            self.list.len() - 1
        });
        let lock = &mut self.list[at];
        lock.settle(self.from_ns, now_ns, delay);
        match step {
            LockStep::Wait { .. } => {
                lock.hold(holder, delay);
                let delay_ns = holder.map_or(0, delay);
                let wait = Wait { task, since_ns: now_ns, settled_ns: now_ns, delay_ns };
                lock.waiting.push(wait);
            }
            LockStep::Acquire => {
                if let Some(waited_ns) = lock.leave(task, now_ns) {
                    lock.waits.record(waited_ns);
                    if kind == LockKind::Mutex {
                        self.mutexes.record(waited_ns);
                    }
                }
                if kind == LockKind::Mutex {
                    lock.hold(Some(task), delay);
                }
            }
            LockStep::Release { .. } => lock.hold(holder, delay),
        }
    }

    /// A task ended: it waits no more.
    pub(crate) fn exit(&mut self, task: usize, now_ns: u64, delay: Delay<'_>) {
        for lock in &mut self.list {
            lock.settle(self.from_ns, now_ns, delay);
            lock.leave(task, now_ns);
        }
    }

    /// What was before now does not count; a wait that ends later counts with its whole length.
    /// Run delays begin at 0.
    pub(crate) fn restart(&mut self, now_ns: u64) {
        self.from_ns = now_ns;
        self.mutexes = Latencies::default();
        for lock in &mut self.list {
            lock.waits = Latencies::default();
            lock.pairs.clear();
            for wait in &mut lock.waiting {
                (wait.settled_ns, wait.delay_ns) = (now_ns, 0);
            }
        }
    }

    /// Counts what is still open at the end.
    pub(crate) fn close(&mut self, end_ns: u64, delay: Delay<'_>) {
        for lock in &mut self.list {
            lock.settle(self.from_ns, end_ns, delay);
            for wait in std::mem::take(&mut lock.waiting) {
                let waited_ns = end_ns.saturating_sub(wait.since_ns);
                lock.waits.record(waited_ns);
                lock.open += 1;
                if lock.kind == LockKind::Mutex {
                    self.mutexes.record(waited_ns);
                    self.mutexes_open += 1;
                }
            }
        }
    }

    /// Of all mutexes; `None`: no task ever waited for one.
    pub(crate) fn totals(&self) -> Option<LockTotals> {
        let mutexes = || self.list.iter().filter(|lock| lock.kind == LockKind::Mutex);
        mutexes().next()?;
        let pairs = || mutexes().flat_map(|lock| lock.pairs.values());
        Some(LockTotals {
            wait_ns: self.mutexes.numbers(self.mutexes_open),
            blocked_ns: pairs().map(|pair| pair.blocked_ns).sum(),
            holder_delay_ns: pairs().map(|pair| pair.holder_delay_ns).sum(),
        })
    }

    /// Time that each task was blocked at mutexes.
    pub(crate) fn blocked_ns(&self) -> FxHashMap<usize, u64> {
        let mut all = FxHashMap::default();
        for lock in self.list.iter().filter(|lock| lock.kind == LockKind::Mutex) {
            for ((waiter, _), pair) in &lock.pairs {
                *all.entry(*waiter).or_default() += pair.blocked_ns;
            }
        }
        all
    }

    /// The numbers of each, in the order in which tasks first waited for them.
    pub(crate) fn numbers(&self, task: impl Fn(usize) -> (String, u32)) -> Vec<LockNumbers> {
        self.list.iter().map(|lock| lock.numbers(&task)).collect()
    }
}

impl Lock {
    fn new(kind: LockKind, name: Arc<str>) -> Self {
        let (waits, pairs) = (Latencies::default(), BTreeMap::new());
        Lock { kind, name, holder: None, waiting: Vec::new(), waits, open: 0, pairs }
    }

    /// Counts the time of all that wait, under the holder so far.
    fn settle(&mut self, from_ns: u64, now_ns: u64, delay: Delay<'_>) {
        let holder = self.holder;
        for wait in &mut self.waiting {
            let blocked_ns = now_ns.saturating_sub(wait.settled_ns.max(from_ns));
            let delay_ns = holder.map_or(0, delay);
            let pair = self.pairs.entry((wait.task, holder)).or_default();
            pair.blocked_ns += blocked_ns;
            pair.holder_delay_ns += delay_ns.saturating_sub(wait.delay_ns);
            (wait.settled_ns, wait.delay_ns) = (now_ns, delay_ns);
        }
        self.pairs.retain(|_, pair| pair.blocked_ns > 0);
    }

    /// Another task holds it from now on.
    fn hold(&mut self, holder: Option<usize>, delay: Delay<'_>) {
        self.holder = holder;
        let delay_ns = holder.map_or(0, delay);
        self.waiting.iter_mut().for_each(|wait| wait.delay_ns = delay_ns);
    }

    /// How long a task has waited that waits no more.
    fn leave(&mut self, task: usize, now_ns: u64) -> Option<u64> {
        let at = self.waiting.iter().position(|wait| wait.task == task)?;
        Some(now_ns.saturating_sub(self.waiting.remove(at).since_ns))
    }

    fn numbers(&self, task: &impl Fn(usize) -> (String, u32)) -> LockNumbers {
        let pair = |((waiter, holder), pair): (&(usize, Option<usize>), &Pair)| {
            let (waiter, waiter_pid) = task(*waiter);
            let (holder, holder_pid) = holder.map(task).unzip();
            let Pair { blocked_ns, holder_delay_ns } = *pair;
            PairNumbers { waiter, waiter_pid, holder, holder_pid, blocked_ns, holder_delay_ns }
        };
        let mut pairs: Vec<PairNumbers> = self.pairs.iter().map(pair).collect();
        pairs.sort_by_key(|pair| std::cmp::Reverse(pair.blocked_ns));
        LockNumbers {
            kind: self.kind.name(),
            name: self.name.to_string(),
            wait_ns: self.waits.numbers(self.open),
            blocked_ns: pairs.iter().map(|pair| pair.blocked_ns).sum(),
            holder_delay_ns: pairs.iter().map(|pair| pair.holder_delay_ns).sum(),
            pairs,
        }
    }
}

#[cfg(test)]
#[path = "locks_tests.rs"]
mod tests;
