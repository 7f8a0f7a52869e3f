// SPDX-License-Identifier: MIT OR Apache-2.0
//! What no event tells of tasks.

use super::raw::{Left, Record, What};
use std::collections::{BTreeMap, VecDeque};

/// What no event tells of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// It belongs to the kernel.
    pub kernel_thread: bool,
}

/// The traits of all tasks, or of those that ended not too long ago.
#[derive(Debug)]
pub(crate) struct AllTraits {
    of: BTreeMap<u32, (u64, Traits)>,
    forget_after_ns: Option<u64>,
    /// Tasks that ended, and when.
    ended: VecDeque<(u64, u32)>,
}

impl AllTraits {
    pub(crate) fn new(forget_after_ns: Option<u64>) -> Self {
        Self { of: BTreeMap::new(), forget_after_ns, ended: VecDeque::new() }
    }

    /// Takes from a record what it says.
    pub(crate) fn learn(&mut self, record: &Record) {
        match &record.what {
            What::Task(p) => {
                let traits = Traits { kernel_thread: p.kernel_thread };
                self.of.insert(p.pid, (record.time_ns, traits));
            }
            What::Switch { prev, left: Left::Exit, .. } if *prev != 0 => {
                if let Some(after_ns) = self.forget_after_ns {
                    self.ended.push_back((record.time_ns, *prev));
                    self.forget(record.time_ns.saturating_sub(after_ns));
                }
            }
            _ => {}
        }
    }

    pub(crate) fn into_map(self) -> BTreeMap<u32, Traits> {
        self.of.into_iter().map(|(pid, (_, traits))| (pid, traits)).collect()
    }

    /// Forgets what ended before.
    fn forget(&mut self, before_ns: u64) {
        while let Some((ended_ns, pid)) = self.ended.front().copied() {
            if ended_ns >= before_ns {
                return;
            }
            self.ended.pop_front();
            // Its number may be another task's by now.
            if self.of.get(&pid).is_some_and(|(learned_ns, _)| *learned_ns <= ended_ns) {
                self.of.remove(&pid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::raw::Properties;
    use rota_trace::{FairKind, Policy};

    fn task(time_ns: u64, pid: u32) -> Record {
        let (name, weight, cpus) = ("a".into(), 100, 3);
        let properties = Properties {
            pid,
            process: pid,
            name,
            weight,
            kernel_thread: false,
            cpus,
            nr_cpus_allowed: 2,
            policy: Policy::Fair { kind: FairKind::Other, nice: 0, slice_ns: None },
            session: 0,
            group: 0,
            was: None,
        };
        Record { time_ns, cpu: 0, what: What::Task(properties.into()) }
    }

    fn end(time_ns: u64, prev: u32) -> Record {
        let what = What::Switch {
            prev,
            left: Left::Exit,
            next: 0,
            new_slice: false,
            idles: false,
            slice_ns: 0,
        };
        Record { time_ns, cpu: 0, what }
    }

    fn left(forget_after_ns: Option<u64>, records: &[Record]) -> Vec<u32> {
        let mut all = AllTraits::new(forget_after_ns);
        records.iter().for_each(|record| all.learn(record));
        all.into_map().into_keys().collect()
    }

    #[test]
    fn tasks_that_ended_long_ago_are_forgotten_but_not_who_has_their_number_now() {
        let records = [
            task(10, 1),
            task(10, 2),
            end(20, 1),
            end(21, 2),
            task(30, 2),
            task(40, 3),
            end(150, 3),
        ];
        assert_eq!(left(None, &records), [1, 2, 3]);
        assert_eq!(left(Some(100), &records), [2, 3]);
        assert_eq!(left(Some(130), &records), [1, 2, 3]);
    }
}
