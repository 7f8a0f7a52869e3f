// SPDX-License-Identifier: MIT OR Apache-2.0
//! BPF timers: the host keeps the time, this keeps what each one calls.

use crate::errno::{EBUSY, EINVAL};
use rota_object::image::FuncId;
use rustc_hash::FxHashMap;

/// An initialised timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    /// Map whose value holds it.
    pub(crate) map: u32,
    pub(crate) func: Option<FuncId>,
}

/// Timers by guest address.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    known: FxHashMap<u64, Timer>,
    running: Option<u64>,
}

impl Timers {
    /// `bpf_timer_init`. `Err` is an error number.
    pub(crate) fn init(&mut self, timer: u64, map: u32) -> Result<(), i64> {
        if self.known.contains_key(&timer) {
            return Err(EBUSY);
        }
        self.known.insert(timer, Timer { map, func: None });
        Ok(())
    }

    /// `bpf_timer_set_callback`.
    pub(crate) fn set_callback(&mut self, timer: u64, func: FuncId) -> Result<(), i64> {
        self.known.get_mut(&timer).ok_or(EINVAL)?.func = Some(func);
        Ok(())
    }

    /// Whether the timer can be started.
    pub(crate) fn is_ready(&self, timer: u64) -> bool {
        self.known.get(&timer).is_some_and(|timer| timer.func.is_some())
    }

    /// Whether the timer was initialised.
    pub(crate) fn exists(&self, timer: u64) -> bool {
        self.known.contains_key(&timer)
    }

    /// An initialised timer.
    pub(crate) fn get(&self, timer: u64) -> Option<Timer> {
        self.known.get(&timer).copied()
    }

    /// Notes whose callback begins (`None`: one ended); returns whose ran before.
    pub(crate) fn enter(&mut self, timer: Option<u64>) -> Option<u64> {
        std::mem::replace(&mut self.running, timer)
    }

    /// The timer whose callback is running.
    pub(crate) fn running(&self) -> Option<u64> {
        self.running
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Drops a timer; true if there was one.
    pub(crate) fn forget(&mut self, timer: u64) -> bool {
        self.known.remove(&timer).is_some()
    }
}
