// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weights and policies of priorities.

use rota_trace::{FairKind, Policy};

/// `sched_prio_to_weight` (kernel/sched/core.c), from nice -20.
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// The weight of a priority as sched_ext counts it (`sched_weight_to_cgroup()`,
/// kernel/sched/sched.h); `None`: it is no ordinary task's.
pub(crate) fn of_prio(prio: i32) -> Option<u32> {
    let nice = usize::try_from(prio.checked_sub(100)?).ok()?;
    let weight = WEIGHTS.get(nice)?;
    Some(((weight * 100 + 512) / 1024).clamp(1, 10000))
}

/// Of nice 0.
pub(crate) const ORDINARY: Policy = Policy::Fair { kind: FairKind::Other, nice: 0, slice_ns: None };

/// The policy of a priority; `None`: a deadline task's, of which it tells nothing. Whether a real-time
/// task takes turns (`SCHED_RR`), and an ordinary one is of `SCHED_BATCH` or `SCHED_IDLE`, it does not
/// tell either.
pub(crate) fn policy_of(prio: i32) -> Option<Policy> {
    match prio {
        0..=98 => Some(Policy::Realtime { round_robin: false, priority: (99 - prio) as u32 }),
        100..=139 => Some(Policy::Fair { kind: FairKind::Other, nice: prio - 120, slice_ns: None }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_rounded_as_the_kernel_does() {
        // 88761 * 100 / 1024 = 8668.06; 15 * 100 / 1024 = 1.46; 110 * 100 / 1024 = 10.74
        let weights = [100, 120, 130, 139].map(of_prio);
        assert_eq!(weights, [Some(8668), Some(100), Some(11), Some(1)]);
    }

    #[test]
    fn policies_are_those_of_their_priorities() {
        let fifo = |priority| Some(Policy::Realtime { round_robin: false, priority });
        let nice = |nice| Some(Policy::Fair { kind: FairKind::Other, nice, slice_ns: None });
        // rt_priority is 99 less the priority.
        assert_eq!([0, 49, 98].map(policy_of), [fifo(99), fifo(50), fifo(1)]);
        assert_eq!([100, 120, 139].map(policy_of), [nice(-20), Some(ORDINARY), nice(19)]);
        assert_eq!([-1, 99, 140].map(policy_of), [None; 3]);
    }

    #[test]
    fn other_classes_have_none() {
        assert_eq!([-1, 0, 99, 140, i32::MIN, i32::MAX].map(of_prio), [None; 6]);
    }
}
