// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the recorder's programs took of what was recorded.

use super::call_cost::Around;
use libbpf_rs::{MapCore, MapFlags, Object};

/// What the recorder took of tasks, in nanoseconds: it is in their recorded work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Of each call that moved bytes; 0 without transfers.
    pub call_ns: u64,
    /// Of the task that leaves a CPU, for each time that it does …
    pub leave_ns: u64,
    /// … and of the one that comes onto it.
    pub come_ns: u64,
    /// Of a task that wakes another one.
    pub wakeup_ns: u64,
}

impl Taken {
    pub(crate) fn of(object: &Object, around: Around) -> Self {
        // The order of `enum measured` in bpf/record_cost.bpf.h.
        let [leave_ns, come_ns, waking_ns, runnable_ns] =
            [0, 1, 2, 3].map(|kind| mean(on_all_cpus(object, "costs", kind)));
        let wakeup_ns = waking_ns + runnable_ns;
        Self { call_ns: around.per_call_ns(object), leave_ns, come_ns, wakeup_ns }
    }
}

/// Of the runs that were measured.
fn mean([_, measured, ns]: [u64; 3]) -> u64 {
    ns / measured.max(1)
}

/// The sums of what a map has for each CPU, three numbers each.
pub(crate) fn on_all_cpus(object: &Object, map: &str, key: u32) -> [u64; 3] {
    let map = object.maps().find(|own| own.name() == map);
    let value = map.and_then(|m| m.lookup_percpu(&key.to_ne_bytes(), MapFlags::empty()).ok());
    let long = |bytes: &Vec<u8>, at: usize| {
        bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_ne_bytes)
    };
    let each = value.flatten().unwrap_or_default();
    each.iter().fold([0; 3], |all, bytes| [0, 1, 2].map(|at| all[at] + long(bytes, 8 * at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_takes_the_mean_of_its_measured_runs() {
        // 40 runs, of which three took 900 ns together; none was measured.
        assert_eq!((mean([40, 3, 900]), mean([40, 0, 0])), (300, 0));
    }
}
