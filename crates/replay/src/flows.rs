// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tasks give to each other through pipes and connections.
//!
//! A wait tells of the data that came too late. Data that was there in time leaves no wait, though
//! under another scheduler it may come too late as well: a server that always had its next request at
//! hand did not send its answers all at once. So bytes that are put and taken by recorded tasks come
//! into the workload, and the waits for them, or for room, are left out: they follow.

use crate::cause::{self, Wait};
use crate::life::{Life, LifeIx};
use crate::load::Taken;
use crate::{balance, layout};
use rota_trace::{StreamKind, Transfer};
use std::collections::{BTreeMap, BTreeSet};

/// Calls in a row of one task at one stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    pub(crate) stream: u64,
    pub(crate) kind: StreamKind,
    pub(crate) puts: bool,
    pub(crate) bytes: u64,
    pub(crate) calls: u32,
    /// When the first call ended, and the last.
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
    /// What the stream can hold, as the kernel counts it; 0: not known.
    pub(crate) buffer: u64,
}

impl Moved {
    /// `None`: no byte was moved.
    pub(crate) fn of(transfer: &Transfer, now_ns: u64) -> Option<Self> {
        let Transfer {
            stream, kind, puts, bytes, calls, first_ago_ns, last_ago_ns, buffer, ..
        } = *transfer;
        let last_ns = now_ns.saturating_sub(last_ago_ns);
        let first_ns = now_ns.saturating_sub(first_ago_ns).min(last_ns);
        // Each call moved a byte at least.
        let most = u32::try_from(bytes).unwrap_or(u32::MAX);
        let calls = calls.clamp(1, most.max(1));
        (bytes > 0).then_some(Self { stream, kind, puts, bytes, calls, first_ns, last_ns, buffer })
    }
}

/// Work during which bytes are moved, all in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) puts: bool,
    pub(crate) work_ns: u64,
    /// When the work began and ended in the recording.
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    /// By stream: bytes and calls.
    pub(crate) parts: Box<[(u64, (u64, u32))]>,
}

/// A wait that another task ended, or something from outside.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) waker: Option<LifeIx>,
    pub(crate) woken: LifeIx,
    /// The system call that it was in.
    pub(crate) call: Wait,
    pub(crate) time_ns: u64,
}

/// A stream of the workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) name: String,
    /// Bytes that it holds at most; `None`: any number.
    pub(crate) capacity: Option<u64>,
    /// Bytes that are in it at the beginning.
    pub(crate) holds: u64,
    /// Bytes that must have room before a task that waits for room goes on.
    pub(crate) refill: u64,
}

/// All streams of the workload.
pub(crate) type Streams = BTreeMap<u64, Stream>;

/// Who uses a stream.
#[derive(Debug, Default)]
struct Ends {
    putters: BTreeSet<LifeIx>,
    takers: BTreeSet<LifeIx>,
}

/// How what each task did and what it moved are put together. Streams that no recorded task puts into,
/// or that none takes from, come from outside or go there: they are left out.
pub(crate) struct Plan {
    /// Of each wait, whether it follows from what streams carry.
    follows: Vec<bool>,
    /// What each stream is, and the size of its buffer.
    kinds: BTreeMap<u64, (StreamKind, u64)>,
}

impl Plan {
    pub(crate) fn new(lives: &mut [Life], ended: &[Ended], kernel_threads: &BTreeSet<u32>) -> Self {
        let ends = ends(lives, kernel_threads);
        for life in lives.iter_mut() {
            let is_kernels = kernel_threads.contains(&life.pid);
            life.moved.retain(|moved| !is_kernels && ends.contains_key(&moved.stream));
            life.moved.sort_by_key(|moved| moved.first_ns);
        }
        let follows: Vec<bool> = ended.iter().map(|wait| follows(wait, lives, &ends)).collect();
        let inboxes = inboxes(&ends, ended, &follows);
        let mut kinds: BTreeMap<u64, (StreamKind, u64)> = BTreeMap::new();
        for moved in lives.iter_mut().flat_map(|life| &mut life.moved) {
            if let Some(inbox) = inboxes.get(&moved.stream) {
                // How much of it is whose room is not known.
                (moved.stream, moved.buffer) = (*inbox, 0);
            }
            let (_, buffer) = kinds.entry(moved.stream).or_insert((moved.kind, moved.buffer));
            *buffer = moved.buffer.max(*buffer);
        }
        Self { follows, kinds }
    }

    /// How many waits are left out.
    pub(crate) fn waits(&self) -> u64 {
        self.follows.iter().filter(|follows| **follows).count() as u64
    }

    /// Makes the steps of all lives, without what the recorder took of them.
    /// `again`: they will be made once more.
    pub(crate) fn lay_out(&self, lives: &mut [Life], taken: Taken, again: bool) -> Streams {
        for life in lives.iter_mut() {
            layout::lay_out(life, &self.follows, taken);
            if !again {
                (life.done, life.moved) = (Vec::new(), Vec::new());
            }
        }
        balance::streams(lives, &self.kinds)
    }
}

/// The streams that have two ends. Where several tasks take, another one could be faster than in the
/// recording and leave nothing to who needs it: there the waits stay as they were.
fn ends(lives: &[Life], kernel_threads: &BTreeSet<u32>) -> BTreeMap<u64, Ends> {
    let mut ends: BTreeMap<u64, Ends> = BTreeMap::new();
    let users = (0..).zip(lives).filter(|(_, life)| !kernel_threads.contains(&life.pid));
    for (at, life) in users {
        for moved in &life.moved {
            let ends = ends.entry(moved.stream).or_default();
            let end = if moved.puts { &mut ends.putters } else { &mut ends.takers };
            end.insert(at);
        }
    }
    let is_whole = |ends: &Ends| {
        let mut others = ends.putters.difference(&ends.takers);
        ends.takers.len() == 1 && others.next().is_some()
    };
    ends.retain(|_, ends| is_whole(ends));
    ends
}

/// Of each stream that is one of several which its task looks at together, as with `epoll_wait`, the
/// one that stands for all of them: the task takes what has come, from wherever. If it took from them in
/// the order of the recording, it would wait for one while others have what it could do.
fn inboxes(ends: &BTreeMap<u64, Ends>, ended: &[Ended], follows: &[bool]) -> BTreeMap<u64, u64> {
    let waits = ended.iter().zip(follows).filter(|(_, follows)| **follows);
    let looking: BTreeSet<LifeIx> = waits
        .filter(|(wait, _)| cause::looks_at_several(&wait.call))
        .map(|(wait, _)| wait.woken)
        .collect();
    let mut first: BTreeMap<LifeIx, u64> = BTreeMap::new();
    let mut inboxes = BTreeMap::new();
    for (stream, ends) in ends {
        for taker in ends.takers.intersection(&looking) {
            let inbox = *first.entry(*taker).or_insert(*stream);
            inboxes.insert(*stream, inbox);
        }
    }
    let mut sizes: BTreeMap<u64, usize> = BTreeMap::new();
    inboxes.values().for_each(|inbox| *sizes.entry(*inbox).or_default() += 1);
    inboxes.retain(|_, inbox| sizes[inbox] > 1);
    inboxes
}

/// Whether a wait was for bytes of a stream, or for room: the first thing that the task did then was
/// to move some, and the waker, if one is known, is at the other end.
fn follows(wait: &Ended, lives: &[Life], ends: &BTreeMap<u64, Ends>) -> bool {
    let moved = &lives[wait.woken].moved;
    let next = moved.partition_point(|moved| moved.first_ns < wait.time_ns);
    let Some(first) = moved.get(next) else { return false };
    let stretch = moved[next..].iter().take_while(|moved| moved.first_ns <= first.last_ns);
    stretch.filter(|moved| moved.puts == first.puts).any(|moved| {
        let Some(ends) = ends.get(&moved.stream) else { return false };
        let others = if moved.puts { &ends.takers } else { &ends.putters };
        let fits = moved.puts || cause::takes(&wait.call);
        fits && wait.waker.is_none_or(|waker| others.contains(&waker))
    })
}
