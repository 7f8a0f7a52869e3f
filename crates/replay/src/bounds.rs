// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which streams can be full.
//!
//! With one task at either end, whatever the recording did can be done in any order that its tasks run
//! in, also where the stream is full at times. If several tasks put into a stream, a fast one may fill
//! it before the others come, and they must be sure that somebody makes room. So it can be full only if
//! the task that takes does nothing else once it has begun, and comes to that whatever they do.

use crate::life::{Life, LifeIx, Step};
use std::collections::{BTreeMap, BTreeSet};

/// A task that does nothing but take from one stream once it has begun.
struct Drain {
    stream: u64,
    /// Streams that it puts into before …
    fills: BTreeSet<u64>,
    /// … and who ends its waits before.
    needs: BTreeSet<LifeIx>,
}

/// Streams that can be full.
#[derive(Debug, Default)]
pub(crate) struct Bounded {
    /// Their takers do nothing else, and come to that: there will be room, however little there is.
    pub(crate) drained: BTreeSet<u64>,
    /// One task puts into each of these.
    pub(crate) single: BTreeSet<u64>,
}

/// Those of these lives.
pub(crate) fn bounded(lives: &[Life]) -> Bounded {
    let mut putters: BTreeMap<u64, BTreeSet<LifeIx>> = BTreeMap::new();
    let mut posters: BTreeMap<LifeIx, BTreeSet<LifeIx>> = BTreeMap::new();
    for (at, life) in (0..).zip(lives) {
        for step in &life.steps {
            match step {
                Step::Flow(flow) if flow.puts => {
                    let streams = flow.parts.iter().map(|(stream, _)| *stream);
                    streams.for_each(|stream| _ = putters.entry(stream).or_default().insert(at));
                }
                Step::Post { to, .. } | Step::Exit { to, .. } => {
                    _ = posters.entry(*to).or_default().insert(at);
                }
                _ => {}
            }
        }
    }
    let single = putters.iter().filter(|(_, putters)| putters.len() == 1);
    let single: BTreeSet<u64> = single.map(|(stream, _)| *stream).collect();
    let posters = |at: LifeIx| posters.get(&at).cloned().unwrap_or_default();
    let drains = (0..).zip(lives).filter_map(|(at, life)| drain(life, posters(at)));
    let drains: Vec<Drain> = drains.collect();
    let could_be: BTreeSet<u64> =
        drains.iter().map(|drain| drain.stream).chain(single.clone()).collect();
    let comes = |drain: &&Drain| {
        let own = putters.get(&drain.stream);
        drain.fills.is_disjoint(&could_be) && own.is_none_or(|own| own.is_disjoint(&drain.needs))
    };
    let drained = drains.iter().filter(comes).map(|drain| drain.stream).collect();
    Bounded { drained, single }
}

fn drain(life: &Life, posters: BTreeSet<LifeIx>) -> Option<Drain> {
    let mut stream = None;
    let mut fills = BTreeSet::new();
    let mut waits = false;
    for step in &life.steps {
        match step {
            Step::Flow(flow) if !flow.puts => {
                for (own, _) in flow.parts.iter() {
                    if *stream.get_or_insert(*own) != *own {
                        return None;
                    }
                }
            }
            Step::Flow(_) | Step::Wait(_) if stream.is_some() => return None,
            Step::Flow(flow) => fills.extend(flow.parts.iter().map(|(stream, _)| *stream)),
            Step::Wait(_) => waits = true,
            _ => {}
        }
    }
    let needs = if waits { posters } else { BTreeSet::new() };
    Some(Drain { stream: stream?, fills, needs })
}
