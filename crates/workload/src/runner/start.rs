// SPDX-License-Identifier: MIT OR Apache-2.0
//! When tasks start.

use crate::model::Workload;
use rota_choice::{Choices, Origin};

/// When each initial task starts. Without `arrive` every instance has its own delay; with it
/// instance 0 starts after the delay and each other one a gap after the one before. A thread
/// starts no sooner than the leader of its process.
pub(super) fn times(workload: &Workload, choices: &mut Choices) -> Vec<u64> {
    let mut starts = Vec::with_capacity(workload.tasks.len());
    let mut current: Option<(u32, u64)> = None;
    for task in &workload.tasks {
        let definition = &workload.definitions[task.definition as usize];
        let fresh = current.is_none_or(|(index, _)| index != task.definition);
        let last_ns = current.filter(|_| !fresh).map_or(0, |(_, last_ns)| last_ns);
        let mut random = || choices.draw(Origin::Start(task.definition));
        let start_ns = match &definition.arrive {
            Some(gap) if !fresh => gap.draw(&mut random).saturating_add(last_ns),
            _ => definition.delay.draw(&mut random),
        };
        current = Some((task.definition, start_ns));
        starts.push(start_ns);
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
