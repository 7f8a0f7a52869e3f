// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's threads: one goes on at a time, in a fixed order.

use crate::listener::Call;
use std::collections::VecDeque;

/// What a call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ret {
    /// This value.
    Value(i64),
    /// An error.
    Errno(i32),
    /// What the computer's kernel makes of it.
    Pass,
}

/// What a thread waits for, besides its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// Nothing but its time.
    Nothing,
    /// `FUTEX_WAKE` of this address.
    Futex {
        /// Address of the word.
        addr: u64,
        /// Wakers with one of these bits.
        bits: u32,
    },
    /// A file that it can read or write.
    Files,
}

/// A thread that waits in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sleep {
    /// `CLOCK_MONOTONIC` at which it wakes at the latest.
    pub(crate) until_ns: Option<u64>,
    /// What its call returns then.
    pub(crate) late: Ret,
    pub(crate) on: On,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Its call is to be played.
    Called(Call),
    /// Its call has been played; it returns at its next turn.
    Returns(Call, Ret),
    /// It waits in a call.
    Asleep(Call, Sleep),
    /// It executes its own code.
    Runs,
    /// It has ended.
    Gone,
}

/// One thread.
#[derive(Debug)]
pub(crate) struct Thread {
    /// The computer's number of it.
    pub(crate) tid: u32,
    pub(crate) state: State,
    /// Word that is cleared, and woken, when it ends (`CLONE_CHILD_CLEARTID`); 0 if there is none.
    pub(crate) clears: u64,
}

/// All threads of the program.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    all: Vec<Thread>,
    /// Those that do not wait, by number; the first has its turn.
    turns: VecDeque<usize>,
}

impl Threads {
    /// A thread that has come into being, and made its first call.
    pub(crate) fn add(&mut self, call: Call, clears: u64) {
        self.turns.push_back(self.all.len());
        self.all.push(Thread { tid: call.tid, state: State::Called(call), clears });
    }

    /// The process has executed another program: its only thread has made its first call.
    pub(crate) fn executed(&mut self, call: Call) {
        self.all.iter_mut().for_each(|thread| thread.state = State::Gone);
        self.turns.clear();
        self.add(call, 0);
    }

    /// The number of a live thread.
    pub(crate) fn find(&self, tid: u32) -> Option<usize> {
        self.all.iter().position(|t| t.tid == tid && t.state != State::Gone)
    }

    pub(crate) fn get(&self, thread: usize) -> &Thread {
        &self.all[thread]
    }

    pub(crate) fn set(&mut self, thread: usize, state: State) {
        self.all[thread].state = state;
    }

    /// How many have not ended.
    pub(crate) fn live(&self) -> usize {
        self.all.iter().filter(|t| t.state != State::Gone).count()
    }

    /// Which thread has its turn.
    pub(crate) fn current(&self) -> Option<usize> {
        self.turns.front().copied()
    }

    /// The current thread lets the others go first.
    pub(crate) fn rotate(&mut self) {
        if !self.turns.is_empty() {
            self.turns.rotate_left(1);
        }
    }

    /// The current thread waits.
    pub(crate) fn sleep(&mut self, call: Call, sleep: Sleep) {
        if let Some(thread) = self.turns.pop_front() {
            self.all[thread].state = State::Asleep(call, sleep);
        }
    }

    /// The current thread is gone; the word that it clears.
    pub(crate) fn end_current(&mut self) -> u64 {
        let Some(thread) = self.turns.pop_front() else { return 0 };
        self.all[thread].state = State::Gone;
        self.all[thread].clears
    }

    /// When the first of those that wait wakes.
    pub(crate) fn deadline_ns(&self) -> Option<u64> {
        self.sleeping().filter_map(|(_, _, sleep)| sleep.until_ns).min()
    }

    /// Wakes those whose time has come, the earliest first.
    pub(crate) fn wake_due(&mut self, now_ns: u64) {
        let due = |sleep: &Sleep| sleep.until_ns.filter(|until| *until <= now_ns);
        let mut all: Vec<_> = self
            .sleeping()
            .filter_map(|(thread, _, sleep)| Some((due(&sleep)?, thread, sleep.late)))
            .collect();
        all.sort_by_key(|(until, thread, _)| (*until, *thread));
        all.into_iter().for_each(|(_, thread, late)| self.wake(thread, late));
    }

    /// Those that wait for files, and their calls.
    pub(crate) fn on_files(&self) -> Vec<(usize, Call)> {
        let on_files = self.sleeping().filter(|(_, _, sleep)| sleep.on == On::Files);
        on_files.map(|(thread, call, _)| (thread, call)).collect()
    }

    /// A thread that waited goes on, after those that do not wait.
    pub(crate) fn wake(&mut self, thread: usize, ret: Ret) {
        if let State::Asleep(call, _) = self.all[thread].state {
            self.all[thread].state = State::Returns(call, ret);
            self.turns.push_back(thread);
        }
    }

    /// What a thread waited for is there: its call is played again, after those that do not wait.
    pub(crate) fn call_again(&mut self, thread: usize) {
        if let State::Asleep(call, _) = self.all[thread].state {
            self.all[thread].state = State::Called(call);
            self.turns.push_back(thread);
        }
    }

    /// `FUTEX_WAKE`: wakes at most `count` of those that wait for a word, the first thread first.
    pub(crate) fn wake_futex(&mut self, word: u64, count: u32, with: u32) -> u32 {
        let waits =
            |on: On| matches!(on, On::Futex { addr, bits } if addr == word && bits & with != 0);
        let waiting: Vec<_> = self
            .sleeping()
            .filter(|(_, _, sleep)| waits(sleep.on))
            .map(|(thread, ..)| thread)
            .take(count as usize)
            .collect();
        let woken = waiting.len() as u32;
        waiting.into_iter().for_each(|thread| self.wake(thread, Ret::Value(0)));
        woken
    }

    /// `FUTEX_REQUEUE`: lets at most `count` of those that wait for a word wait for another.
    pub(crate) fn requeue_futex(&mut self, from: u64, to: u64, count: u32) -> u32 {
        let mut moved = 0;
        for thread in &mut self.all {
            let State::Asleep(_, sleep) = &mut thread.state else { continue };
            if let On::Futex { addr, .. } = &mut sleep.on {
                if *addr == from && moved < count {
                    *addr = to;
                    moved += 1;
                }
            }
        }
        moved
    }

    fn sleeping(&self) -> impl Iterator<Item = (usize, Call, Sleep)> + '_ {
        self.all.iter().enumerate().filter_map(|(thread, t)| match t.state {
            State::Asleep(call, sleep) => Some((thread, call, sleep)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listener::Call;

    fn three_that_wait_for(word: u64) -> Threads {
        let mut threads = Threads::default();
        for tid in [11, 12, 13] {
            let call = Call::of_test(tid);
            threads.add(call, 0);
        }
        for until_ns in [Some(300), Some(200), None] {
            let on = On::Futex { addr: word, bits: u32::MAX };
            let call = match threads.get(threads.current().unwrap()).state {
                State::Called(call) => call,
                other => panic!("{other:?}"),
            };
            threads.sleep(call, Sleep { until_ns, late: Ret::Errno(libc::ETIMEDOUT), on });
        }
        threads
    }

    #[test]
    fn a_futex_wakes_the_threads_in_their_order() {
        let mut threads = three_that_wait_for(64);
        assert_eq!(threads.wake_futex(72, 1, u32::MAX), 0);
        assert_eq!(threads.wake_futex(64, 2, u32::MAX), 2);
        assert_eq!(threads.current(), Some(0));
        threads.rotate();
        assert_eq!(threads.current(), Some(1));
        assert!(matches!(threads.get(1).state, State::Returns(_, Ret::Value(0))));
        assert!(matches!(threads.get(2).state, State::Asleep(..)));
    }

    #[test]
    fn of_a_program_that_executes_another_one_thread_is_left() {
        let mut threads = three_that_wait_for(64);
        threads.wake(2, Ret::Value(0));
        // the process has the number of its first thread
        threads.executed(Call::of_test(11));
        assert_eq!((threads.live(), threads.current(), threads.find(11)), (1, Some(3), Some(3)));
        assert_eq!((threads.find(12), threads.deadline_ns()), (None, None));
        assert_eq!(threads.wake_futex(64, 3, u32::MAX), 0);
    }

    #[test]
    fn the_earliest_time_wakes_first_and_says_that_it_is_late() {
        let mut threads = three_that_wait_for(64);
        assert_eq!(threads.deadline_ns(), Some(200));
        threads.wake_due(300);
        assert_eq!(threads.current(), Some(1), "due at 200");
        assert!(matches!(threads.get(1).state, State::Returns(_, Ret::Errno(libc::ETIMEDOUT))));
        assert_eq!(threads.deadline_ns(), None);
    }

    #[test]
    fn those_that_are_moved_wait_for_the_other_word() {
        let mut threads = three_that_wait_for(64);
        assert_eq!(threads.requeue_futex(64, 72, 2), 2);
        assert_eq!(threads.wake_futex(64, 9, u32::MAX), 1);
        assert_eq!(threads.wake_futex(72, 9, u32::MAX), 2);
    }
}
