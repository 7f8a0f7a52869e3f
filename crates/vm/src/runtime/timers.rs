// SPDX-License-Identifier: MIT OR Apache-2.0
//! BPF timers: the host keeps the time, this keeps what each one calls.

use super::{Ret, Runtime};
use crate::errno::{EBUSY, EINVAL};
use crate::error::Fault;
use crate::host::Host;
use crate::memory::handle;
use rota_object::image::FuncId;
use rustc_hash::FxHashMap;

/// An initialised timer.
#[derive(Clone, Copy, Debug)]
struct Timer {
    /// Map whose value holds it.
    map: u32,
    func: Option<FuncId>,
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

    /// The timer whose callback is running.
    pub(crate) fn running(&self) -> Option<u64> {
        self.running
    }

    /// Drops a timer; true if there was one.
    pub(crate) fn forget(&mut self, timer: u64) -> bool {
        self.known.remove(&timer).is_some()
    }
}

impl<H: Host> Runtime<H> {
    /// Runs the callback of an expired timer: `func(map, key, value)`.
    pub fn run_timer(&mut self, host: &mut H, timer: u64) -> Result<Ret, Fault> {
        let missing = || Fault::denied(format!("no timer with a callback at {timer:#x}"));
        let Timer { map, func } = *self.timers.known.get(&timer).ok_or_else(missing)?;
        let func = func.ok_or_else(missing)?;
        let (key, value) = self.maps[map as usize].holding(timer).ok_or_else(missing)?;
        let outer = self.timers.running.replace(timer);
        let result = self.call_with_key(host, func, &[handle::map(map), 0, value], Some(&key));
        self.timers.running = outer;
        result
    }
}
