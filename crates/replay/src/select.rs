// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which tasks come into the workload.

use crate::life::{Life, LifeIx, Step};
use crate::load::Facts;

/// A kernel thread that works less than this part of the time, and wakes nobody, is left out.
const LEAST_PART: u64 = 100;

/// All that belong to users and did anything; of the kernel's threads those that wake one of them,
/// directly or not, and those that take time from them.
pub(crate) fn kept(lives: &[Life], facts: &Facts, end_ns: u64) -> Vec<bool> {
    let is_kernels = |life: &Life| facts.tasks.get(&life.pid).is_some_and(|t| t.kernel_thread);
    let mut kept: Vec<bool> = lives
        .iter()
        .map(|life| match is_kernels(life) {
            true => life.work_ns > end_ns / LEAST_PART,
            false => life.work_ns > 0,
        })
        .collect();
    let mut wakers: Vec<Vec<LifeIx>> = vec![Vec::new(); lives.len()];
    for (at, life) in lives.iter().enumerate() {
        for step in &life.steps {
            match step {
                // A workload's kernel threads fork nothing: what they made starts by itself.
                Step::Fork(_) if is_kernels(life) => {}
                Step::Post { to, .. } | Step::Fork(to) if wakers[*to].last() != Some(&at) => {
                    wakers[*to].push(at);
                }
                _ => {}
            }
        }
    }
    let mut open: Vec<LifeIx> = (0..lives.len()).filter(|at| kept[*at]).collect();
    while let Some(at) = open.pop() {
        for waker in wakers[at].drain(..) {
            if !std::mem::replace(&mut kept[waker], true) {
                open.push(waker);
            }
        }
    }
    kept
}
