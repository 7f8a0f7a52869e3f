// SPDX-License-Identifier: MIT OR Apache-2.0
//! What streams hold, and who waits for bytes or for room.
//!
//! As with a pipe of the kernel (`fs/pipe.c`), a call moves what it can at once and waits for the
//! rest; the first task that waits is woken as soon as there is anything to take, and for room when
//! there is enough of it.

use super::queue::{WaitQueue, Waiter};
use crate::model::TaskIx;
use crate::stream::Stream;

/// All streams of a workload, by index.
#[derive(Clone, Debug)]
pub(crate) struct Streams(Vec<State>);

#[derive(Clone, Debug)]
struct State {
    held: u64,
    capacity: u64,
    refill: u64,
    takers: WaitQueue,
    putters: WaitQueue,
}

/// How a call went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// So many bytes; these are woken.
    Bytes(u64, Vec<TaskIx>),
    /// None: the task waits, and tries again once it is woken.
    Waits,
}

impl Streams {
    pub(super) fn new(streams: &[Stream]) -> Self {
        let state = |stream: &Stream| State {
            held: stream.holds,
            capacity: stream.capacity.unwrap_or(u64::MAX),
            refill: stream.refill,
            takers: WaitQueue::default(),
            putters: WaitQueue::default(),
        };
        Streams(streams.iter().map(state).collect())
    }

    /// A task puts bytes into a stream; `bytes` is above 0.
    pub(crate) fn put(&mut self, waiter: Waiter, stream: u32, bytes: u64) -> Moved {
        let state = &mut self.0[stream as usize];
        let moved = bytes.min(state.capacity.saturating_sub(state.held));
        if moved == 0 {
            state.putters.push(waiter);
            return Moved::Waits;
        }
        state.held += moved;
        let taker = state.takers.pop();
        // There is room for the next one that puts, too.
        let putter = if state.held < state.capacity { state.putters.pop() } else { None };
        Moved::Bytes(moved, taker.into_iter().chain(putter).collect())
    }

    /// A task takes bytes out of a stream; `bytes` is above 0.
    pub(crate) fn take(&mut self, waiter: Waiter, stream: u32, bytes: u64) -> Moved {
        let state = &mut self.0[stream as usize];
        let moved = bytes.min(state.held);
        if moved == 0 {
            state.takers.push(waiter);
            return Moved::Waits;
        }
        state.held -= moved;
        let has_room = state.capacity - state.held >= state.refill;
        let putter = if has_room { state.putters.pop() } else { None };
        // Something is left for the next one that takes, too.
        let taker = if state.held > 0 { state.takers.pop() } else { None };
        Moved::Bytes(moved, putter.into_iter().chain(taker).collect())
    }

    /// The queues of all streams.
    pub(super) fn queues(&mut self) -> impl Iterator<Item = &mut WaitQueue> {
        self.0.iter_mut().flat_map(|state| [&mut state.takers, &mut state.putters])
    }

    /// Who waits at which stream, and whether for room.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (TaskIx, usize, bool)> + '_ {
        self.0.iter().enumerate().flat_map(|(index, state)| {
            let takers = state.takers.iter().map(move |task| (task, index, false));
            takers.chain(state.putters.iter().map(move |task| (task, index, true)))
        })
    }
}
