// SPDX-License-Identifier: MIT OR Apache-2.0
//! The callbacks of expired timers.

use super::{Ret, Runtime};
use crate::error::Fault;
use crate::host::Host;
use crate::memory::handle;
use crate::timers::Timer;

impl<H: Host> Runtime<H> {
    /// Runs the callback of an expired timer: `func(map, key, value)`.
    pub fn run_timer(&mut self, host: &mut H, timer: u64) -> Result<Ret, Fault> {
        let missing = || Fault::denied(format!("no timer with a callback at {timer:#x}"));
        let Timer { map, func } = self.timers.get(timer).ok_or_else(missing)?;
        let func = func.ok_or_else(missing)?;
        let (key, value) = self.maps[map as usize].holding(timer).ok_or_else(missing)?;
        let outer = self.timers.enter(Some(timer));
        let result = self.call_with_key(host, func, &[handle::map(map), 0, value], Some(&key));
        self.timers.enter(outer);
        result
    }
}
