// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that read clocks and sleep.

use super::{fail, value, Call, Kept, Played};
use crate::threads::{On, Ret, Sleep};
use crate::time::{timespec, timeval, Clocks};
use std::io;

pub(super) fn clock_gettime(kept: &Kept, call: &Call, clocks: Clocks) -> io::Result<Played> {
    let Some(ns) = clocks.read(call.args[0] as i32) else { return Ok(fail(libc::EINVAL)) };
    kept.memory.write(call.args[1], &timespec(ns))?;
    Ok(value(0))
}

pub(super) fn gettimeofday(kept: &Kept, call: &Call, clocks: Clocks) -> io::Result<Played> {
    let [time, zone, ..] = call.args;
    if time != 0 {
        kept.memory.write(time, &timeval(clocks.realtime_ns()))?;
    }
    if zone != 0 {
        kept.memory.write(zone, &[0; 8])?;
    }
    Ok(value(0))
}

pub(super) fn time(kept: &Kept, call: &Call, clocks: Clocks) -> io::Result<Played> {
    let seconds = clocks.realtime_ns() / 1_000_000_000;
    if call.args[0] != 0 {
        kept.memory.write(call.args[0], &seconds.to_le_bytes())?;
    }
    Ok(value(seconds as i64))
}

/// A thread that waits for nothing but a time.
fn sleep(until_ns: u64) -> Played {
    Played::Sleep(Sleep { until_ns: Some(until_ns), late: Ret::Value(0), on: On::Nothing })
}

pub(super) fn nanosleep(kept: &Kept, call: &Call, clocks: Clocks) -> io::Result<Played> {
    let asked = kept.memory.timespec(call.args[0])?;
    Ok(match asked {
        Some(ns) => sleep(clocks.monotonic_ns.saturating_add(ns)),
        None => fail(libc::EINVAL),
    })
}

pub(super) fn clock_nanosleep(kept: &Kept, call: &Call, clocks: Clocks) -> io::Result<Played> {
    let [clock, flags, asked, ..] = call.args;
    let Some(ns) = kept.memory.timespec(asked)? else { return Ok(fail(libc::EINVAL)) };
    let clock = clock as i32;
    let until = match flags as i32 & libc::TIMER_ABSTIME {
        0 => clocks.monotonic_at(clock, 0).map(|_| clocks.monotonic_ns.saturating_add(ns)),
        _ => clocks.monotonic_at(clock, ns),
    };
    Ok(until.map_or_else(|| fail(libc::EINVAL), sleep))
}
