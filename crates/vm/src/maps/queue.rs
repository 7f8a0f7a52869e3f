// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues and stacks. Guest code only ever copies their values.

use crate::errno::{E2BIG, EINVAL, ENOENT};
use crate::maps::EXIST;
use std::collections::VecDeque;

/// A queue, or a stack.
#[derive(Debug)]
pub(crate) struct Queue {
    values: VecDeque<Box<[u8]>>,
    max_entries: u32,
    last_in_first_out: bool,
}

impl Queue {
    /// An empty queue, or a stack.
    pub(crate) fn new(max_entries: u32, last_in_first_out: bool) -> Self {
        Self { values: VecDeque::new(), max_entries, last_in_first_out }
    }

    /// Adds a value; `EXIST` makes room by dropping the oldest.
    pub(crate) fn push(&mut self, value: &[u8], flags: u64) -> Result<(), i64> {
        if flags != 0 && flags != EXIST {
            return Err(EINVAL);
        }
        if self.values.len() as u32 >= self.max_entries {
            if flags != EXIST {
                return Err(E2BIG);
            }
            self.values.pop_front();
        }
        self.values.push_back(value.into());
        Ok(())
    }

    /// The value that comes next.
    pub(crate) fn peek(&self) -> Result<&[u8], i64> {
        let next = if self.last_in_first_out { self.values.back() } else { self.values.front() };
        next.map(|value| &value[..]).ok_or(ENOENT)
    }

    /// Takes out the value that comes next.
    pub(crate) fn pop(&mut self) -> Result<Box<[u8]>, i64> {
        let next =
            if self.last_in_first_out { self.values.pop_back() } else { self.values.pop_front() };
        next.ok_or(ENOENT)
    }

    /// Values from oldest to newest.
    pub(crate) fn values(&self) -> impl Iterator<Item = &[u8]> {
        self.values.iter().map(|value| &value[..])
    }
}
