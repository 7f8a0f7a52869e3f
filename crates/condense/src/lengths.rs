// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long tasks of a kind run and sleep.

use crate::life::{Step, What};
use crate::watch::Watched;
use std::collections::BTreeMap;

/// Runs of one kind are told apart by what ends them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    RunToSleep,
    RunToWait,
    RunToPost,
    RunToFork,
    RunToEnd,
    Sleep,
}

fn class(step: What, next: Option<&Step>) -> Option<(Class, u64)> {
    match step {
        What::Sleep(ns) => Some((Class::Sleep, ns)),
        What::Run(ns) => {
            let class = match next.map(|next| next.what) {
                Some(What::Sleep(_)) => Class::RunToSleep,
                Some(What::Wait { .. }) => Class::RunToWait,
                Some(What::Post { .. }) => Class::RunToPost,
                Some(What::Fork(_)) => Class::RunToFork,
                Some(What::Run(_)) | None => Class::RunToEnd,
            };
            Some((class, ns))
        }
        _ => None,
    }
}

/// Steps of one class: length, life and place.
type Steps = Vec<(u64, usize, usize)>;

/// Lengths of steps, each for one of the part.
#[derive(Debug, Default)]
pub(crate) struct Lengths {
    /// By life and place of the step.
    known: BTreeMap<(usize, usize), u64>,
}

impl Lengths {
    /// Gives each of the taken steps (life and place) a length of the whole.
    pub(crate) fn new(watched: &Watched, taken: &[(usize, usize)]) -> Self {
        let mut all: BTreeMap<(usize, Class), Vec<u64>> = BTreeMap::new();
        for life in &watched.lives {
            for (at, step) in life.steps.iter().enumerate() {
                if let Some((class, ns)) = class(step.what, life.steps.get(at + 1)) {
                    all.entry((life.kind, class)).or_default().push(ns);
                }
            }
        }
        all.values_mut().for_each(|lengths| lengths.sort_unstable());
        let mut parts: BTreeMap<(usize, Class), Steps> = BTreeMap::new();
        for &(life, at) in taken {
            let Some(step) = watched.lives[life].steps.get(at) else { continue };
            let next = watched.lives[life].steps.get(at + 1);
            if let Some((class, ns)) = class(step.what, next) {
                parts.entry((watched.lives[life].kind, class)).or_default().push((ns, life, at));
            }
        }
        let mut known = BTreeMap::new();
        for (of, mut steps) in parts {
            steps.sort_unstable();
            let lengths = &all[&of];
            let count = steps.len();
            for (rank, (_, life, at)) in steps.into_iter().enumerate() {
                known.insert((life, at), mean_of_part(lengths, rank, count));
            }
        }
        Self { known }
    }

    /// The length of a step.
    pub(crate) fn of(&self, life: usize, at: usize) -> Option<u64> {
        self.known.get(&(life, at)).copied()
    }
}

/// The mean of the part of this rank, where sorted lengths are cut into so many parts.
pub(crate) fn mean_of_part(sorted: &[u64], rank: usize, count: usize) -> u64 {
    let place = |rank: usize| (rank as u128 * sorted.len() as u128 / count as u128) as usize;
    let (from, to) = (place(rank), place(rank + 1));
    let part = &sorted[from.min(sorted.len() - 1)..to.max(from + 1).min(sorted.len())];
    let sum: u128 = part.iter().map(|ns| u128::from(*ns)).sum();
    (sum / part.len() as u128) as u64
}
