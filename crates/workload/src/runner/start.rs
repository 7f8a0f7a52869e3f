// SPDX-License-Identifier: MIT OR Apache-2.0
//! When tasks start.

use crate::model::Workload;
use crate::random::{stream, STARTS};

/// When each initial task starts. Without `arrive` every instance has its own delay; with it
/// instance 0 starts after the delay and each other one a gap after the one before. A thread
/// starts no sooner than the leader of its process.
pub(super) fn times(workload: &Workload, seed: u64) -> Vec<u64> {
    let mut starts = Vec::with_capacity(workload.tasks.len());
    let mut current = None;
    for task in &workload.tasks {
        let definition = &workload.definitions[task.definition as usize];
        let fresh = current.as_ref().is_none_or(|(index, _, _)| *index != task.definition);
        if fresh {
            let rng = stream(seed, STARTS | u64::from(task.definition));
            current = Some((task.definition, rng, 0));
        }
        if let Some((_, rng, last_ns)) = &mut current {
            *last_ns = match &definition.arrive {
                Some(gap) if !fresh => gap.draw(rng).saturating_add(*last_ns),
                _ => definition.delay.draw(rng),
            };
            starts.push(*last_ns);
        }
    }
    for (ix, task) in workload.tasks.iter().enumerate() {
        if let Some(leader) = task.thread_of {
            starts[ix] = starts[ix].max(starts[leader.0 as usize]);
        }
    }
    starts
}

/// The finalizer of SplitMix64: spreads every bit over the whole word.
pub(super) fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
